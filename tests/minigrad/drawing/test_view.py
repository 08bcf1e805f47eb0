"""Which boxes are closed at which depth, and what is left of the graph."""

import itertools

import numpy as np
import pytest

import blocks
from minigrad import Graph, Tensor, scope
from minigrad.drawing.view import View, view_within

FLOWCHART_NODES = [
    "x",
    "attention_norm",
    "attention",
    "attention_residual",
    "feed_forward_norm",
    "feed_forward",
    "feed_forward_residual",
]
FLOWCHART_ARROWS = {
    ("x", "attention_norm", False),
    ("attention_norm", "attention", False),
    ("x", "attention_residual", True),
    ("attention", "attention_residual", False),
    ("attention_residual", "feed_forward_norm", False),
    ("feed_forward_norm", "feed_forward", False),
    ("attention_residual", "feed_forward_residual", True),
    ("feed_forward", "feed_forward_residual", False),
}


def names(view):
    return [item.name for item in view.items]


def arrows(view):
    return {(arrow.start.name, arrow.end.name, arrow.is_skip) for arrow in view.arrows}


@pytest.mark.parametrize("has_loss", [False, True])
def test_depth_1_of_a_pre_norm_block_is_the_lesson_s_flowchart(pre_norm, has_loss):
    view = View(Graph(pre_norm.sum() if has_loss else pre_norm), depth=1)
    loss = {("feed_forward_residual", "sum", False)} if has_loss else set()
    assert names(view) == FLOWCHART_NODES + ["sum"] * has_loss
    assert arrows(view) == FLOWCHART_ARROWS | loss
    assert len(view.arrows) == len(arrows(view))


def test_depth_1_of_a_post_norm_block_has_the_norms_behind_the_residuals():
    block, x = blocks.lesson_block("post")
    assert names(View(Graph(block(x)), depth=1)) == [
        "x",
        "attention",
        "attention_residual",
        "attention_norm",
        "feed_forward",
        "feed_forward_residual",
        "feed_forward_norm",
    ]


def test_depth_2_opens_attention_and_feed_forward(pre_norm):
    view = View(Graph(pre_norm), depth=2)
    closed = {box.path for box in view.contents}
    assert closed == {
        "block.attention_norm",
        *(f"block.attention.{name}" for name in ("query", "key", "value", "output")),
        "block.feed_forward_norm",
        *(f"block.feed_forward.{name}" for name in ("up", "down")),
    }
    assert {"softmax", "relu"} <= set(names(view))


def test_depth_none_shows_every_node_and_edge(pre_norm):
    graph = Graph(pre_norm)
    view = View(graph)
    assert view.items == graph.nodes
    assert [arrow.edges for arrow in view.arrows] == [[edge] for edge in graph.edges]


def test_depth_0_is_one_box(pre_norm):
    assert names(View(Graph(pre_norm), depth=0)) == ["x", "block"]


@pytest.fixture(scope="module")
def stack():
    model = blocks.Stack(12, d_model=4, n_heads=2, d_ff=8, norm="pre", rng=0)
    return Graph(model(Tensor(np.ones((3, 4)), requires_grad=True, name="x")))


def test_a_stack_of_12_at_depth_1_is_12_boxes_in_a_row(stack):
    view = View(stack, depth=1)
    row = ["x", *(f"blocks.{i}" for i in range(12)), "final_norm"]
    assert names(view) == row
    assert [(arrow.start.name, arrow.end.name) for arrow in view.arrows] == list(itertools.pairwise(row))


def test_expand_opens_one_box_and_those_around_it(stack):
    view = View(stack, depth=1, expand="blocks.3.attention")
    assert "blocks.3.attention" not in {box.path for box in view.contents}
    assert {"softmax", "feed_forward", "blocks.2", "blocks.4"} <= set(names(view))
    assert names(view).count("softmax") == 1


def test_expand_alone_closes_the_others(stack):
    assert names(View(stack, expand="blocks.3")) == names(View(stack, depth=1, expand="blocks.3"))


def test_expand_of_no_box_lists_those_there_are(pre_norm):
    with pytest.raises(ValueError, match=r"no box 'atention'.*block\.attention"):
        View(Graph(pre_norm), expand="atention")


