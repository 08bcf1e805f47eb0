"""What is in the DOT text, as the programs that draw it read it. No test looks at coordinates."""

import numpy as np
import pytest

import blocks
from minigrad import Graph, Parameter, Tensor, draw, residual_add, scope
from minigrad.drawing.colors import GIVEN_INF, KINDS, NOT_FINITE, SKIP
from minigrad.drawing.view import View
from tests.minigrad.drawing.conftest import causal_block_output, texts
from tests.minigrad.drawing.test_view import FLOWCHART_ARROWS, FLOWCHART_NODES


def title(node):
    return texts(node)[0]


def named_ends(picture, edge):
    """Titles at both ends of an edge."""
    titles = {node["name"]: title(node) for node in picture.nodes.values()}
    return tuple(titles[end] for end in picture.ends(edge))


def width(edge):
    return float(edge["penwidth"])


def test_nodes_edges_and_boxes_are_those_of_the_graph(parsed, pre_norm):
    graph = Graph(pre_norm)
    picture = parsed(graph.to_dot())
    assert list(picture.nodes) == [node.id for node in graph.nodes]
    assert set(picture.clusters) == {box.id for box in graph.boxes}
    ends = {edge.id: (edge.source.id, edge.target.id) for edge in graph.edges}
    assert {id: picture.ends(edge) for id, edge in picture.edges.items()} == ends


def test_boxes_are_nested_by_scope(parsed, pre_norm):
    graph = Graph(pre_norm)
    picture = parsed(graph.to_dot())
    inside = {id: {picture.names[i] for i in cluster["nodes"]} for id, cluster in picture.clusters.items()}
    for box in graph.boxes:
        assert texts(picture.clusters[box.id]) == [box.name]
        if box.parent is not None:
            assert inside[box.id] < inside[box.parent.id]


@pytest.mark.parametrize("values", ["auto", False])
def test_depth_1_is_the_lesson_s_flowchart(parsed, pre_norm, values):
    picture = parsed(draw(pre_norm, depth=1, values=values).dot())
    assert [title(node) for node in picture.nodes.values()] == FLOWCHART_NODES
    edges = picture.edges.values()
    assert {(*named_ends(picture, edge), edge["color"] == SKIP) for edge in edges} == FLOWCHART_ARROWS
    assert list(picture.clusters) == ["b0"]


@pytest.mark.parametrize("has_gradients", [False, True])
def test_skips_are_the_boldest_lines(parsed, pre_norm, has_gradients):
    if has_gradients:
        pre_norm.backward(np.arange(12.0).reshape(3, 4))
    for depth in (1, 2, None):
        edges = parsed(draw(pre_norm, depth=depth).dot()).edges.values()
        skips = [width(edge) for edge in edges if edge["class"] == "skip"]
        others = [width(edge) for edge in edges if edge["class"] != "skip"]
        assert len(skips) == 2
        assert min(skips) > max(others)


def test_a_larger_gradient_makes_a_wider_line(parsed):
    x = Tensor([1.0], requires_grad=True, name="x")
    y = x * 1e-3 + x * 1e-2 + x * 1e-1 + x
    y.backward()
    graph = Graph(y)
    edges = parsed(graph.to_dot()).edges
    to_x = sorted((edge.gradient.item(), width(edges[edge.id])) for edge in graph.edges if edge.source.name == "x")
    widths = [width for _, width in to_x]
    assert len(set(widths)) == 4
    assert widths == sorted(widths)


def test_the_number_on_an_arrow_is_the_norm_of_what_it_delivered(parsed):
    x = Tensor([1.0, 1.0], requires_grad=True, name="x")
    y = x * [3.0, 4.0]
    y.backward([1.0, 1.0])
    to_x, to_constant = parsed(Graph(y).to_dot()).edges.values()
    assert texts(to_x) == ["5"]
    assert texts(to_constant) == []
    assert to_constant["style"] == "dashed"


def test_without_gradients_arrows_have_no_number(parsed):
    x = Tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    edges = parsed(draw(y, grads=False).dot()).edges.values()
    assert [texts(edge) for edge in edges] == [[], []]


def test_backward_flow_turns_every_arrow(parsed, pre_norm):
    forward = parsed(draw(pre_norm).dot())
    backward = parsed(draw(pre_norm, flow="backward").dot())
    turned = {id: forward.ends(edge)[::-1] for id, edge in forward.edges.items()}
    assert {id: backward.ends(edge) for id, edge in backward.edges.items()} == turned


def test_kinds_look_different(parsed):
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    w = Parameter([3.0, 4.0], name="w")
    y = residual_add(x * 2.0, x * w, "add")
    nodes = parsed(Graph(y).to_dot()).nodes.values()
    assert {node["class"] for node in nodes} == set(KINDS) - {"closed"}
    looks = [(kind.fill, kind.border, kind.style) for kind in KINDS.values()]
    assert len(set(looks)) == len(looks)


