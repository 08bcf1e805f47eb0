"""Heads that end up in the wrong tokens.

Symptom: All shapes fit, training works badly, and a change of the last token changes the first token's result even with
    weights that look nowhere but at their own token.
Difficulty: medium
Minutes: 10
Tool: backward(grad) from one token, and the gradient of an inner tensor, heads.grad
"""

import numpy as np

from minigrad import Tensor


def merge_heads(heads):
    """(H, T, d), what each head found for each token, as (T, H d): the heads of a token side by side."""
    H, T, d = heads.shape
    # right
    return heads.swapaxes(0, 1).reshape(T, H * d)
    # fault
    # return heads.reshape(T, H * d)
    # end


def look():
    heads = Tensor(np.arange(24.0).reshape(2, 4, 3), requires_grad=True)
    only_first = np.zeros((4, 6))
    only_first[0] = 1
    merge_heads(heads).backward(only_first)
    for h in range(2):
        print(f"head {h}: token 0 of the result holds its tokens", np.flatnonzero(heads.grad[h].any(axis=-1)))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Token 0 of the result should hold token 0 of every head.",
    "reshape keeps the order of the numbers in memory. In which order are they?",
    "Which two axes have to change places, so that T comes first?",
]
ANSWER = (
    "reshape cut the numbers of head 0 into rows first. The token axis has to come first before heads can be merged."
)
WRONG = [
    "return heads.swapaxes(1, 2).reshape(T, H * d)",
    "return heads.transpose(2, 1, 0).reshape(T, H * d)",
    "return heads.transpose(1, 2, 0).reshape(T, H * d)",
]
CLUE = "head 1 gave []"


def judge(theirs, rng):
    must_agree("merge_heads", theirs.merge_heads, merge_heads, rng.normal(size=(2, 5, 3)), rng=rng)


def clue(theirs):
    heads = Tensor(np.arange(24.0).reshape(2, 4, 3), requires_grad=True)
    only_first = np.zeros((4, 6))
    only_first[0] = 1
    theirs.merge_heads(heads).backward(only_first)
    return "; ".join(f"head {h} gave {np.flatnonzero(heads.grad[h].any(axis=-1)).tolist()}" for h in range(2))
