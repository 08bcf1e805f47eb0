"""The step-through page as a file: what is in it, and what writing it leaves alone."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from blocks import Stack, lesson_block
from minigrad import Graph, Op, Parameter, Tensor, mse_loss, no_grad, scope, sqrt, where, write_stepper
from minigrad.backprop import topological_order
from minigrad.drawing.stepper.data import backward_steps, numbers, page_data, sums_so_far


def lesson_loss(norm="pre"):
    block, x = lesson_block(norm)
    return mse_loss(block(x), np.roll(x.data, -1, axis=0))


class Elements(HTMLParser):
    """The elements of a page, and the text in those of one kind."""

    def __init__(self, path):
        super().__init__()
        self.found = []
        self.texts = []
        self.is_inside = False
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.texts.append("")
        self.is_inside = True

    def handle_endtag(self, tag):
        self.is_inside = False

    def handle_data(self, data):
        if self.is_inside:
            self.texts[-1] += data

    def all(self, wanted):
        return [
            (attributes, text) for (tag, attributes), text in zip(self.found, self.texts, strict=True) if tag == wanted
        ]


def data_of(path):
    [text] = [text for attributes, text in Elements(path).all("script") if attributes.get("id") == "data"]
    return json.loads(text)


def test_one_file_that_loads_nothing(tmp_path):
    path = write_stepper(lesson_loss(), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == [path]
    addresses = set(re.findall(r"\w+://[^\s\"'<>]+", path.read_text(encoding="utf-8")))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}  # names, never fetched
    page = Elements(path)
    assert not any("src" in attributes or "href" in attributes for _, attributes in page.found)
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)


def test_the_policy_allows_this_script_and_style_and_nothing_else(tmp_path):
    page = Elements(write_stepper(lesson_loss(), tmp_path / "page.html"))
    [policy] = [a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    [script] = [text for attributes, text in page.all("script") if not attributes]
    [(_, style)] = page.all("style")
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    assert policy == f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'"


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "&lt;",
    '"><img src=x onerror=alert(1)>',
    "a\\N\u2028b",
    "]]>",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(tmp_path, name):
    x = Tensor([1.0, 2.0], requires_grad=True, name=name)
    with scope(name):
        loss = (x * x).sum()
    path = write_stepper(loss, tmp_path / "page.html", title=name)
    plain = Elements(write_stepper(lesson_loss(), tmp_path / "plain.html"))
    assert [tag for tag, _ in Elements(path).found] == [tag for tag, _ in plain.found]
    data = data_of(path)
    shown = name.replace("\u2028", "\\u2028")
    assert data["title"] == shown
    assert data["nodes"]["n0"]["path"] == shown


def every_grad(loss):
    return [
        (None if t.grad is None else t.grad.copy(), t.op.grad_inputs if t.op else None) for t in topological_order(loss)
    ]


@pytest.mark.parametrize("retain", [None, True, False])
def test_writing_changes_no_gradient(tmp_path, retain):
    loss = lesson_loss()
    if retain is not None:
        loss.backward(retain_grads=retain)
    before = every_grad(loss)
    write_stepper(loss, tmp_path / "page.html")
    for (grad, arrows), (grad_after, arrows_after) in zip(before, every_grad(loss), strict=True):
        np.testing.assert_equal(grad_after, grad)
        assert arrows_after is arrows


def test_the_lesson_of_both_passes(tmp_path):
    """Numbers and order are those of the engine: `backprop()` for what is delivered, `grad` for what comes in."""
    loss = lesson_loss()
    data = data_of(write_stepper(loss, tmp_path / "page.html"))
    graph = Graph(loss)
    walked = list(loss.backprop())

    def array(place):
        entry = data["arrays"][place]
        return numbers(entry["numbers"]).reshape(entry["shape"])

    forward = [step for step in data["steps"] if step["phase"] == "forward"]
    backward = {step["node"]: step for step in data["steps"] if step["phase"] == "backward"}
    assert [step["node"] for step in forward] == [node.id for node in graph.nodes]
    inner = [node for node in backward if graph.nodes[int(node[1:])].op]
    assert inner == [graph.node_of[step.tensor].id for step in walked]
    for node in graph.nodes:
        np.testing.assert_array_equal(array(data["nodes"][node.id]["value"]), node.tensor.data)
        if node.tensor.grad is None:
            assert node.id not in backward
        else:
            np.testing.assert_array_equal(array(backward[node.id]["gradient"]), node.tensor.grad)
    for step in walked:
        delivered = backward[graph.node_of[step.tensor].id]["delivered"]
        for place, grad in zip(delivered, step.grad_inputs, strict=True):
            np.testing.assert_equal(None if place is None else array(place), grad)


LOSSES = {
    "twice": lambda x: (x * x).sum(),
    "four consumers": lambda x: (x * x + x.exp() + x).sum(),
    "where": lambda x: where(x.data > 0, sqrt(x), x).sum(),
    "broadcast": lambda x: (x + Tensor(np.ones((2, 3)), requires_grad=True)).norm(),
    "leaf alone": lambda x: Tensor(3.0, requires_grad=True),
    "lesson": lambda x: lesson_loss("post"),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("name", LOSSES)
def test_the_quiet_pass_is_the_pass_of_backward(name):
    loss = LOSSES[name](Tensor([0.5, -2.0, 3.0], requires_grad=True, name="x"))
    steps = backward_steps(Graph(loss))
    loss.backward()
    reached = [tensor for tensor in topological_order(loss) if tensor.grad is not None]
    inputs = {tensor for tensor in reached if tensor.is_leaf and not isinstance(tensor, Parameter)}
    walked = [step.tensor for step in steps]
    assert walked[: -len(inputs)] == [tensor for tensor in reached if tensor not in inputs]
    assert set(walked[-len(inputs) :]) == inputs  # what was asked about comes last
    for step in steps:
        np.testing.assert_array_equal(step.grad_output, step.tensor.grad)
        for got, kept in zip(step.grad_inputs, step.tensor.op.grad_inputs if step.tensor.op else (), strict=True):
            np.testing.assert_equal(got, kept)
    last = {
        id(x): so_far
        for step, sums in zip(steps, sums_so_far(steps), strict=True)
        if step.tensor.op
        for x, so_far in zip(step.tensor.op.inputs, sums, strict=True)
    }
    for tensor in set(reached) - {loss}:
        np.testing.assert_array_equal(last[id(tensor)], tensor.grad)


def test_the_pass_starts_as_the_last_backward_did():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.backward(np.array([10.0, 0.5]))
    *_, last = backward_steps(Graph(y))
    np.testing.assert_array_equal(last.grad_output, [30.0, 1.5])


def test_a_gradient_that_a_hook_changed_is_shown_as_it_went_on():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    calls = []
    y.on_gradient(calls.append)
    y.on_gradient(lambda grad: grad * 100)
    loss = y.sum()
    loss.backward()
    *_, last = backward_steps(Graph(loss))
    np.testing.assert_array_equal(last.grad_output, [300.0, 300.0])
    assert len(calls) == 1


def test_several_outputs_are_one_pass():
    x = Tensor([0.5, -2.0], requires_grad=True, name="x")
    h = x.tanh()
    y1, y2 = h.sum(), (h * x).sum()
    steps = backward_steps(Graph((y1, y2)))
    (y1 + y2).backward()
    assert {step.tensor for step in steps} == {x, h, y1, y2, y2.op.inputs[0]} and steps[-1].tensor is x
    for step in steps:
        np.testing.assert_array_equal(step.grad_output, step.tensor.grad)
    *_, last = backward_steps(Graph([h.sum(), h.sum() * 0.0]))  # a pass of its own: nothing is kept of the last one
    np.testing.assert_allclose(last.grad_output, 1 - np.tanh(x.data) ** 2)


def test_an_output_on_the_way_to_another_starts_with_1_and_gets_more():
    x = Tensor(2.0, requires_grad=True, name="x")
    y1 = x * x
    y2 = y1 * 3.0
    y2.backward()
    *_, last = backward_steps(Graph([y1, y2]))
    assert last.grad_output == 4 * 4


def test_a_page_can_be_written_without_recording(tmp_path):
    loss = lesson_loss()
    with no_grad():
        assert data_of(write_stepper(loss, tmp_path / "page.html"))["steps"][-1]["phase"] == "backward"


def test_rules_are_told_once_with_their_source():
    data = page_data(lesson_loss())
    names = [rule["name"] for rule in data["rules"]]
    assert len(names) == len(set(names))
    softmax = data["rules"][names.index("Softmax")]
    assert softmax["source"].startswith("def backward(self, grad_y):\n    ")
    assert len(softmax["formulas"]) == 2


def test_an_op_without_a_known_source():
    namespace = {"Op": Op}
    exec("class Same(Op):\n    def forward(self, x): return x + 0\n    def backward(self, g): return (g,)", namespace)
    data = page_data(namespace["Same"]()(Tensor(1.0, requires_grad=True)))
    assert data["rules"] == [{"name": "Same", "formulas": [], "notes": [], "source": None}]


def test_paths_tell_nodes_apart():
    paths = [node["path"] for node in page_data(lesson_loss())["nodes"].values()]
    assert len(paths) == len(set(paths))


def test_the_picture_calls_a_node_as_the_panel_does():
    x = Tensor([1.0], requires_grad=True, name="x")
    with scope("attention"):
        h = x.swapaxes(0, 0).exp().swapaxes(0, 0)
        h.name = "h"
        loss = (h * 2.0).exp().sum()
    nodes = page_data(loss)["nodes"].values()
    assert [node["path"] for node in nodes] == [
        f"attention.{node['title']}" if node["rule"] is not None else node["title"] for node in nodes
    ]
    assert [node["title"] for node in nodes] == ["x", "swapaxes", "exp", "h", "2", "multiply", "exp #2", "sum"]


def test_every_box_has_a_picture_in_which_it_is_open():
    data = page_data(lesson_loss())
    for id, box in data["boxes"].items():
        assert id in data["pictures"][box["picture"]]["open"]
    most_open = data["pictures"][data["levels"] - 1]
    assert set(most_open["items"]) == set(data["nodes"])
    assert set(most_open["open"]) == set(data["boxes"])


def test_every_arrow_of_every_picture_is_there_with_its_curve():
    data = page_data(lesson_loss())
    for picture in data["pictures"]:
        for arrow in picture["arrows"]:
            assert set(arrow["edges"]) <= set(data["edges"])
            assert len(arrow["curve"]) % 6 == 4  # a start, three points for each piece, the tip
    edges = [edge for arrow in data["pictures"][data["levels"] - 1]["arrows"] for edge in arrow["edges"]]
    assert sorted(edges) == sorted(data["edges"])


def has_no_picture(data):
    return data["pictures"] == [] and {box["picture"] for box in data["boxes"].values()} == {None}


def test_without_a_renderer_there_is_no_picture_and_the_page_says_why(no_renderer):
    data = page_data(lesson_loss())
    assert has_no_picture(data)
    assert "pip install graphviz-pure" in data["noPicture"]


def test_with_a_broken_renderer_there_is_no_picture_and_the_page_says_why(broken_program, tmp_path):
    data = data_of(write_stepper(lesson_loss(), tmp_path / "page.html"))
    assert has_no_picture(data)
    assert re.search("no whole json|cannot be run|no layout of", data["noPicture"])


def test_with_a_renderer_that_is_not_there_the_page_is_a_list(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVIZ_DOT", "/no/such/dot")
    data = data_of(write_stepper(lesson_loss(), tmp_path / "page.html"))
    assert has_no_picture(data)
    assert "'/no/such/dot'" in data["noPicture"]


def test_a_long_chain_is_a_list_and_a_longer_one_is_refused():
    y = Tensor(1.0, requires_grad=True)
    for _ in range(1_000):
        y = y * 1.0
    assert page_data(y)["pictures"] == []
    for _ in range(3_000):
        y = y * 1.0
    with pytest.raises(ValueError, match=r"8,001 nodes.*at most 5,000.*depth=1"):
        page_data(y)


def test_a_stack_of_12_blocks_keeps_below_5_mb(tmp_path):
    stack = Stack(12, d_model=64, n_heads=4, d_ff=256, norm="pre", causal=True, rng=0)
    x = Tensor(np.random.default_rng(0).normal(size=(16, 64)), requires_grad=True, name="x")
    assert write_stepper((stack(x) ** 2).mean(), tmp_path / "stack.html").stat().st_size < 5e6


def test_errors_teach_and_leave_the_old_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old", encoding="utf-8")
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"pass dL/dt"):
        write_stepper(x * 2, path)
    with no_grad(), pytest.raises(RuntimeError, match="nothing was recorded"):
        write_stepper((x * 2).sum(), path)
    with pytest.raises(TypeError, match="got ndarray"):
        write_stepper(np.ones(3), path)
    with pytest.raises(ValueError, match=r"'page.svg' must end in \.html"):
        write_stepper(x.sum(), tmp_path / "page.svg")
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_stepper(x.sum(), tmp_path / "missing" / "page.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(IsADirectoryError):
        write_stepper(x.sum(), tmp_path / "folder.html")
    assert path.read_text(encoding="utf-8") == "old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["folder.html", "page.html"]
    assert write_stepper(x.sum(), str(path)) == path
    assert path.read_text(encoding="utf-8") != "old"
