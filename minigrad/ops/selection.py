"""Choosing between values. The gradient goes to the value that was chosen; ties share it equally."""

import numpy as np
from numpy.typing import ArrayLike

from minigrad import wording
from minigrad.op import Op
from minigrad.protocols import as_tensors, values_of
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Where(Op):
    """z = x where the condition holds, else y;   dL/dx = dL/dz there, else 0;   dL/dy the other way round.

    The branch that was not taken receives exactly 0. Further back that 0 is multiplied like any other number, as in
    PyTorch and JAX, and 0 * inf = NaN: `where(x > 0, log(x), 0)` has slope NaN at 0, where that of log is infinite.
    Give the op a safe input: `where(x > 0, log(where(x > 0, x, 1)), 0)` has slope 0 there.
    """

    def __init__(self, condition):
        self.condition = condition

    def forward(self, x, y):
        return np.where(self.condition, x, y)

    def backward(self, grad_z):
        grad_x = np.where(self.condition, grad_z, 0)
        grad_y = np.where(self.condition, 0, grad_z)
        return grad_x, grad_y


def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
    """x where the condition is True and y where it is False, with broadcasting; also ``x.where(condition, y)``.

    The branch that was not taken receives exactly 0. If the op that made it has an infinite slope there, as log has at
    0, it turns that into 0 * inf = NaN: give that op a safe input, as in ``log(where(x > 0, x, 1))``.

    Args:
        condition: booleans. It is not an input in the graph, and has no gradient.

    Raises:
        TypeError: a condition that is not boolean.

    >>> where([True, False], Tensor([1.0, 2.0]), 0).data
    array([1., 0.])
    """
    condition = np.array(values_of(condition))
    if condition.dtype != bool:
        raise TypeError(f"where: the condition must be boolean, but it has dtype {condition.dtype}; say condition != 0")
    return Where(condition)(x, y)


def tensor_where(x: TensorLike, condition: TensorLike, y: TensorLike) -> Tensor:
    """x where the condition is True, else y: `where` as a method of x."""
    return where(condition, x, y)


class OneOfTwo(Op):
    """What maximum and minimum share: z is x or y;   dL/dx = dL/dz where z is x, half of it at a tie, else 0."""

    def with_share(self, x, y, z):
        """z. Saves how much of it is x's: 1, 1/2 at a tie, or 0. A NaN is always the one that was chosen."""
        self.share_x = np.where(x == y, 0.5, (x == z) | np.isnan(x))
        return z

    def backward(self, grad_z):
        grad_x, grad_y = grad_z * self.share_x, grad_z * (1 - self.share_x)
        return grad_x, grad_y


class Maximum(OneOfTwo):
    """z = max(x, y);   dL/dx = dL/dz where x > y, half of it where x = y, else 0;   dL/dy likewise."""

    def forward(self, x, y):
        return self.with_share(x, y, np.maximum(x, y))


def maximum(x: TensorLike, y: TensorLike) -> Tensor:
    """The larger of x and y, element by element, with broadcasting. At a tie each gets half of the gradient.

    >>> maximum(Tensor([1.0, 5.0]), 3).data
    array([3., 5.])
    """
    return Maximum()(x, y)


class Minimum(OneOfTwo):
    """z = min(x, y);   dL/dx = dL/dz where x < y, half of it where x = y, else 0;   dL/dy likewise."""

    def forward(self, x, y):
        return self.with_share(x, y, np.minimum(x, y))


def minimum(x: TensorLike, y: TensorLike) -> Tensor:
    """The smaller of x and y, element by element, with broadcasting. At a tie each gets half of the gradient.

    >>> minimum(Tensor([1.0, 5.0]), 3).data
    array([1., 3.])
    """
    return Minimum()(x, y)


class Clip(Op):
    """y = x limited to low .. high;   dL/dx = dL/dy where low <= x <= high (the bounds included), else 0."""

    def __init__(self, low=None, high=None):
        self.low, self.high = low, high

    def forward(self, x):
        y = np.clip(x, self.low, self.high)
        if y.shape != x.shape:
            raise wording.wrong_shape("low and high together with x", y.shape, x.shape)
        self.inside = x == y
        return y

    def backward(self, grad_y):
        grad_x = grad_y * self.inside
        return (grad_x,)


def clip(x: TensorLike, low: ArrayLike | None = None, high: ArrayLike | None = None) -> Tensor:
    """x limited to the range from low to high, numbers or arrays; None leaves a side open. The slope at a bound is 1.

    Raises:
        ValueError: bounds that do not broadcast to x's shape.

    >>> clip(Tensor([-1.0, 0.5, 2.0]), 0, 1).data
    array([0. , 0.5, 1. ])
    """
    (x,) = as_tensors((x,))
    return Clip(as_bound(low, x), as_bound(high, x))(x)


def as_bound(bound, x):
    """A bound as what stands beside x in an op: numbers and lists take the type of a floating x, arrays keep theirs."""
    if bound is None or x.dtype.kind != "f":
        return bound
    return np.asarray(bound) if isinstance(bound, Tensor) else as_tensors((x, bound))[1].data
