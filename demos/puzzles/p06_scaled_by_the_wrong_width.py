"""Attention that never makes up its mind.

Symptom: With one head all is well. With eight heads the attention weights stay near 1/T, and learn slowly.
Difficulty: medium
Minutes: 10
Tool: find (a tensor of the graph by name: its deviation, and the constants of its op)
"""

import numpy as np

from minigrad import Tensor, find, softmax


def attention(query, key, value, n_heads):
    """Attention in n_heads heads, merged again; all are (T, d_model)."""
    T, d_model = query.shape
    d = d_model // n_heads
    query, key, value = (x.reshape(T, n_heads, d).swapaxes(0, 1) for x in (query, key, value))  # (H, T, d)
    # right
    scores = query @ key.swapaxes(-1, -2) / d**0.5
    # fault
    # scores = query @ key.swapaxes(-1, -2) / d_model**0.5
    # end
    heads = softmax(scores) @ value  # (H, T, d)
    return heads.swapaxes(0, 1).reshape(T, d_model)


def look():
    rng = np.random.default_rng(0)
    for n_heads in (1, 2, 8):
        query, key, value = (Tensor(rng.normal(size=(50, 16)), requires_grad=True) for _ in range(3))
        y = attention(query, key, value, n_heads)
        print(f"{n_heads} heads: deviation of the scores", find(y, "divide").data.std().round(2))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Query and key are normal numbers. Which deviation should their scaled product have, whatever the number of heads?",
    "A score is a sum of as many products as a head is wide.",
    "`find(y, 'divide').op.inputs[1].data` is the square of nothing you want: what is its square?",
]
ANSWER = "A score sums d products, d being the width of a head; so it is divided by sqrt(d), not by sqrt(d_model)."
WRONG = [
    "scores = query @ key.swapaxes(-1, -2) / d",
    "scores = query @ key.swapaxes(-1, -2) / n_heads**0.5",
    "scores = query @ key.swapaxes(-1, -2)",
]
CLUE = "divided by sqrt(16)"


def judge(theirs, rng):
    query, key, value = rng.normal(size=(3, 5, 8))
    for n_heads in (1, 4):
        must_agree(
            f"attention with {n_heads} heads",
            lambda q, k, v, n=n_heads: theirs.attention(q, k, v, n),
            lambda q, k, v, n=n_heads: attention(q, k, v, n),
            query,
            key,
            value,
            rng=rng,
        )


def clue(theirs):
    x = Tensor(np.random.default_rng(0).normal(size=(5, 16)), requires_grad=True)
    divisor = find(theirs.attention(x, x, x, 8), "divide").op.inputs[1].data
    return f"divided by sqrt({divisor.item() ** 2:.0f})"
