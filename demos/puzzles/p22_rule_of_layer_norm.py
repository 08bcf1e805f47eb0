"""Write the rule: layer norm.

Symptom: The backward of this op is empty.
Difficulty: hard
Minutes: 25
Tool: gradcheck (your rule against finite differences)
"""

import numpy as np

from minigrad import Op, gradcheck


class LayerNorm(Op):
    """y = gain * n + bias  with  n = (x - mean) / s,  s = sqrt(var + 1e-5), over the last axis."""

    def forward(self, x, gain, bias):
        centered = x - x.mean(axis=-1, keepdims=True)
        self.s = np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + 1e-5)
        self.n, self.gain = centered / self.s, gain
        return gain * self.n + bias

    def backward(self, grad_y):
        """dL/dx, dL/dgain, dL/dbias; the engine sums the last two over the tokens."""
        # right
        g = grad_y * self.gain
        along_n = self.n * (g * self.n).mean(axis=-1, keepdims=True)
        grad_x = (g - g.mean(axis=-1, keepdims=True) - along_n) / self.s
        return grad_x, grad_y * self.n, grad_y
        # fault
        # raise NotImplementedError("dL/dx = ..., dL/dgain = ..., dL/dbias = ...")
        # end


def look():
    rng = np.random.default_rng(0)
    print(gradcheck(LayerNorm(), rng.normal(size=(2, 4)), rng.normal(size=4), rng.normal(size=4)))


if __name__ == "__main__":
    look()

# Teacher

import minigrad
from demos.puzzles.puzzle import must_agree
from minigrad.gradcheck import GradcheckError

HINTS = [
    "Begin with gain and bias: y is linear in both.",
    "With g = dL/dy * gain, x reaches n directly, through the mean, and through s: three terms.",
    "dL/dx = (g - mean(g) - n * mean(g * n)) / s.",
]
ANSWER = "dL/dx = (g - mean(g) - n mean(g n)) / s, dL/dgain = dL/dy n, dL/dbias = dL/dy."
WRONG = [
    """
    g = grad_y
    along_n = self.n * (g * self.n).mean(axis=-1, keepdims=True)
    return (g - g.mean(axis=-1, keepdims=True) - along_n) / self.s, grad_y * self.n, grad_y
    """,
    """
    g = grad_y * self.gain
    return (g - g.mean(axis=-1, keepdims=True)) / self.s, grad_y * self.n, grad_y
    """,
    """
    g = grad_y * self.gain
    along_n = self.n * (g * self.n).mean(axis=-1, keepdims=True)
    return (g - g.mean(axis=-1, keepdims=True) - along_n) / self.s, grad_y, grad_y
    """,
]
CLUE = "NotImplementedError"


def judge(theirs, rng):
    x, gain, bias = rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=4)
    must_agree("LayerNorm", theirs.LayerNorm(), minigrad.layer_norm, x, gain, bias, rng=rng)


def clue(theirs):
    rng = np.random.default_rng(0)
    try:
        return str(gradcheck(theirs.LayerNorm(), rng.normal(size=(2, 4)), rng.normal(size=4), rng.normal(size=4)))
    except (GradcheckError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
