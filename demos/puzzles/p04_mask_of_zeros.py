"""A mask that hides nothing.

Symptom: The mask is the right way round, and still each token is made from all others. No weight is exactly 0.
Difficulty: easy
Minutes: 5
Tool: find (a tensor of the graph by name, with its numbers)
"""

import numpy as np

from minigrad import Tensor, find, softmax, where


def causal_attention(query, key, value):
    """Each token attends to itself and to those before it; all are (T, d)."""
    T, d = query.shape
    scores = query @ key.T / d**0.5  # (T, T), query by key
    past = np.tri(T, dtype=bool)  # True where the key is not later than the query
    # right
    scores = where(past, scores, -np.inf)
    # fault
    # scores = where(past, scores, 0)
    # end
    return softmax(scores) @ value


def look():
    x = Tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)
    y = causal_attention(x, x, x)
    print("attention weights:")
    print(find(y, "softmax").data.round(3))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Look at the upper right of the weights: what should stand there?",
    "Softmax makes e^score of each score. What is e^0?",
    "Which score does softmax turn into a weight of exactly 0?",
]
ANSWER = "A hidden score has to be -inf, since e^-inf = 0; a score of 0 has the weight e^0 = 1 before it is normalized."
WRONG = [
    "scores = where(past, scores, -1.0)",
    "scores = scores * past",
    "scores = where(past, scores, np.inf)",
]
CLUE = "the future has a weight of"


def judge(theirs, rng):
    query, key, value = rng.normal(size=(3, 5, 4))
    must_agree("causal_attention", theirs.causal_attention, causal_attention, query, key, value, rng=rng)


def clue(theirs):
    x = Tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)
    future = np.triu(find(theirs.causal_attention(x, x, x), "softmax").data, 1)
    return f"the future has a weight of {future.sum():.3g}" if future.any() else "the future is hidden"
