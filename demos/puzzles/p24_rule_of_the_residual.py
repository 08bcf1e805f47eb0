"""Write the rule: the residual addition.

Symptom: The backward of this op is empty.
Difficulty: easy
Minutes: 5
Tool: gradcheck (your rule against finite differences)
"""

import numpy as np

from minigrad import Op, gradcheck


class ResidualAdd(Op):
    """y = skip + branch."""

    def forward(self, skip, branch):
        return skip + branch

    def backward(self, grad_y):
        """dL/dskip and dL/dbranch from dL/dy."""
        # right
        grad_skip = grad_branch = grad_y
        return grad_skip, grad_branch
        # fault
        # raise NotImplementedError("dL/dskip = ..., dL/dbranch = ...")
        # end


def look():
    rng = np.random.default_rng(0)
    print(gradcheck(ResidualAdd(), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))))


if __name__ == "__main__":
    look()

# Teacher

import minigrad
from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "By how much does y grow when the skip grows by 1? And when the branch does?",
    "Nothing on the way makes the gradient smaller: that is what a residual is for.",
    "Both inputs get dL/dy as it is.",
]
ANSWER = "dL/dskip = dL/dbranch = dL/dy: the gradient goes over the skip unchanged."
WRONG = [
    "return grad_y / 2, grad_y / 2",
    "return grad_y, None",
    "return np.zeros_like(grad_y), grad_y",
]
CLUE = "NotImplementedError"


def judge(theirs, rng):
    skip, branch = rng.normal(size=(2, 3, 4))
    must_agree("ResidualAdd", theirs.ResidualAdd(), minigrad.residual_add, skip, branch, rng=rng)


def clue(theirs):
    rng = np.random.default_rng(0)
    try:
        return str(gradcheck(theirs.ResidualAdd(), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))))
    except (GradcheckError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
