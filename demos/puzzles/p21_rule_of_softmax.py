"""Write the rule: softmax.

Symptom: The backward of this op is empty.
Difficulty: hard
Minutes: 20
Tool: gradcheck (your rule against finite differences)
"""

import numpy as np

from minigrad import Op, gradcheck


class Softmax(Op):
    """y = e^x / sum e^x along the last axis."""

    def forward(self, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        self.y = e / e.sum(axis=-1, keepdims=True)
        return self.y

    def backward(self, grad_y):
        """dL/dx from dL/dy, in a tuple of one."""
        # right
        grad_x = self.y * (grad_y - (grad_y * self.y).sum(axis=-1, keepdims=True))
        return (grad_x,)
        # fault
        # raise NotImplementedError("dL/dx = ...")
        # end


def look():
    rng = np.random.default_rng(0)
    print(gradcheck(Softmax(), rng.normal(size=(2, 3))))


if __name__ == "__main__":
    look()

# Teacher

import minigrad
from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "dy_i / dx_j = y_i (1 - y_i) for i = j, and -y_i y_j otherwise.",
    "Write it as y_i (delta_ij - y_j) and sum over i with dL/dy_i.",
    "What is left is y * (dL/dy - one number for each row).",
]
ANSWER = "dL/dx = y * (dL/dy - sum(dL/dy * y))."
WRONG = [
    "return (grad_y * self.y * (1 - self.y),)",
    "return (self.y * (grad_y - (grad_y * self.y).sum()),)",
    "return (self.y * (grad_y - grad_y.mean(axis=-1, keepdims=True)),)",
]
CLUE = "NotImplementedError"


def judge(theirs, rng):
    must_agree("Softmax", theirs.Softmax(), minigrad.softmax, rng.normal(size=(3, 4)), rng=rng)


def clue(theirs):
    rng = np.random.default_rng(0)
    try:
        return str(gradcheck(theirs.Softmax(), rng.normal(size=(2, 3))))
    except (GradcheckError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
