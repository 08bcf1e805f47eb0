"""Half of a gradient.

Symptom: y = x sin(x), as one op with a rule of its own. The model learns, but gradcheck would not have it.
Difficulty: easy
Minutes: 5
Tool: gradcheck (a rule against finite differences)
"""

import numpy as np

from minigrad import Op, Tensor, gradcheck


class XSinX(Op):
    """y = x sin(x): x is read twice, by the sine and by the product."""

    def forward(self, x):
        self.x = x
        return x * np.sin(x)

    def backward(self, grad_y):
        x = self.x
        # right
        grad_x = grad_y * np.sin(x) + grad_y * x * np.cos(x)
        # fault
        # grad_x = grad_y * x * np.cos(x)
        # end
        return (grad_x,)


def look():
    print(gradcheck(XSinX(), Tensor([0.5, -1.0, 2.0], name="x")))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "At which entry, and by how much, is the gradient wrong? Compare the difference with sin(x).",
    "x goes to two consumers. What does each of them deliver?",
    "The product rule has two terms.",
]
ANSWER = "Only one of the two consumers of x delivered. A gradient is the sum over all consumers: sin(x) + x cos(x)."
WRONG = ["grad_x = grad_y * np.sin(x)", "grad_x = grad_y * (np.sin(x) - x * np.cos(x))", "grad_x = grad_y * np.cos(x)"]
CLUE = "entries are wrong"


def judge(theirs, rng):
    must_agree("XSinX", theirs.XSinX(), XSinX(), rng.normal(size=(3, 4)), rng=rng)


def clue(theirs):
    try:
        return str(gradcheck(theirs.XSinX(), Tensor([0.5, -1.0, 2.0])))
    except GradcheckError as error:
        return str(error)
