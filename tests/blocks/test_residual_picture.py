"""The picture with shares: the right share on the right arrow, and every residual to be seen."""

import numpy as np
import pytest

from blocks import Stack, draw_residual_gradients, lesson_block, residual_gradients
from minigrad import Graph, Tensor, draw, residual_add


def notes(picture):
    """What is written on the arrows, by the path of the node that an arrow goes into and the number of the input."""
    return {
        (arrow.end.path, edge.index): edge.note for arrow in picture.view.arrows for edge in arrow.edges if edge.note
    }


def test_shares_known_by_hand():
    x = Tensor([3.0, 4.0], requires_grad=True, name="x")
    loss = residual_add(x, x * -0.5, "half").sum()
    picture = draw_residual_gradients(loss, x)
    assert notes(picture) == {("half", 0): "skip 200%", ("half", 1): "branch -100%"}
    for text, percent in ((picture.dot(), "%"), (picture.mermaid(), "#37;")):
        assert f"skip 200{percent}" in text
        assert f"branch -100{percent}" in text
    assert "Share of the gradient" in picture.dot()


@pytest.mark.parametrize("norm", ["post", "pre", None])
def test_every_residual_of_a_block_and_of_a_stack_is_seen(norm):
    block, x = lesson_block(norm)
    stack = Stack(3, 4, 2, 8, norm=norm, rng=0)
    for model, n_residuals in ((block, 2), (stack, 6)):
        loss = (model(x) * np.arange(12.0).reshape(3, 4)).sum()
        loss.backward()
        written = notes(draw_residual_gradients(loss, x))
        residuals = residual_gradients(loss, x)
        assert len(residuals) == n_residuals
        assert len(written) == 2 * n_residuals
        for residual in residuals:
            assert written[residual.name, 0] == f"skip {residual.skip_share:.0%}"
            assert written[residual.name, 1] == f"branch {residual.branch_share:.0%}"


def test_other_pictures_of_the_same_graph_have_no_notes():
    block, x = lesson_block()
    loss = (block(x) ** 2).sum()
    draw_residual_gradients(loss, x)
    assert notes(draw(loss)) == {}
    assert all(edge.note is None for edge in Graph(loss).edges)


def test_a_residual_without_a_split_is_drawn_without_shares():
    x = Tensor([3.0, 4.0], requires_grad=True, name="x")
    h = residual_add(x, x.tanh(), "first")
    loss = residual_add(h.detach(), h.tanh(), "cut").sum()
    assert set(notes(draw_residual_gradients(loss, x))) == {("first", 0), ("first", 1)}


def test_it_is_written_and_bad_input_is_named(tmp_path):
    block, x = lesson_block()
    loss = (block(x) ** 2).sum()
    draw_residual_gradients(loss, x, tmp_path / "shares.dot", title="mine")
    text = (tmp_path / "shares.dot").read_text()
    assert "mine" in text
    assert "no gradient yet" in text  # there was no backward pass, and nothing pretends so
    with pytest.raises(ValueError, match="no residual"):
        draw_residual_gradients((x * 2).sum(), x)
    with pytest.raises(ValueError, match="does not depend on"):
        draw_residual_gradients(loss, Tensor([1.0], requires_grad=True))
