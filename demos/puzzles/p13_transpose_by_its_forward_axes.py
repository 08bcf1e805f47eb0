"""A transpose that turns on.

Symptom: An op that moves axes; with two axes its gradients are right. With three the shapes do not fit, and if all
    three lengths are equal, nothing complains and the gradient is wrong.
Difficulty: medium
Minutes: 10
Tool: gradcheck (a rule against finite differences)
"""

import numpy as np

from minigrad import Op, Tensor, gradcheck


class MoveAxes(Op):
    """y = x with its axes in the order `axes`;   dL/dx = dL/dy with its axes moved back."""

    def __init__(self, axes):
        self.axes = axes

    def forward(self, x):
        return x.transpose(self.axes)

    def backward(self, grad_y):
        # right
        grad_x = grad_y.transpose(np.argsort(self.axes))
        # fault
        # grad_x = grad_y.transpose(self.axes)
        # end
        return (grad_x,)


def look():
    x = Tensor(np.random.default_rng(0).normal(size=(2, 2, 2)))
    for axes in ((1, 0, 2), (1, 2, 0)):
        print(axes, gradcheck(lambda x, axes=axes: MoveAxes(axes)(x), x))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "Which order of axes passes, and which fails? Do each of them twice in a row: where does x end up?",
    "Exchanging two axes undoes itself. Passing three round does not.",
    "np.argsort(axes) is the order that undoes `axes`.",
]
ANSWER = "The gradient was moved by the forward order again, where it has to be moved by the inverse order."
WRONG = ["grad_x = grad_y.transpose(self.axes[::-1])", "grad_x = grad_y.T", "grad_x = grad_y"]
CLUE = "entries are wrong"


def judge(theirs, rng):
    x = rng.normal(size=(3, 3, 3))
    for axes in ((1, 2, 0), (2, 0, 1), (0, 2, 1)):
        must_agree(f"MoveAxes({axes})", theirs.MoveAxes(axes), MoveAxes(axes), x, rng=rng)


def clue(theirs):
    def turned(x):
        return theirs.MoveAxes((1, 2, 0))(x)

    try:
        return str(gradcheck(turned, Tensor(np.arange(8.0).reshape(2, 2, 2))))
    except GradcheckError as error:
        return str(error)
