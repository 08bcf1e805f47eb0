"""Activation functions, element by element."""

import numpy as np

from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Relu(Op):
    """y = max(x, 0);   dL/dx = dL/dy where x > 0, else 0 (so 0 at the kink)."""

    def forward(self, x):
        self.y = np.maximum(x, 0)
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y * (self.y > 0)
        return (grad_x,)


def relu(x: TensorLike) -> Tensor:
    """max(x, 0), the rectifier. Its slope at 0 is 0.

    >>> relu(Tensor([-1.0, 2.0])).data
    array([0., 2.])
    """
    return Relu()(x)


class Sigmoid(Op):
    """y = 1 / (1 + e^-x);   dL/dx = dL/dy * y (1 - y)."""

    def forward(self, x):
        self.y = logistic(x)
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y * self.y * (1 - self.y)
        return (grad_x,)


def sigmoid(x: TensorLike) -> Tensor:
    """The logistic function 1 / (1 + e^-x).

    >>> sigmoid(Tensor([-1000.0, 0.0, 1000.0])).data
    array([0. , 0.5, 1. ])
    """
    return Sigmoid()(x)


class Tanh(Op):
    """y = tanh x;   dL/dx = dL/dy * (1 - y^2)."""

    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y * (1 - self.y * self.y)
        return (grad_x,)


def tanh(x: TensorLike) -> Tensor:
    """Hyperbolic tangent.

    >>> tanh(Tensor([-1000.0, 0.0, 1000.0])).data
    array([-1.,  0.,  1.])
    """
    return Tanh()(x)


GELU_SCALE = (2 / np.pi) ** 0.5  # a Python number, so that float32 stays float32


class Gelu(Op):
    """y = x (1 + tanh u) / 2  with  u = sqrt(2/pi) (x + 0.044715 x^3).

    dL/dx = dL/dy * ((1 + tanh u) / 2 + x (1 - tanh^2 u) / 2 * du/dx),   du/dx = sqrt(2/pi) (1 + 0.134145 x^2).
    Beyond |x| = 10 tanh u is -1 or 1 to the last digit; u is computed from x held to that, so that x^3 cannot overflow.
    """

    def forward(self, x):
        self.held_x = np.clip(x, -10, 10)
        self.tanh_u = np.tanh(GELU_SCALE * (self.held_x + 0.044715 * self.held_x * self.held_x * self.held_x))
        return x * ((1 + self.tanh_u) / 2)

    def backward(self, grad_y):
        x, t = self.held_x, self.tanh_u
        du_dx = GELU_SCALE * (1 + 0.134145 * x * x)
        grad_x = grad_y * ((1 + t) / 2 + x * (1 - t * t) / 2 * du_dx)
        return (grad_x,)


def gelu(x: TensorLike) -> Tensor:
    """Gaussian error linear unit in its tanh form, as GPT-2 uses it (Hendrycks and Gimpel 2016, section 2).

    >>> gelu(Tensor([-1.0, 0.0, 1.0])).data.round(4)
    array([-0.1588,  0.    ,  0.8412])
    """
    return Gelu()(x)


class Silu(Op):
    """y = x s  with  s = 1 / (1 + e^-x);   dL/dx = dL/dy * s (1 + x (1 - s))."""

    def forward(self, x):
        self.x = x
        self.s = logistic(x)
        return x * self.s

    def backward(self, grad_y):
        grad_x = grad_y * self.s * (1 + self.x * (1 - self.s))
        return (grad_x,)


def silu(x: TensorLike) -> Tensor:
    """x times the logistic function of x, also called swish (Hendrycks and Gimpel 2016).

    >>> silu(Tensor([-1.0, 0.0, 1.0])).data.round(4)
    array([-0.2689,  0.    ,  0.7311])
    """
    return Silu()(x)


def logistic(x):
    """1 / (1 + e^-x), through e^-|x|, which cannot overflow; that it underflows to 0 is right."""
    with np.errstate(under="ignore"):
        e = np.exp(-np.abs(x))
        return np.where(x >= 0, 1, e) / (1 + e)
