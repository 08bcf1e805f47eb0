"""Weights that do not add up.

Symptom: Some tokens come out far too large, others near zero, and what a token finds depends on what others ask for.
Difficulty: easy
Minutes: 5
Tool: find (a tensor of the graph by name, with its numbers)
"""

import numpy as np

from minigrad import Tensor, find, softmax


def attention(query, key, value):
    """Each token gathers from the others, with weights that add up to 1; all are (T, d)."""
    scores = query @ key.T / query.shape[-1] ** 0.5  # (T, T), query by key
    # right
    weights = softmax(scores, axis=-1)
    # fault
    # weights = softmax(scores, axis=0)
    # end
    return weights @ value


def look():
    rng = np.random.default_rng(0)
    query, key, value = (Tensor(rng.normal(size=(4, 3)), requires_grad=True) for _ in range(3))
    y = attention(query, key, value)
    print("attention weights, a row for each query:")
    print(find(y, "softmax").data.round(2))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "What is the sum of each row of the weights, and of each column?",
    "A row belongs to one query. Whose weights must add up to 1?",
    "The axis of softmax is the one along which its result sums to 1.",
]
ANSWER = "Softmax went over the queries. The weights of one query, over all keys, must add up to 1: the last axis."
WRONG = [
    "weights = softmax(scores.T, axis=0)",
    "weights = softmax(scores.T, axis=-1)",
    "weights = softmax(scores, axis=(0, 1))",
]
CLUE = "columns sum to 1"


def judge(theirs, rng):
    query, key, value = rng.normal(size=(3, 5, 4))
    must_agree("attention", theirs.attention, attention, query, key, value, rng=rng)


def clue(theirs):
    rng = np.random.default_rng(0)
    query, key, value = (Tensor(rng.normal(size=(4, 3)), requires_grad=True) for _ in range(3))
    weights = find(theirs.attention(query, key, value), "softmax").data
    return ", ".join(
        f"{what} sum to 1" for what, axis in (("rows", -1), ("columns", 0)) if np.allclose(weights.sum(axis), 1)
    )
