"""A norm with a gradient that drifts.

Symptom: The forward of this layer norm is right. Adding one number to a whole token changes nothing in y, so the
    gradient of a token must sum to 0; here it does not.
Difficulty: hard
Minutes: 15
Tool: gradcheck (a rule against finite differences)
"""

import numpy as np

from minigrad import Op, Tensor, gradcheck


class Norm(Op):
    """n = (x - mean) / s  with  s = sqrt(var + eps), over the last axis."""

    def forward(self, x, eps=1e-5):
        centered = x - x.mean(axis=-1, keepdims=True)
        self.s = np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + eps)
        self.n = centered / self.s
        return self.n

    def backward(self, grad_n):
        g, n = grad_n, self.n
        along_n = n * (g * n).mean(axis=-1, keepdims=True)
        # right
        grad_x = (g - g.mean(axis=-1, keepdims=True) - along_n) / self.s
        # fault
        # grad_x = (g - along_n) / self.s
        # end
        return (grad_x,)


def look():
    x = Tensor(np.random.default_rng(0).normal(size=(2, 4)), requires_grad=True)
    Norm()(x).backward(np.random.default_rng(1).normal(size=(2, 4)))
    print("sum of each token's gradient:", x.grad.sum(axis=-1).round(3))
    print(gradcheck(Norm(), x))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "x reaches n on three ways: directly, through the mean, and through s. Which of them has no term in grad_x?",
    "dn_i / dmean is -1/s for every i, and dmean/dx_j is 1/d.",
    "What has to be subtracted from g so that the result sums to 0?",
]
ANSWER = "The mean was taken for a constant. Through it every x_j gets -mean(g) / s."
WRONG = [
    "grad_x = (g - g.mean(axis=-1, keepdims=True)) / self.s",
    "grad_x = (g - g.mean() - along_n) / self.s",
    "grad_x = g / self.s",
]
CLUE = "entries are wrong"


def judge(theirs, rng):
    must_agree("Norm", theirs.Norm(), Norm(), rng.normal(size=(3, 5)), rng=rng)


def clue(theirs):
    try:
        return str(gradcheck(theirs.Norm(), Tensor([[0.5, -1.0, 2.0, 0.1]])))
    except GradcheckError as error:
        return str(error)
