"""The graph as an indented tree."""

from minigrad import Tensor, draw


def test_one_line_for_each_item_and_each_open_box(pre_norm):
    picture = draw(pre_norm, depth=1)
    lines = picture.text().splitlines()
    assert len(lines) == 7 + 1
    assert lines[1].strip() == "block"
    assert lines[4].split() == [
        "n26",
        "attention_residual",
        "residual",
        "add",
        "(3,",
        "4)",
        "reads",
        "n0,",
        "b2",
        "no",
        "gradient",
        "yet",
    ]


def test_a_line_is_indented_by_its_boxes(pre_norm):
    lines = draw(pre_norm, grads=False).text().splitlines()
    query = next(line for line in lines if line.strip() == "query")
    weight = next(line for line in lines if "attention.query.weight" in line)
    assert weight.index("attention.query.weight") == query.index("query") + 2


def test_a_long_chain_is_one_line_for_each_op():
    y = Tensor(1.0, requires_grad=True)
    for _ in range(5000):
        y = y.tanh()
    lines = draw(y, limit=None).text().splitlines()
    assert len(lines) == 5001
    assert max(map(len, lines)) < 80
