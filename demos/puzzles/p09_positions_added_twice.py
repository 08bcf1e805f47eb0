"""A place that counts twice.

Symptom: The model learns, but worse than it should, and the position table's gradient is twice what a colleague gets.
Difficulty: easy
Minutes: 5
Tool: explain (what each consumer contributed to a gradient)
"""

import numpy as np

from minigrad import Tensor, embedding, explain


def embed(tokens, token_table, position_table):
    """The embedding of each token plus that of its place, (T, d)."""
    x = embedding(token_table, tokens)
    places = embedding(position_table, np.arange(len(tokens)))
    places.name = "places"
    x = x + places
    # right
    return x
    # fault
    # return x + places
    # end


def look():
    token_table = Tensor(np.ones((10, 4)), requires_grad=True, name="token_table")
    position_table = Tensor(np.ones((6, 4)), requires_grad=True, name="position_table")
    y = embed(np.array([3, 1, 4]), token_table, position_table)
    loss = y.sum()
    loss.backward()
    print("token_table.grad[1]:   ", token_table.grad[1])
    print("position_table.grad[1]:", position_table.grad[1])


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree
from minigrad import find

HINTS = [
    "The gradient of a sum is 1 for each of its terms. How often is a place a term?",
    "`explain(find(loss, 'places'))` lists who contributed to its gradient.",
    "Two additions read `places`.",
]
ANSWER = "The positions were added a second time: two consumers, two contributions to the gradient."
WRONG = ["return x - places", "return x / 2", "return x + places * 0.5"]
CLUE = "the sum of 2 contributions"


def judge(theirs, rng):
    tokens = rng.integers(7, size=6)
    tables = rng.normal(size=(7, 3)), rng.normal(size=(8, 3))
    must_agree("embed", with_tokens(theirs.embed, tokens), with_tokens(embed, tokens), *tables, rng=rng)


def with_tokens(function, tokens):
    return lambda token_table, position_table: function(tokens, token_table, position_table)


def clue(theirs):
    tables = [Tensor(np.ones((6, 2)), requires_grad=True) for _ in range(2)]
    loss = theirs.embed(np.array([3, 1, 4]), *tables).sum()
    loss.backward()
    return str(explain(find(loss, "places")))
