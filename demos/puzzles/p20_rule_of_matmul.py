"""Write the rule: the matrix product.

Symptom: The backward of this op is empty.
Difficulty: medium
Minutes: 15
Tool: gradcheck (your rule against finite differences)
"""

import numpy as np

from minigrad import Op, gradcheck


class Matmul(Op):
    """Z = X Y for matrices X (n, k) and Y (k, m)."""

    def forward(self, x, y):
        self.x, self.y = x, y
        return x @ y

    def backward(self, grad_z):
        """dL/dX and dL/dY from dL/dZ, each in the shape of its input."""
        # right
        grad_x = grad_z @ self.y.T
        grad_y = self.x.T @ grad_z
        return grad_x, grad_y
        # fault
        # raise NotImplementedError("dL/dX = ..., dL/dY = ...")
        # end


def look():
    rng = np.random.default_rng(0)
    print(gradcheck(Matmul(), rng.normal(size=(2, 3)), rng.normal(size=(3, 4))))


if __name__ == "__main__":
    look()

# Teacher

import minigrad
from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "Look at shapes first: which product of dL/dZ (n, m) with Y (k, m) or its transpose is (n, k)?",
    "Z_ij = sum_k X_ik Y_kj, so dZ_ij / dX_ik = Y_kj.",
    "dL/dX = dL/dZ Y^T. The other one has the transpose on its left.",
]
ANSWER = "dL/dX = dL/dZ Y^T and dL/dY = X^T dL/dZ."
WRONG = [
    "return grad_z @ self.y.T, grad_z.T @ self.x",
    "return grad_z @ self.y.T, self.x.T @ np.ones_like(grad_z)",
    "return grad_z @ self.y.T, 2 * self.x.T @ grad_z",
]
CLUE = "NotImplementedError"


def judge(theirs, rng):
    x, y = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    must_agree("Matmul", theirs.Matmul(), minigrad.matmul, x, y, rng=rng)


def clue(theirs):
    rng = np.random.default_rng(0)
    try:
        return str(gradcheck(theirs.Matmul(), rng.normal(size=(2, 3)), rng.normal(size=(3, 4))))
    except (GradcheckError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
