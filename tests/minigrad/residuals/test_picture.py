"""The picture with shares: the right share on the right arrow, and every residual to be seen."""

import numpy as np
import pytest

from blocks import (
    Stack,
    draw_residual_gradients,
    draw_residual_stream,
    lesson_block,
    residual_gradients,
    residual_stream,
)
from minigrad import Graph, Tensor, draw, residual_add
from minigrad.drawing.diagram.dot import share_text


def shares(picture):
    """What is written on the arrows, by the paths of their two ends."""
    return {
        (arrow.start.path, arrow.end.path): share_text(arrow)
        for arrow in picture.view.arrows
        if arrow.share is not None
    }


def test_shares_known_by_hand():
    x = Tensor([3.0, 4.0], requires_grad=True, name="x")
    loss = residual_add(x, x * -0.5, "half").sum()
    loss.backward()
    picture = draw_residual_gradients(loss, x)
    assert shares(picture) == {("x", "half"): "skip 200%", ("x", "multiply"): "branch -100%"}
    for text, percent in ((picture.dot(), "%"), (picture.mermaid(), "#37;")):
        assert f"skip 200{percent}" in text
        assert f"branch -100{percent}" in text
    assert "Gradient by skip and branch" in picture.dot()


@pytest.mark.parametrize("norm", ["post", "pre", None])
def test_every_residual_of_a_block_and_of_a_stack_is_seen(norm):
    block, x = lesson_block(norm)
    stack = Stack(3, 4, 2, 8, norm=norm, rng=0)
    for model, n_residuals in ((block, 2), (stack, 6)):
        loss = (model(x) * np.arange(12.0).reshape(3, 4)).sum()
        loss.backward()
        picture = draw_residual_gradients(loss, x)
        written = list(shares(picture).values())
        residuals = residual_gradients(loss, x)
        assert len(residuals) == n_residuals
        assert len(written) == 2 * n_residuals
        for residual in residuals:
            assert f"skip {residual.skip_share:.0%}" in written
            assert f"branch {residual.branch_share:.0%}" in written


def test_arrows_of_an_open_branch_share_its_share():
    block, x = lesson_block(norm=None)
    loss = (block(x) * np.arange(12.0).reshape(3, 4)).sum()
    loss.backward()
    picture = draw_residual_gradients(loss, x, depth=2)
    first = residual_gradients(loss, x)[0]
    arrows = [arrow for arrow in picture.view.arrows if arrow.tensor is x]
    assert [arrow.is_skip for arrow in arrows].count(False) == 3  # query, key and value
    assert sum(arrow.share for arrow in arrows) == pytest.approx(1)
    assert sum(arrow.share for arrow in arrows if not arrow.is_skip) == pytest.approx(first.branch_share)


def test_other_pictures_of_the_same_graph_have_no_notes():
    block, x = lesson_block()
    loss = (block(x) ** 2).sum()
    loss.backward()
    draw_residual_gradients(loss, x)
    assert shares(draw(loss)) == {}
    assert all(edge.share is None for edge in Graph(loss).edges)


def test_a_residual_whose_skip_was_cut_is_drawn_without_shares():
    x = Tensor([3.0, 4.0], requires_grad=True, name="x")
    h = residual_add(x, x.tanh(), "first")
    loss = residual_add(h.detach(), h.tanh(), "cut").sum()
    loss.backward()
    assert set(shares(draw_residual_gradients(loss, x))) == {("x", "first"), ("x", "tanh")}


def test_it_is_written_and_bad_input_is_named(tmp_path):
    block, x = lesson_block()
    loss = (block(x) ** 2).sum()
    with pytest.raises(RuntimeError, match=r"call loss.backward\(\) before"):
        draw_residual_gradients(loss, x)
    loss.backward()
    draw_residual_gradients(loss, x, tmp_path / "shares.dot", title="mine")
    assert "mine" in (tmp_path / "shares.dot").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="no residual"):
        draw_residual_gradients((x * 2).sum(), x)
    with pytest.raises(ValueError, match="does not depend on"):
        draw_residual_gradients(loss, Tensor([1.0], requires_grad=True))


def test_what_each_residual_wrote_is_written_on_it(tmp_path):
    stack = Stack(2, 4, 2, 8, norm="pre", rng=0)
    x = Tensor(np.arange(12.0).reshape(3, 4), requires_grad=True, name="x")
    loss = (stack(x) * np.arange(12.0).reshape(3, 4)).sum()
    picture = draw_residual_stream(loss, path=tmp_path / "stream.dot", norm_scale="held")
    text = (tmp_path / "stream.dot").read_text(encoding="utf-8")
    for write in residual_stream(loss, norm_scale="held"):
        assert f"{write.name.split('.')[-1]}: wrote" in text
        assert f"effect {write.effect:+.3g}" in text.replace("&#45;", "-")
    assert "this write raises the loss" in picture.dot()
    assert shares(picture) == {}
    assert x.grad is None


def test_after_a_pass_that_kept_no_gradients_it_says_so():
    block, x = lesson_block()
    loss = (block(x) ** 2).sum()
    loss.backward(retain_grads=False)
    with pytest.raises(RuntimeError, match="retain_grads=False, which keeps no gradient but those of leaves"):
        draw_residual_gradients(loss, x)


def test_a_skip_that_parts_further_back_is_drawn_without_shares():
    x = Tensor([3.0, 4.0], requires_grad=True, name="x")
    loss = residual_add(residual_add(x * 1.5, x.tanh(), "scaled"), x.sin(), "parallel").sum()
    loss.backward()
    assert shares(draw_residual_gradients(loss, x)) == {}
