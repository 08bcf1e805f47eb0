"""Elementary functions of one array, element by element."""

import numpy as np

from minigrad.arrays import TensorLike
from minigrad.op import Op
from minigrad.tensor import Tensor


class Exp(Op):
    """y = e^x;   dL/dx = dL/dy * y."""

    elementwise = True

    def forward(self, x):
        self.y = np.exp(x)
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y * self.y
        return (grad_x,)


class Log(Op):
    """y = ln x;   dL/dx = dL/dy / x."""

    elementwise = True

    def forward(self, x):
        self.x = x
        return np.log(x)

    def backward(self, grad_y):
        grad_x = grad_y / self.x
        return (grad_x,)


class Sqrt(Op):
    """y = x^(1/2);   dL/dx = dL/dy / (2 y), which is inf at x = 0."""

    elementwise = True

    def forward(self, x):
        self.y = np.sqrt(x)
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y / (2 * self.y)
        return (grad_x,)


class Abs(Op):
    """y = |x|;   dL/dx = dL/dy * sign(x), with slope 0 at x = 0."""

    elementwise = True

    def forward(self, x):
        self.x = x
        return np.abs(x)

    def backward(self, grad_y):
        grad_x = grad_y * np.sign(self.x)
        return (grad_x,)


def exp(x: TensorLike) -> Tensor:
    """e to the power x.

    >>> exp(Tensor([0.0, 1.0])).data
    array([1.        , 2.71828183])
    """
    return Exp()(x)


def log(x: TensorLike) -> Tensor:
    """Natural logarithm; -inf at 0 and NaN below, as in NumPy.

    >>> log(Tensor([1.0, 10.0])).data
    array([0.        , 2.30258509])
    """
    return Log()(x)


def sqrt(x: TensorLike) -> Tensor:
    """Square root; NaN below 0, as in NumPy.

    >>> sqrt(Tensor([4.0, 9.0])).data
    array([2., 3.])
    """
    return Sqrt()(x)


def abs(x: TensorLike) -> Tensor:
    """Absolute value; also ``abs(x)``. Its slope at 0 is 0.

    >>> abs(Tensor([-1.0, 2.0])).data
    array([1., 2.])
    """
    return Abs()(x)
