"""Residuals that no one marked, and skips that are more than a wire: each is split where its two ways part.

Four networks of the same branch: x + f(x) with a plain plus, 1.5 x + f(x) as in a scaled residual, x P + f(x) with a
projection, and norm(x) + f(x). A residual that was made with `residual_add` is known as one; a plain plus is found by
its structure, when asked with plain_sums=True, and named with its line.

What to look at: skip and branch sum to the gradient at x in every row. In the scaled one the skip's part is 1.5 times
that of the first. Without plain_sums, the tool says that none was marked, and names the line that looks like one.
"""

import argparse

import numpy as np

from blocks import residual_gradients
from minigrad import Tensor, layer_norm, residual_add

RNG = np.random.default_rng(0)
W, P, WEIGHTS = (RNG.normal(size=shape) for shape in ((4, 4), (4, 4), (3, 4)))
X = RNG.normal(size=(3, 4))


def main(arguments=None):
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    x, loss = plain()
    print("A plain plus, not asked for:\n")
    print(residual_gradients(loss, x), "\n")
    print(f"{'network':12} {'|skip|':>8} {'|branch|':>9}   at x: |skip + branch - gradient|   residual")
    for network in (plain, scaled, projected, normed):
        x, loss = network()
        loss.backward()
        [residual] = residual_gradients(loss, x, plain_sums=True)
        sizes = f"{np.linalg.norm(residual.skip):8.4f} {np.linalg.norm(residual.branch):9.4f}"
        gap = np.abs(residual.total - x.grad).max()
        print(f"{network.__name__:12} {sizes}   {gap:29.1e}   {residual.name}")


def plain():
    x = Tensor(X, requires_grad=True, name="x")
    y = x + (x @ W).tanh()
    return x, (y * WEIGHTS).sum()


def scaled():
    x = Tensor(X, requires_grad=True, name="x")
    y = residual_add(x * 1.5, (x @ W).tanh(), "scaled")
    return x, (y * WEIGHTS).sum()


def projected():
    x = Tensor(X, requires_grad=True, name="x")
    y = residual_add(x @ P, (x @ W).tanh(), "projected")
    return x, (y * WEIGHTS).sum()


def normed():
    x = Tensor(X, requires_grad=True, name="x")
    y = residual_add(layer_norm(x), (x @ W).tanh(), "normed")
    return x, (y * WEIGHTS).sum()


if __name__ == "__main__":
    main()
