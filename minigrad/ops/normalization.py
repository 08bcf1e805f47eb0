"""Normalization of the last axis, as a Transformer does it to each token."""

import numpy as np

from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class LayerNorm(Op):
    """y = gain * n + bias  with  n = (x - mean) / s,  s = sqrt(var + eps), over the last axis of length d.

    With g = dL/dy * gain:   dL/dx = (g - mean(g) - n * mean(g * n)) / s,
    dL/dgain = dL/dy * n  and  dL/dbias = dL/dy,  both summed over all tokens.   (Ba, Kiros, Hinton 2016, eq. 3)
    """

    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, gain, bias):
        n = x - x.mean(axis=-1, keepdims=True)
        self.s = np.sqrt(mean_of_product(n, n) + self.eps)
        n /= self.s
        self.n, self.gain = n, gain
        return n * gain + bias

    def backward(self, grad_y):
        g = grad_y * self.gain
        grad_x = (g - g.mean(axis=-1, keepdims=True) - self.n * mean_of_product(g, self.n)) / self.s
        grad_gain, grad_bias = grad_y * self.n, grad_y
        return grad_x, grad_gain, grad_bias


def layer_norm(x: TensorLike, gain: TensorLike = 1.0, bias: TensorLike = 0.0, eps: float = 1e-5) -> Tensor:
    """Each token with mean 0 and variance 1, then scaled by `gain` and shifted by `bias`.

    The variance is the biased one (divided by d), and eps stands inside the root, so that a constant row
    gives zeros and a finite gradient.

    Args:
        x: (..., d)
        gain, bias: (d,), or numbers.

    >>> layer_norm(Tensor([[1.0, 2.0, 3.0]])).data.round(4)
    array([[-1.2247,  0.    ,  1.2247]])
    """
    return LayerNorm(eps)(x, gain, bias)


class RmsNorm(Op):
    """y = gain * n  with  n = x / s,  s = sqrt(mean(x^2) + eps), over the last axis of length d.

    With g = dL/dy * gain:   dL/dx = (g - n * mean(g * n)) / s,
    dL/dgain = dL/dy * n, summed over all tokens.   (Zhang and Sennrich 2019, eq. 4)
    """

    def __init__(self, eps=1e-5):
        self.eps = eps

    def forward(self, x, gain):
        self.gain = gain
        self.s = np.sqrt(mean_of_product(x, x) + self.eps)
        self.n = x / self.s
        return self.n * gain

    def backward(self, grad_y):
        g = grad_y * self.gain
        grad_x = (g - self.n * mean_of_product(g, self.n)) / self.s
        grad_gain = grad_y * self.n
        return grad_x, grad_gain


def rms_norm(x: TensorLike, gain: TensorLike = 1.0, eps: float = 1e-5) -> Tensor:
    """Each token divided by its root mean square, then scaled by `gain`; the mean is not subtracted.

    Args:
        x: (..., d)
        gain: (d,), or a number.

    >>> rms_norm(Tensor([[3.0, 4.0]])).data.round(4)
    array([[0.8485, 1.1314]])
    """
    return RmsNorm(eps)(x, gain)


def mean_of_product(a, b):
    """mean(a b) over the last axis, which keeps length 1."""
    return np.vecdot(a, b)[..., None] / a.shape[-1]
