"""Weights that never move.

Symptom: The gate's weights have no gradient at all, though the gate changes the result.
Difficulty: easy
Minutes: 5
Tool: why (why is this gradient None?)
"""

import numpy as np

from minigrad import Tensor, sigmoid, why


def gated(x, weight, gate_weight):
    """(x W) * sigmoid(x W_gate); x is (T, d)."""
    # right
    gate = sigmoid(x @ gate_weight)
    # fault
    # gate = sigmoid((x @ gate_weight).detach())
    # end
    return (x @ weight) * gate


def look():
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(4, 3)), name="x")
    weight, gate_weight = (
        Tensor(rng.normal(size=(3, 3)), requires_grad=True, name=name) for name in ("weight", "gate_weight")
    )
    loss = gated(x, weight, gate_weight).sum()
    loss.backward()
    print(why(weight, loss))
    print(why(gate_weight, loss))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "What does `why` say about gate_weight, and which line does it name?",
    "Behind a detach() nothing flows back.",
    "The gate needs its gradient as much as the value does.",
]
ANSWER = "The gate's input was detached, so its weights, and x through them, got nothing."
WRONG = [
    "gate = sigmoid(x.detach() @ gate_weight)",
    "gate = sigmoid(x @ gate_weight).detach()",
    "gate = x @ gate_weight",
]
CLUE = "detached"


def judge(theirs, rng):
    x, weight, gate_weight = rng.normal(size=(3, 4, 4))
    must_agree("gated", theirs.gated, gated, x, weight, gate_weight, rng=rng)


def clue(theirs):
    x, weight, gate_weight = (Tensor(np.ones((2, 2)), requires_grad=True, name=n) for n in ("x", "w", "gate_weight"))
    loss = theirs.gated(x, weight, gate_weight).sum()
    loss.backward()
    return str(why(gate_weight, loss))