def test_a_box_of_one_op_stays_closed_unless_it_is_all_there_is():
    with scope("norm"):
        y = Tensor([1.0, 2.0], requires_grad=True, name="x").layer_norm()
    assert "layer_norm" in names(View(Graph(y), depth=1))
    with scope("after"):
        z = y.tanh()
    assert names(View(Graph(z), depth=5)) == ["x", "norm", "after"]


def test_negative_depth_is_refused(pre_norm):
    with pytest.raises(ValueError, match="depth is 0 or more"):
        View(Graph(pre_norm), depth=-1)


def test_every_node_is_shown_or_in_one_closed_box(stack):
    for depth in (0, 1, 2, 3, None):
        view = View(stack, depth)
        hidden = [node for nodes in view.contents.values() for node in nodes]
        shown = [item for item in view.items if item not in view.contents]
        assert sorted(node.id for node in hidden + shown) == sorted(node.id for node in stack.nodes)


def test_an_arrow_into_a_closed_box_delivers_the_sum_over_its_edges(pre_norm):
    grad = np.arange(12.0).reshape(3, 4)
    pre_norm.backward(grad)
    view = View(Graph(pre_norm), depth=1)
    by_end = {(arrow.start.name, arrow.end.name): arrow for arrow in view.arrows}
    into_attention = by_end["attention_norm", "attention"]
    assert len(into_attention.edges) == 3  # query, key and value read it
    np.testing.assert_allclose(into_attention.gradient, into_attention.tensor.grad, rtol=1e-13)

    x = view.items[0]
    over_skip, through_branch = by_end["x", "attention_residual"].gradient, by_end["x", "attention_norm"].gradient
    np.testing.assert_allclose(over_skip + through_branch, x.tensor.grad, rtol=1e-13)


def test_a_layer_used_twice_with_something_between_makes_no_cycle():
    x = Tensor(1.0, requires_grad=True, name="x")
    for name in ("a", "b", "a", "b"):
        with scope("model"), scope(name):
            x = (x * 2.0).tanh()
    view = View(Graph(x), depth=1)
    assert names(view) == ["x", "a", "b", "a", "b"]
    place = {item: i for i, item in enumerate(view.items)}
    assert all(place[arrow.start] < place[arrow.end] for arrow in view.arrows)


def test_the_outline_enters_and_leaves_each_open_box_once_and_meets_each_item_once(stack):
    for depth in (1, 2, None):
        view = View(stack, depth)
        events = list(view.outline())
        assert {thing for event, thing in events if event == "item"} == set(view.items)
        assert len([1 for event, _ in events if event == "item"]) == len(view.items)
        entered = []
        for event, thing in events:
            if event == "enter":
                entered.append(thing)
            elif event == "leave":
                assert entered.pop() is thing
            else:
                around = thing.parent if thing in view.contents else thing.box
                assert around is (entered[-1] if entered else None)
        assert entered == []


def test_scopes_may_nest_as_deep_as_they_like():
    x = Tensor(1.0, requires_grad=True)
    y = x
    scopes = [scope(f"level{i}") for i in range(3000)]
    for level in scopes:
        level.__enter__()
    y = y.tanh()
    for level in reversed(scopes):
        level.__exit__(None, None, None)
    view = View(Graph(y))
    assert len(list(view.outline())) == 2 * 3000 + 2


def test_above_the_limit_the_deepest_view_that_fits_is_taken(stack):
    everything, at_2, at_1 = (len(View(stack, depth).items) for depth in (None, 2, 1))
    assert at_1 < at_2 < everything
    assert view_within(everything, stack).note is None
    view = view_within(at_2, stack)
    assert (view.depth, len(view.items)) == (2, at_2)
    assert "limit=None" in view.note
    assert str(at_2) in view.note
    assert view_within(at_2 - 1, stack).depth == 1
    assert view_within(None, stack).note is None


def test_the_limit_never_opens_more_than_was_asked_for(stack):
    assert view_within(len(View(stack, 2).items), stack, depth=1).depth == 1
