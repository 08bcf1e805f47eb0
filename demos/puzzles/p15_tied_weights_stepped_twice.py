"""A table that learns at double speed.

Symptom: Input and output share one table of embeddings. It moves twice as far as the learning rate says; all other
    parameters move as they should.
Difficulty: medium
Minutes: 5
Tool: print (the change of a parameter, divided by its gradient)
"""

import numpy as np

from minigrad import Parameter


def sgd_step(parameters, lr):
    """p = p - lr * dL/dp for each parameter; `parameters` lists them layer by layer."""
    # right
    for p in dict.fromkeys(parameters):
        # fault
        # for p in parameters:
        # end
        if p.grad is not None:
            p.data = p.data - lr * p.grad


def look():
    table, weight = Parameter(np.ones((2, 2)), name="table"), Parameter(np.ones((2, 2)), name="weight")
    x = table @ weight @ table.T
    x.sum().backward()
    before = {p: p.data for p in (table, weight)}
    sgd_step([table, weight, table], lr=0.1)
    for p, old in before.items():
        print(f"{p.name} moved by", ((p.data - old) / p.grad).round(6)[0, 0], "times its gradient")


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_equal

HINTS = [
    "Which parameter stands in two places, and how often is it in the list?",
    "A parameter is one array with one gradient, however many layers use it.",
    "dict.fromkeys(parameters) keeps the order, and each once.",
]
ANSWER = "The shared table was in the list twice, so it was stepped twice with its whole gradient."
WRONG = [
    "for p in parameters[:-1]:",
    "for p in parameters[::2]:",
    "for p in parameters[1:]:",
]
CLUE = "table moved by -0.2"


def judge(theirs, rng):
    a, b, c = (Parameter(rng.normal(size=3)) for _ in range(3))
    (a * b + a * c).sum().backward()
    wanted = [p.data - 0.1 * p.grad for p in (a, b, c)]
    theirs.sgd_step([a, b, a, c, c], lr=0.1)
    for name, p, right in zip("abc", (a, b, c), wanted, strict=True):
        must_equal(f"parameter {name} after the step", p.data, right)


def clue(theirs):
    table = Parameter(np.ones(2))
    (table * table).sum().backward()
    theirs.sgd_step([table, table], lr=0.1)
    return f"table moved by {((table.data - 1) / table.grad)[0]:.1f}"
