"""Write the rule: relu.

Symptom: The backward of this op is empty.
Difficulty: easy
Minutes: 5
Tool: gradcheck (your rule against finite differences)
"""

import numpy as np

from minigrad import Op, gradcheck


class Relu(Op):
    """y = max(x, 0)."""

    def forward(self, x):
        self.x = x
        return np.maximum(x, 0)

    def backward(self, grad_y):
        """dL/dx from dL/dy, in a tuple of one; the slope at 0 is 0."""
        # right
        grad_x = grad_y * (self.x > 0)
        return (grad_x,)
        # fault
        # raise NotImplementedError("dL/dx = ...")
        # end


def look():
    rng = np.random.default_rng(0)
    print(gradcheck(Relu(), rng.normal(size=(2, 3))))


if __name__ == "__main__":
    look()

# Teacher

import minigrad
from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "What is the slope of max(x, 0) left and right of 0?",
    "The gradient passes where x > 0, and nowhere else.",
    "A boolean array times dL/dy is what you need.",
]
ANSWER = "dL/dx = dL/dy where x > 0, else 0."
WRONG = [
    "return (np.maximum(grad_y, 0),)",
    "return (grad_y * self.x,)",
    "return (grad_y * (self.x >= 0),)",
]
CLUE = "NotImplementedError"


def judge(theirs, rng):
    x = rng.normal(size=(3, 4))
    x[0, 0] = 0
    must_agree("Relu", theirs.Relu(), minigrad.relu, x, rng=rng)


def clue(theirs):
    rng = np.random.default_rng(0)
    try:
        return str(gradcheck(theirs.Relu(), rng.normal(size=(2, 3))))
    except (GradcheckError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
