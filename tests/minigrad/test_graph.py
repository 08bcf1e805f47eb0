"""The view of what was recorded."""

import copy
import gc
import weakref

import numpy as np
import pytest

import blocks
from blocks import TransformerBlock
from minigrad import Graph, Parameter, Tensor, residual_add, scope
from minigrad.graph import arguments


def names(nodes):
    return [node.name for node in nodes]


def test_nodes_come_behind_what_they_are_made_from():
    block, x = blocks.lesson_block()
    graph = Graph(block(x).sum())
    place = {node: i for i, node in enumerate(graph.nodes)}
    assert all(place[edge.source] < place[edge.target] for edge in graph.edges)
    assert [node.id for node in graph.nodes] == [f"n{i}" for i in range(len(graph.nodes))]


def test_one_edge_for_each_input_of_each_op():
    block, x = blocks.lesson_block()
    graph = Graph(block(x))
    expected = {
        (id(source), id(node.tensor), i) for node in graph.nodes if node.op for i, source in enumerate(node.op.inputs)
    }
    assert {(id(edge.source.tensor), id(edge.target.tensor), edge.index) for edge in graph.edges} == expected
    assert len(graph.edges) == len(expected)


def test_a_square_has_two_edges_and_its_input_once():
    x = Tensor(3.0, requires_grad=True, name="x")
    graph = Graph(x * x)
    assert names(graph.nodes) == ["x", "multiply"]
    assert [edge.index for edge in graph.edges] == [0, 1]


def test_a_parameter_used_twice_is_one_node():
    w = Parameter([2.0], name="w")
    graph = Graph(w.exp() + w.tanh())
    assert names(graph.nodes).count("w") == 1
    assert [edge.source.name for edge in graph.edges].count("w") == 2


def test_kinds_are_told_apart():
    x = Tensor([1.0], requires_grad=True)
    mask = Tensor([1.0], name="mask")
    w = Parameter([2.0])
    graph = Graph(x * w * mask + 1.0)
    kinds = {node.tensor: node.kind for node in graph.nodes}
    assert (kinds[x], kinds[mask], kinds[w], kinds[graph.output]) == ("input", "input", "parameter", "result")
    assert sorted(kinds.values()).count("constant") == 1


def test_a_lone_leaf_is_one_node():
    graph = Graph(Tensor(7.0, requires_grad=True, name="x"))
    assert names(graph.nodes) == ["x"]
    assert graph.edges == graph.boxes == []


def test_skip_and_branch_of_a_residual():
    x = Tensor([1.0], requires_grad=True, name="x")
    graph = Graph(residual_add(x, x.tanh(), "squash"))
    assert [(edge.source.name, edge.target.name, edge.is_skip) for edge in graph.edges] == [
        ("x", "tanh", False),
        ("x", "squash", True),
        ("tanh", "squash", False),
    ]


def test_boxes_are_the_scopes():
    block, x = blocks.lesson_block("pre")
    graph = Graph(block(x))
    assert [box.path for box in graph.boxes if box.depth <= 2] == [
        "block",
        "block.attention_norm",
        "block.attention",
        "block.feed_forward_norm",
        "block.feed_forward",
    ]
    by_name = {node.name: node for node in graph.nodes}
    assert by_name["attention.query.weight"].box.path == "block.attention.query"
    assert by_name["attention_residual"].box.path == "block"
    assert by_name["x"].box is None


def test_a_scope_entered_again_is_another_box():
    x = Tensor(1.0, requires_grad=True)
    for name in ("a", "b", "a"):
        with scope(name):
            x = x.tanh()
    assert [(box.id, box.name) for box in Graph(x).boxes] == [("b0", "a"), ("b1", "b"), ("b2", "a")]


def test_a_parameter_shared_by_two_boxes_is_outside_of_both():
    w = Parameter(2.0, name="w")
    with scope("model"):
        with scope("a"):
            y = w.tanh()
        with scope("b"):
            y = y * w
    graph = Graph(y)
    assert graph.node_of[w].box.path == "model"


def test_edges_know_what_they_delivered_once_backward_has_run():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * [3.0, 5.0]
    graph = Graph(y)
    to_x, to_constant = graph.edges
    assert to_x.gradient is None
    y.backward([1.0, 10.0])
    np.testing.assert_array_equal(to_x.gradient, [3.0, 50.0])
    assert to_constant.gradient is None


def test_arguments_are_what_the_op_was_told():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    assert arguments(x.sum(axis=1, keepdims=True).op) == {"axis": 1, "keepdims": True}
    assert arguments(x.exp().op) == {}
    assert arguments(x[0, :1].op) == {"index": (0, slice(None, 1, None))}


def test_a_hundred_thousand_nodes():
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y.tanh()
    graph = Graph(y)
    assert len(graph.nodes) == 100_001
    assert len(graph.edges) == 100_000


def test_the_view_holds_no_reference_cycle():
    block, x = blocks.lesson_block()
    y = block(x)
    graph = Graph(y)
    alive = weakref.ref(y)
    gc.collect()
    gc.disable()
    try:
        del y, graph
        assert alive() is None
    finally:
        gc.enable()


def test_only_a_tensor_has_a_graph():
    with pytest.raises(TypeError, match=r"made from a Tensor.*got ndarray"):
        Graph(np.ones(3))


def test_several_outputs_make_one_graph_with_each_input_once():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    h = x.tanh()
    y1, y2 = h * 2.0, h.sum()
    graph = Graph((y1, y2))
    assert graph.outputs == (y1, y2) and sum(node.tensor is x for node in graph.nodes) == 1
    assert len(graph.nodes) == 5 and repr(graph).startswith("<Graph of multiply, sum: 5 nodes")
    assert repr(Graph([y1, y1]).nodes) == repr(Graph(y1).nodes)
    assert len(Graph([h, y2]).nodes) == len(Graph(y2).nodes)  # an output on the way to another


@pytest.mark.parametrize(("outputs", "error"), [([], ValueError), ([1.0], TypeError), ((None,), TypeError)])
def test_outputs_are_tensors(outputs, error):
    with pytest.raises(error, match="a graph is made from"):
        Graph(outputs)


def test_two_calls_of_one_module_in_a_row_are_two_boxes():
    block = TransformerBlock(4, 1, 8, name="block")
    y = block(block(Tensor(np.ones((3, 4)), requires_grad=True)))
    boxes = [box for box in Graph(y).boxes if box.path == "block"]
    assert len(boxes) == 2
    assert len([box for box in Graph(y).boxes if box.path == "block.attention"]) == 2
    twin = Graph(copy.deepcopy(y))
    assert len(twin.boxes) == len(Graph(y).boxes)
