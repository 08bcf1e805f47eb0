"""A norm that is none.

Symptom: Behind a layer norm each token should have mean 0 and deviation 1. Here the tokens' means are anything, and a
    token's numbers change when another token does.
Difficulty: easy
Minutes: 5
Tool: find (a tensor of the graph by name, with its numbers)
"""

import numpy as np

from minigrad import Tensor, find, scope


def layer_norm(x, gain, bias, eps=1e-5):
    """(x - mean) / deviation of each token, then stretched and moved; x is (..., T, d)."""
    # right
    axis = -1
    # fault
    # axis = -2
    # end
    with scope("norm"):
        centered = x - x.mean(axis=axis, keepdims=True)
        deviation = ((centered * centered).mean(axis=axis, keepdims=True) + eps).sqrt()
        normed = centered / deviation
        normed.name = "normed"
        return normed * gain + bias


def look():
    x = Tensor(np.random.default_rng(0).normal(3, 2, size=(4, 6)), requires_grad=True)
    y = layer_norm(x, np.ones(6), np.zeros(6))
    print("mean of each token:     ", y.data.mean(axis=-1).round(3))
    print("deviation of each token:", y.data.std(axis=-1).round(3))
    print("find(y, 'normed') ->", find(y, "normed"))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Print `find(y, 'normed').data` and its means along both axes: along which of them are they 0?",
    "A token is a row. Which axis runs along a row?",
    "`axis` says over which numbers the mean is taken.",
]
ANSWER = "The mean was taken over the tokens (axis -2), not over the numbers of one token (axis -1)."
WRONG = ["axis = 0", "axis = (-2, -1)", "axis = None"]
CLUE = "each column has mean 0"


def judge(theirs, rng):
    x, gain, bias = rng.normal(2, 3, size=(2, 5, 4)), rng.normal(size=4), rng.normal(size=4)
    must_agree("layer_norm", theirs.layer_norm, layer_norm, x, gain, bias, rng=rng)


def clue(theirs):
    x = Tensor(np.random.default_rng(0).normal(3, 2, size=(4, 6)), requires_grad=True)
    normed = find(theirs.layer_norm(x, np.ones(6), np.zeros(6)), "normed").data
    return " and ".join(
        f"each {what} has mean 0"
        for what, axis in (("row", -1), ("column", -2))
        if np.allclose(normed.mean(axis=axis), 0, atol=1e-9)
    )
