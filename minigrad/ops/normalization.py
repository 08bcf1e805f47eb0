"""Normalization of the last axis, as a Transformer does it to each token."""

import numpy as np

from minigrad import wording
from minigrad.op import Op
from minigrad.precision import mean, narrowed, widened
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class LayerNorm(Op):
    """y = gain * n + bias  with  n = (x - mean) / s,  s = sqrt(var + eps), over the last axis of length d.

    With g = dL/dy * gain:   dL/dx = (g - mean(g) - n * mean(g * n)) / s,
    dL/dgain = dL/dy * n  and  dL/dbias = dL/dy,  both summed over all tokens.   (Ba, Kiros, Hinton 2016, eq. 3)
    """

    def __init__(self, eps=1e-5):
        self.eps = float(eps)  # a NumPy float64 would make float64 of float32

    def forward(self, x, gain, bias):
        refuse_other_shapes(x, gain=gain, bias=bias)
        n = centered(centered(widened(x)))  # the second time removes the rounding of the first mean
        self.s = np.sqrt(mean_of_product(n, n) + self.eps)
        n /= self.s
        self.n, self.gain = n, gain
        return narrowed(n * gain + bias, x, gain, bias)

    def backward(self, grad_y):
        g = widened(grad_y) * self.gain
        grad_x = centered(g)
        grad_x -= self.n * mean_of_product(g, self.n)
        grad_x /= self.s
        grad_gain, grad_bias = grad_y * self.n, grad_y
        return grad_x, grad_gain, grad_bias


def layer_norm(x: TensorLike, gain: TensorLike = 1.0, bias: TensorLike = 0.0, eps: float = 1e-5) -> Tensor:
    """Each token with mean 0 and variance 1, then scaled by `gain` and shifted by `bias`.

    The variance is the biased one (divided by d), and eps stands inside the root, so that a constant row
    gives zeros and a finite gradient.

    Args:
        x: (..., d)
        gain, bias: (d,), or numbers.

    Raises:
        ValueError: a gain or bias of another shape.

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
        self.eps = float(eps)  # a NumPy float64 would make float64 of float32

    def forward(self, x, gain):
        refuse_other_shapes(x, gain=gain)
        self.gain = gain
        wide = widened(x)
        self.s = np.sqrt(mean_of_product(wide, wide) + self.eps)
        self.n = wide / self.s
        return narrowed(self.n * gain, x, gain)

    def backward(self, grad_y):
        g = widened(grad_y) * self.gain
        grad_x = (g - self.n * mean_of_product(g, self.n)) / self.s
        grad_gain = grad_y * self.n
        return grad_x, grad_gain


def rms_norm(x: TensorLike, gain: TensorLike = 1.0, eps: float = 1e-5) -> Tensor:
    """Each token divided by its root mean square, then scaled by `gain`; the mean is not subtracted.

    Args:
        x: (..., d)
        gain: (d,), or a number.

    Raises:
        ValueError: a gain of another shape.

    >>> rms_norm(Tensor([[3.0, 4.0]])).data.round(4)
    array([[0.8485, 1.1314]])
    """
    return RmsNorm(eps)(x, gain)


def refuse_other_shapes(x, **parameters):
    for name, parameter in parameters.items():
        if parameter.shape not in ((), x.shape[-1:]):
            raise wording.wrong_shape(name, parameter.shape, x.shape[-1:])


def centered(x):
    """x minus its mean over the last axis."""
    return x - mean(x, axis=-1, keepdims=True)


def mean_of_product(a, b):
    """mean(a b) over the last axis, which keeps length 1."""
    return np.vecdot(a, b)[..., None] / a.shape[-1]
