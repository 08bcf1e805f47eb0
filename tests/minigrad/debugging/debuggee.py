"""A program to be debugged: the tests stop at its softmax and at its first backward()."""

import numpy as np

from minigrad import Tensor, break_at, residual_add, scope
from minigrad.ops.softmax import Softmax


def main():
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True, name="x")
    with scope("block"), scope("attention"):
        weights = Softmax()(x)
    weights = residual_add(weights, weights * 0.5, "mine")
    loss = (weights * weights).sum()

    loss.backward()

    with break_at("attention.softmax", forward=False):
        loss.backward()

    with break_at("attention.softmax"), scope("attention"):
        x.softmax()


if __name__ == "__main__":
    main()
