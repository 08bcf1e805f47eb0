"""The first position is never learned.

Symptom: Sequences of the full length fail with an IndexError, shorter ones work; one row of the position table stays
    as it was initialised.
Difficulty: easy
Minutes: 5
Tool: why (why is this gradient zero, or partly zero?)
"""

import numpy as np

from minigrad import Tensor, embedding, why


def embed(tokens, token_table, position_table):
    """The embedding of each token plus that of its place, (T, d): the first token stands at place 0."""
    T = len(tokens)
    # right
    places = np.arange(T)
    # fault
    # places = np.arange(1, T + 1)
    # end
    return embedding(token_table, tokens) + embedding(position_table, places)


def look():
    token_table = Tensor(np.ones((10, 4)), requires_grad=True, name="token_table")
    position_table = Tensor(np.ones((6, 4)), requires_grad=True, name="position_table")
    loss = embed(np.array([3, 1, 4, 1, 5]), token_table, position_table).sum()
    loss.backward()
    print("gradient of each place:", position_table.grad.any(axis=-1))
    print(why(position_table, loss))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Five tokens: which rows of the position table should get a gradient, and which do?",
    "At which place does the first token stand?",
    "np.arange(1, T + 1) begins with 1.",
]
ANSWER = "Places were counted from 1, so row 0 was never read and never learned, and row T is outside of the table."
WRONG = ["places = np.arange(T)[::-1]", "places = np.arange(T) % max(T - 1, 1)", "places = np.zeros(T, int)"]
CLUE = "place 0 gets no gradient"


def judge(theirs, rng):
    tokens = rng.integers(7, size=6)
    tables = rng.normal(size=(7, 3)), rng.normal(size=(8, 3))
    must_agree("embed", with_tokens(theirs.embed, tokens), with_tokens(embed, tokens), *tables, rng=rng)


def with_tokens(function, tokens):
    return lambda token_table, position_table: function(tokens, token_table, position_table)


def clue(theirs):
    tables = [Tensor(np.ones((6, 2)), requires_grad=True, name=name) for name in ("token_table", "position_table")]
    loss = theirs.embed(np.array([3, 1, 4]), *tables).sum()
    loss.backward()
    first = "gets no gradient" if not tables[1].grad[0].any() else "gets its gradient"
    return f"place 0 {first}\n{why(tables[1], loss)}"
