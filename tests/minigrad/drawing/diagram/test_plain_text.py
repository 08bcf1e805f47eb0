"""The graph as Mermaid text, and as an indented tree."""

from minigrad import Tensor, draw


def test_the_flowchart_of_a_pre_norm_block(pre_norm):
    lines = [line.strip() for line in draw(pre_norm, depth=1, grads=False).mermaid().splitlines()]
    assert [line for line in lines if "-->" in line or "==>" in line] == [
        "n0 --> b1",
        "b1 --> b2",
        "n0 ==> n26",
        "b2 --> n26",
        "n26 --> b7",
        "b7 --> b8",
        "n26 ==> n35",
        "b8 --> n35",
    ]
    assert lines[0] == "flowchart TB"
    assert lines.count("end") == len([line for line in lines if line.startswith("subgraph")]) == 1


def test_boxes_open_and_close_in_order(pre_norm):
    depth = 0
    for line in draw(pre_norm).mermaid().splitlines():
        depth += line.strip().startswith("subgraph")
        depth -= line.strip() == "end"
        assert depth >= 0
    assert depth == 0


def test_arrows_carry_the_size_of_their_gradient_and_can_be_turned(pre_norm):
    pre_norm.backward([[1.0] * 4] * 3)
    text = draw(pre_norm, depth=1, flow="backward").mermaid()
    assert 'n35 ==>|"3.46"| n26' in text  # the norm of twelve ones


def test_what_requires_no_gradient_is_dotted():
    text = draw(Tensor(1.0, requires_grad=True) * 2.0).mermaid()
    assert "n1 -.-> n2" in text


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
