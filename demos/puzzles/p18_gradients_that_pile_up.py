"""Steps that grow and grow.

Symptom: The first step is right, then each goes further than it should, and the loss explodes at a learning rate that
    others use without trouble.
Difficulty: easy
Minutes: 5
Tool: print (p.grad over the steps)
"""

import numpy as np

from minigrad import Parameter, Tensor, mse_loss


def train(p, x, target, lr, steps):
    """Gradient descent on mean (x p - target)^2; returns the loss before each step."""
    losses = []
    for _ in range(steps):
        loss = mse_loss(Tensor(x) * p, target)
        # right
        p.zero_grad()
        loss.backward()
        # fault
        # loss.backward()
        # end
        p.data = p.data - lr * p.grad
        losses.append(loss.item())
    return losses


def look():
    p = Parameter(np.zeros(3))
    for _ in range(4):
        train(p, np.ones(3), np.ones(3), lr=0.5, steps=1)
        print("gradient:", p.grad, " p:", p.data)


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_equal

HINTS = [
    "With a slope of 2/3 (p - 1): which gradient should the second step have, and which does it have?",
    "Leaves add up what they get over all backward passes.",
    "Before each pass the gradient of the last one has to be forgotten.",
]
ANSWER = "zero_grad() was left out, so each step used the sum of all gradients so far."
WRONG = [
    "loss.backward()\np.zero_grad()\np.grad = np.zeros(p.shape)",
    "loss.backward()\nloss.backward()",
    "loss.backward()\np.grad = p.grad / 2",
]
CLUE = "the second gradient is larger"


def judge(theirs, rng):
    start, x, target = rng.normal(size=(3, 4))
    p, q = Parameter(start), Parameter(start)
    must_equal("the losses", theirs.train(p, x, target, 0.1, 5), train(q, x, target, 0.1, 5))
    must_equal("p after five steps", p.data, q.data)


def clue(theirs):
    p = Parameter(np.zeros(1))
    theirs.train(p, np.ones(1), np.ones(1), 0.1, 1)
    first = abs(p.grad[0])
    theirs.train(p, np.ones(1), np.ones(1), 0.1, 1)
    return f"the second gradient is {'larger' if abs(p.grad[0]) > first else 'smaller'}"
