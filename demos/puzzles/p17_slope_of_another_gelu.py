"""Two forms of one function.

Symptom: gelu exists in two forms that differ by less than 0.001. This op trains well, and fails a strict check of its
    gradient.
Difficulty: medium
Minutes: 10
Tool: gradcheck (a rule against finite differences)
"""

import numpy as np

from minigrad import Op, Tensor, gradcheck

SCALE = (2 / np.pi) ** 0.5


class Gelu(Op):
    """y = x (1 + tanh u) / 2  with  u = sqrt(2/pi) (x + 0.044715 x^3), the form of GPT-2."""

    def forward(self, x):
        self.x = x
        self.t = np.tanh(SCALE * (x + 0.044715 * x**3))
        return x * (1 + self.t) / 2

    def backward(self, grad_y):
        x, t = self.x, self.t
        # right
        slope = (1 + t) / 2 + x * (1 - t * t) / 2 * SCALE * (1 + 0.134145 * x * x)
        # fault
        # slope = (1 + t) / 2 + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        # end
        grad_x = grad_y * slope
        return (grad_x,)


def look():
    print(gradcheck(Gelu(), Tensor([-3.0, -1.0, 0.5, 2.0])))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "The gradient is nearly right everywhere. Of which function is it exactly the slope?",
    "x times the normal density is part of the slope of the form with erf.",
    "Differentiate x (1 + tanh u) / 2 by the product rule; d tanh u / du = 1 - tanh^2 u.",
]
ANSWER = "The forward was the tanh form and the slope that of the erf form. A rule belongs to its own forward."
WRONG = [
    "slope = (1 + t) / 2",
    "slope = (1 + t) / 2 + x * (1 - t * t) / 2 * SCALE",
    "slope = (1 + t) / 2 + x * (1 - t * t) / 2 * (1 + 0.134145 * x * x)",
]
CLUE = "entries are wrong"


def judge(theirs, rng):
    must_agree("Gelu", theirs.Gelu(), Gelu(), 2 * rng.normal(size=(4, 5)), rng=rng)


def clue(theirs):
    try:
        return str(gradcheck(theirs.Gelu(), Tensor([-3.0, -1.0, 0.5, 2.0])))
    except GradcheckError as error:
        return str(error)
