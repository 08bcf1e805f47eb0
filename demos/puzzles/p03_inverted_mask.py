"""Tokens that see only the future.

Symptom: A causal language model guesses its training text perfectly and writes nonsense.
Difficulty: easy
Minutes: 5
Tool: backward(grad) from one token of the result, and x.grad: from which tokens it was made
"""

import numpy as np

from minigrad import Tensor, softmax, where


def causal_attention(query, key, value):
    """Each token attends to itself and to those before it; all are (T, d)."""
    T, d = query.shape
    scores = query @ key.T / d**0.5  # (T, T), query by key
    past = np.tri(T, dtype=bool)  # True where the key is not later than the query
    # right
    scores = where(past, scores, -np.inf)
    # fault
    # scores = where(past, -np.inf, scores)
    # end
    return softmax(scores) @ value


def look():
    x = Tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)
    for token in range(4):
        x.zero_grad()
        only_this = np.zeros((4, 3))
        only_this[token] = 1
        causal_attention(x, x, x).backward(only_this)
        print(f"token {token} is made from tokens", np.flatnonzero(x.grad.any(axis=-1)))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Run it: from which tokens should token 1 be made, and from which is it?",
    "The last token, which could see all others, sees none. What is turned round?",
    "`where(condition, a, b)` takes a where the condition holds.",
]
ANSWER = "The mask was inverted: -inf was put where a token may look, and the scores of the future were kept."
WRONG = [
    "scores = where(past.T, scores, -np.inf)",
    "scores = where(~past, scores, -np.inf)",
    "scores = where(np.tri(T, k=-1, dtype=bool), scores, -np.inf)",
]
CLUE = "token 1 is made from [1, 2, 3]"


def judge(theirs, rng):
    query, key, value = rng.normal(size=(3, 5, 4))
    must_agree("causal_attention", theirs.causal_attention, causal_attention, query, key, value, rng=rng)


def clue(theirs):
    x = Tensor(np.random.default_rng(0).normal(size=(4, 3)), requires_grad=True)
    only_this = np.zeros((4, 3))
    only_this[1] = 1
    theirs.causal_attention(x, x, x).backward(only_this)
    return f"token 1 is made from {np.flatnonzero(x.grad.any(axis=-1)).tolist()}"
