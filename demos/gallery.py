"""The pictures that this project is shown with: one op, softmax, the lesson's block from far and near, a deep stack.

What to look at: where two arrows leave one node, two gradients come back and add up there. At each residual compare
the number on the bold skip with that on the arrow beside it: that is how much of the gradient took which way.
"""

import argparse
from pathlib import Path

import numpy as np

from blocks import Stack, draw_residual_gradients, lesson_block
from minigrad import Tensor, detect_anomaly, draw, mse_loss
from minigrad.debugging import AnomalyError


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Draw the gallery.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("."), help="where to write it")
    parser.add_argument("--format", default="png", choices=("png", "svg", "pdf", "dot"))
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    for picture in (one_op, softmax, levels, before_and_after, residuals, stack, first_nan):
        for name, drawn in picture():
            drawn.save(options.folder / f"{name}.{options.format}")
            print(f"{name:26}  {drawn.look.title}")


def one_op():
    x = Tensor([[1.0, 2.0], [3.0, -1.0]], requires_grad=True, name="x")
    w = Tensor([[0.5, -1.0], [2.0, 0.0]], requires_grad=True, name="w")
    y = x @ w
    y.backward(np.ones((2, 2)))
    yield "op", draw(y, title="One op: y = x w, and where dL/dy goes")


def softmax():
    x = Tensor([0.0, 1.0, 2.0], requires_grad=True, name="x")
    e = x.exp()
    p = e / e.sum()
    e.name, p.name = "e", "p"
    p.backward([0.0, 0.0, 1.0])
    yield "softmax", draw(p, title="e is read twice: two gradients add up", legend=False)


def levels():
    block, x = lesson_block("pre")
    y = block(x)
    yield "block_depth_1", draw(y, depth=1, values=False, grads=False, title="A pre-norm block, depth=1")
    yield "block_depth_2", draw(y, depth=2, values=False, grads=False, title="The same block, depth=2")
    yield "block_every_op", draw(y, values="heatmap", grads=False, title="The same block, every op")


def lesson_loss(norm):
    """The lesson's input and block, and how far it is from turning each token into the next."""
    block, x = lesson_block(norm)
    loss = mse_loss(block(x), Tensor(np.roll(x.data, -1, axis=0), name="next token"))
    loss.name = "loss"
    return x, loss


def before_and_after():
    _, loss = lesson_loss("pre")
    yield "before_backward", draw(loss, depth=1, title="Before backward()")
    loss.backward()
    yield "after_backward", draw(loss, depth=1, title="After backward()")


def residuals():
    x, loss = lesson_loss("post")
    loss.backward()
    yield "residual_gradients", draw_residual_gradients(loss, x)
    yield "residual_gradients_depth_2", draw_residual_gradients(loss, x, depth=2)


def stack():
    model = Stack(12, d_model=16, n_heads=2, d_ff=32, norm="pre", rng=0)
    y = model(Tensor(np.random.default_rng(0).standard_normal((6, 16)), requires_grad=True, name="x"))
    (y * y * y).mean().backward()
    yield "stack", draw(y, depth=1, values=False, title="A stack of 12 blocks, depth=1")
    yield "stack_expanded", draw(y, values=False, expand="blocks.3", title='The same with expand="blocks.3"')


def first_nan():
    scores = Tensor([[0.0, -1.0], [0.0, 2.0]], requires_grad=True, name="scores")
    weights = Tensor([[1.0, 1.0], [0.5, 2.0]], name="weights")
    try:
        with detect_anomaly():
            loss = (scores.sqrt() * weights + scores).mean()
            loss.backward()
    except AnomalyError as error:
        yield "first_nan", error.draw(title="Which op made the NaN")


if __name__ == "__main__":
    main()
