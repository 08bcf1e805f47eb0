"""Choosing between values. A gradient goes to the value that was taken; ties share it equally."""

import numpy as np
from numpy.typing import ArrayLike

from minigrad.arrays import TensorLike
from minigrad.op import Op
from minigrad.tensor import Tensor


class Where(Op):
    """z = x where the condition holds, else y;   dL/dx = dL/dz there, else 0;   dL/dy the other way round.

    The side that was not taken receives exactly 0, and so does what it was made from element by element or row by
    row, even where a slope on the way is inf or NaN: `where(x > 0, sqrt(x), x)` has slope 1 at -4.
    (How: see minigrad/taking.py.)
    """

    elementwise = selects = True

    def __init__(self, condition):
        self.condition = condition

    def forward(self, x, y):
        return np.where(self.condition, x, y)

    def backward(self, grad_z):
        grad_x = np.where(self.condition, grad_z, 0)
        grad_y = np.where(self.condition, 0, grad_z)
        return grad_x, grad_y

    def taken_inputs(self, taken):
        return taken & self.condition, taken & ~self.condition


class Maximum(Op):
    """z = max(x, y);   dL/dx = dL/dz where x > y, half of it where x = y, else 0;   dL/dy likewise."""

    elementwise = True

    def forward(self, x, y):
        z = np.maximum(x, y)
        self.share_x = share(x, y, z)
        return z

    def backward(self, grad_z):
        grad_x, grad_y = grad_z * self.share_x, grad_z * (1 - self.share_x)
        return grad_x, grad_y


class Minimum(Op):
    """z = min(x, y);   dL/dx = dL/dz where x < y, half of it where x = y, else 0;   dL/dy likewise."""

    elementwise = True

    def forward(self, x, y):
        z = np.minimum(x, y)
        self.share_x = share(x, y, z)
        return z

    def backward(self, grad_z):
        grad_x, grad_y = grad_z * self.share_x, grad_z * (1 - self.share_x)
        return grad_x, grad_y


class Clip(Op):
    """y = x held between low and high;   dL/dx = dL/dy where low <= x <= high (the bounds included), else 0."""

    elementwise = True

    def __init__(self, low=None, high=None):
        self.low, self.high = low, high

    def forward(self, x):
        y = np.clip(x, self.low, self.high)
        self.inside = x == y
        return y

    def backward(self, grad_y):
        grad_x = grad_y * self.inside
        return (grad_x,)


def share(x, y, z):
    """How much of z is x's: 1 where z is x (or x is NaN, which z then is too), 1/2 where it is both, else 0."""
    return np.where(x == y, 0.5, (x == z) | np.isnan(x))


def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
    """x where the condition is True and y where it is False, with broadcasting; also ``x.where(condition, y)``.

    The side that was not taken gets gradient 0, even where its slope is inf or NaN.

    Args:
        condition: booleans. It is no input of the graph: it has no gradient.

    Raises:
        TypeError: a condition that is not boolean.

    >>> where([True, False], Tensor([1.0, 2.0]), 0).data
    array([1., 0.])
    """
    condition = np.array(condition.data if isinstance(condition, Tensor) else condition)
    if condition.dtype != bool:
        raise TypeError(f"where: the condition must be boolean, but it has dtype {condition.dtype}; say condition != 0")
    return Where(condition)(x, y)


def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """The larger of x and y, element by element, with broadcasting. At a tie each gets half of the gradient.

    >>> maximum(Tensor([1.0, 5.0]), 3).data
    array([3., 5.])
    """
    return Maximum()(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """The smaller of x and y, element by element, with broadcasting. At a tie each gets half of the gradient.

    >>> minimum(Tensor([1.0, 5.0]), 3).data
    array([1., 3.])
    """
    return Minimum()(x, y)


def clip(x: TensorLike, low: "ArrayLike | None" = None, high: "ArrayLike | None" = None) -> Tensor:
    """x held between two bounds, numbers or arrays; None leaves a side open. The slope at a bound is 1.

    >>> clip(Tensor([-1.0, 0.5, 2.0]), 0, 1).data
    array([0. , 0.5, 1. ])
    """
    return Clip(low, high)(x)


def tensor_where(x: TensorLike, condition: TensorLike, y: TensorLike) -> Tensor:
    """x where the condition is True, else y."""
    return where(condition, x, y)
