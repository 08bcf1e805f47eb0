"""Dropout: random zeros during training (Srivastava et al. 2014)."""

import numpy as np

from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import Rng


class Dropout(Op):
    """y = x * keep / (1 - p);   dL/dx = dL/dy * keep / (1 - p), with keep = 0 at random with probability p, else 1."""

    def __init__(self, p, rng):
        self.p, self.rng = p, rng

    def forward(self, x):
        kept = self.rng.random(x.shape) >= self.p
        self.scale = np.where(kept, 1 / (1 - self.p), 0) if self.p < 1 else np.zeros(x.shape)
        self.scale = self.scale.astype(np.result_type(x, 0.0))
        return x * self.scale

    def backward(self, grad_y):
        grad_x = grad_y * self.scale
        return (grad_x,)


def dropout(x: Tensor, p: float = 0.5, training: bool = True, rng: Rng = None) -> Tensor:
    """Zero elements with probability p and scale the others by 1 / (1 - p), so that the mean stays.

    Args:
        training: with False, or with p = 0, x comes back as it is.
        rng: a NumPy Generator, or a seed, for reproducible numbers.

    Raises:
        ValueError: p outside of 0 .. 1.

    >>> dropout(Tensor([1.0, 1.0, 1.0, 1.0]), 0.5, rng=0).data
    array([2., 0., 0., 0.])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p is a probability, from 0 to 1; got {p}")
    if not training or p == 0:
        return x
    return Dropout(p, np.random.default_rng(rng))(x)