def test_small_arrays_show_their_numbers_beside_their_gradient(parsed):
    x = Tensor([[1.5, -2.0]], requires_grad=True, name="x")
    y = (x * x).sum()
    y.backward()
    node = parsed(Graph(y).to_dot()).nodes["n0"]
    assert texts(node) == ["x", "input  (1, 2)", "value", "1.50", "-2.00", "gradient", "3.00", "-4.00"]


def test_the_legend_explains_what_occurs_and_nothing_else(parsed):
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    y = x.exp()
    shown = texts(parsed(draw(y, values=False, grads=False, title="One op").dot()).graph)
    assert shown == ["One op", "input", "result of an op"]
    y.backward([1.0, 1.0])
    shown = texts(parsed(draw(y, highlight={x: "red"}, meanings={"red": "look here"}).dot()).graph)
    assert {"gradient: norm; width on a log scale", "negative, 0, positive", "look here"} <= set(shown)
    assert texts(parsed(draw(y, legend=False).dot()).graph) == []


def test_every_colour_of_a_line_or_node_is_in_the_legend(parsed):
    block, x = blocks.lesson_block("pre")
    loss = block(x).mean()
    loss.backward()
    picture = parsed(draw(loss, depth=2).dot())
    colors = {thing["color"] for thing in (*picture.nodes.values(), *picture.edges.values())}
    assert all(color in picture.graph["label"] for color in colors)


def test_highlights_colour_the_node_or_the_box_that_holds_it(parsed, pre_norm):
    graph = Graph(pre_norm)
    softmax = next(node for node in graph.nodes if node.name == "softmax")
    nodes = parsed(draw(graph, highlight={softmax.tensor: "#123456"}).dot()).nodes
    assert [id for id, node in nodes.items() if node["color"] == "#123456"] == [softmax.id]
    nodes = parsed(draw(graph, depth=1, highlight={softmax.tensor: "#123456"}).dot()).nodes
    assert [title(node) for node in nodes.values() if node["color"] == "#123456"] == ["attention"]


def test_a_highlight_of_a_stranger_is_refused(pre_norm):
    with pytest.raises(ValueError, match="cannot highlight"):
        draw(pre_norm, highlight={Tensor(1.0): "red"}).dot()


def test_nan_and_inf_are_marked(parsed):
    x = Tensor([0.0, 1.0], requires_grad=True, name="x")
    with np.errstate(all="ignore"):
        y = x.log() * 0.0
        y.backward([1.0, 1.0])
    dot = Graph(y).to_dot()
    picture = parsed(dot)
    assert "nan" in texts(picture.nodes["n3"])
    assert "NaN, or inf that an op made" in texts(picture.graph)
    assert NOT_FINITE in dot
    assert GIVEN_INF not in dot


@pytest.mark.parametrize("values", ["numbers", "heatmap"])
def test_the_inf_of_a_mask_has_a_colour_of_its_own(parsed, values):
    y = causal_block_output()
    y.backward(np.ones(y.shape))
    dot = draw(y, values=values).dot()
    shown = texts(parsed(dot).graph)
    assert GIVEN_INF in dot
    assert "inf that was given, as in a mask" in shown
    assert NOT_FINITE not in dot
    assert not any("NaN" in text for text in shown)


def test_arrays_that_are_not_shown_are_not_in_the_legend(parsed):
    y = causal_block_output()
    for options in ({"values": False}, {"values": "statistics"}, {"depth": 0, "values": "statistics"}):
        shown = texts(parsed(draw(y, **options).dot()).graph)
        assert not any("negative" in text for text in shown)


def test_a_heat_map_s_minus_and_scale_are_in_the_legend(parsed):
    x = Tensor([[1.0, -2.0]], requires_grad=True, name="x")
    shown = texts(parsed(draw(x * 2.0, values="heatmap").dot()).graph)
    assert {"negative (with a -), 0, positive", "where the colours end, array by array"} <= set(shown)
    assert "-" in shown
    numbers = texts(parsed(draw(x * 2.0, values="numbers").dot()).graph)
    assert "negative, 0, positive" in numbers
    assert "-" not in numbers


def test_the_text_is_the_same_for_the_same_program():
    def program():
        block, x = blocks.lesson_block("pre")
        loss = block(x).sum()
        loss.backward()
        return Graph(loss).to_dot()

    assert program() == program()


def test_arrays_are_left_out_of_a_large_picture_by_default(parsed):
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    y = x
    for _ in range(200):
        y = y.tanh()
    assert "value" not in texts(parsed(draw(y).dot()).nodes["n0"])
    assert "value" in texts(parsed(draw(y, values="numbers").dot()).nodes["n0"])


def test_a_box_with_two_results_has_two_arrows():
    x = Tensor([1.0], requires_grad=True, name="x")
    with scope("two"):
        a, b = x.exp(), x.tanh()
    view = View(Graph(a * b), depth=0)
    two = view.items[1]
    assert view.results(two) == [a, b]
    assert [(arrow.start.name, arrow.end.name) for arrow in view.arrows] == [
        ("x", "two"),
        ("two", "multiply"),
        ("two", "multiply"),
    ]
