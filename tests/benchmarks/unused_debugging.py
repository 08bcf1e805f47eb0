"""What breakpoints, watchers and hooks cost a backward pass that uses none of them."""

import inspect
import re

import numpy as np

from blocks import lesson_block
from minigrad import Tensor, backprop
from minigrad.backprop import first_gradient
from tests.benchmarks.measuring import interleaved, ratio


def main(seconds=2.0):
    print("\nA backward pass with the debugging hooks, none of them in use, beside the same loop without their lines\n")
    without = backprop_without_hooks()
    for name, loss in (("lesson's block", lesson_loss()), ("1,000 additions", chain_loss())):
        seed = first_gradient(loss, None)
        times = interleaved(
            {
                "with": lambda loss=loss, seed=seed: run(backprop.backprop, loss, seed),
                "without": lambda loss=loss, seed=seed: run(without, loss, seed),
            },
            seconds,
        )
        middle, low, high = ratio(times, "with", "without")
        print(f"  {name:16} {middle:.3f} [{low:.3f} {high:.3f}]")


def backprop_without_hooks():
    """The engine's own loop, with each test for a watcher or a hook cut out of its text."""
    text = inspect.getsource(backprop.backprop)
    text = re.sub(r"^( +)if (watching\.WATCHERS|tensor\.hooks)[^\n]*\n\1    [^\n]*\n", "", text, flags=re.MULTILINE)
    assert "WATCHERS" not in text
    assert "hook" not in text
    names = dict(vars(backprop))
    exec(text, names)
    return names["backprop"]


def run(loop, loss, seed):
    for _ in loop(loss, seed):
        pass


def lesson_loss():
    block, x = lesson_block()
    return block(x).sum()


def chain_loss():
    x = Tensor(np.ones((3, 4)), requires_grad=True)
    y = x
    for _ in range(1000):
        y = y + x
    return y.sum()


if __name__ == "__main__":
    main()
