"""Reductions over one axis, several (a tuple) or all of them (None), and the running sum.

In every rule below dL/dy is first given back the axes that were reduced, so that it broadcasts against x.
"""

import builtins
import math
from typing import NoReturn

import numpy as np

from minigrad import precision
from minigrad.habits import refuse
from minigrad.op import Op
from minigrad.precision import narrowed, running_sum, summed, whole, widened
from minigrad.tensor import Tensor
from minigrad.types import Axis, TensorLike


class Reduction(Op):
    """What all reductions share: `axis`, `keepdims`, and the way back to x's shape."""

    def __init__(self, axis=None, keepdims=False):
        self.axis, self.keepdims = axis, keepdims

    def unreduced(self, grad_y):
        """dL/dy with the reduced axes of x as axes of length 1."""
        if self.keepdims:
            return grad_y
        if self.axis is None:
            return np.reshape(grad_y, (1,) * self.inputs[0].ndim)
        return np.expand_dims(grad_y, self.axis)

    def count(self, x):
        """How many elements of x went into one element of the result."""
        if self.axis is None:
            return x.size
        axes = np.lib.array_utils.normalize_axis_tuple(self.axis, x.ndim)
        return math.prod(x.shape[axis] for axis in axes)


class Sum(Reduction):
    """y = sum x;   dL/dx = dL/dy for every element that was summed."""

    def forward(self, x):
        self.shape = x.shape
        return summed(x, self.axis, self.keepdims)

    def backward(self, grad_y):
        grad_x = np.broadcast_to(self.unreduced(grad_y), self.shape)
        return (grad_x,)


def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The sum over `axis`: an int, a tuple of ints, or None for all.

    >>> sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0).data
    array([4., 6.])
    """
    if habits:
        refuse(sum, habits)
    return Sum(axis, keepdims)(x)


class Mean(Reduction):
    """y = sum x / n;   dL/dx = dL/dy / n."""

    def forward(self, x):
        self.shape = x.shape
        self.n = self.count(x) or 1  # the mean of nothing is NaN, and nothing gets its gradient
        return precision.mean(x, self.axis, self.keepdims)

    def backward(self, grad_y):
        grad_x = np.broadcast_to(widened(self.unreduced(grad_y)) / self.n, self.shape)
        return (grad_x,)


def mean(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The mean over `axis`: an int, a tuple of ints, or None for all. NaN if there is nothing to average.

    >>> mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=-1).data
    array([1.5, 3.5])
    """
    if habits:
        refuse(mean, habits)
    return Mean(axis, keepdims)(x)


class Extreme(Reduction):
    """What max and min share: y is one of the x;   dL/dx = dL/dy shared equally among those that are y, else 0."""

    def with_ties(self, x, y):
        """y, with the axes it should have. Saves which elements of x are y; any NaN is, since it makes y NaN."""
        self.is_extreme = (x == y) | np.isnan(x)
        return y if self.keepdims else y.squeeze(axis=self.axis)

    def backward(self, grad_y):
        ties = self.is_extreme.sum(axis=self.axis, keepdims=True)
        grad_x = self.unreduced(grad_y) * self.is_extreme / ties
        return (grad_x,)


class Max(Extreme):
    """y = max x;   dL/dx = dL/dy shared equally among the elements that are the maximum, else 0."""

    def forward(self, x):
        return self.with_ties(x, x.max(axis=self.axis, keepdims=True))


def max(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The largest element over `axis`. Elements that tie for it share the gradient equally.

    >>> max(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1).data
    array([2., 4.])
    """
    if habits:
        refuse(max, habits)
    return Max(axis, keepdims)(x)


class Min(Extreme):
    """y = min x;   dL/dx = dL/dy shared equally among the elements that are the minimum, else 0."""

    def forward(self, x):
        return self.with_ties(x, x.min(axis=self.axis, keepdims=True))


def min(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The smallest element over `axis`. Elements that tie for it share the gradient equally.

    >>> min(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1).data
    array([1., 3.])
    """
    if habits:
        refuse(min, habits)
    return Min(axis, keepdims)(x)


class Var(Reduction):
    """y = sum (x - mean)^2 / (n - ddof);   dL/dx = dL/dy * 2 (x - mean) / (n - ddof).

    The mean is subtracted twice, the second time to remove the rounding of the first: a constant has variance 0.
    """

    def __init__(self, axis=None, keepdims=False, ddof=0):
        super().__init__(axis, keepdims)
        self.ddof = float(ddof)  # a NumPy float64 would make float64 of float32

    def forward(self, x):
        self.centered = self.center(widened(x))
        return narrowed(summed(np.square(self.centered), self.axis, self.keepdims) / self.degrees, x)

    def backward(self, grad_y):
        grad_x = self.unreduced(grad_y) * 2 * self.centered / self.degrees
        return (grad_x,)

    def center(self, x):
        self.degrees = builtins.max(self.count(x) - self.ddof, 0)
        centered = x - precision.mean(x, self.axis, keepdims=True)
        return centered - precision.mean(centered, self.axis, keepdims=True)


def var(x: TensorLike, axis: Axis = None, keepdims: bool = False, ddof: float = 0, **habits: NoReturn) -> Tensor:
    """The variance over `axis`, divided by n - ddof: the biased one unless ddof is 1, as in NumPy.

    >>> var(Tensor([1.0, 2.0, 3.0, 4.0])).item()
    1.25
    """
    if habits:
        refuse(var, habits)
    return Var(axis, keepdims, ddof)(x)


class Std(Var):
    """y = |c| / sqrt(n - ddof)  with  c = x - mean;   dL/dx = dL/dy * c / (|c| sqrt(n - ddof)), and 0 where c = 0."""

    def forward(self, x):
        length, self.direction = length_and_direction(self.center(widened(x)), self.axis)
        y = narrowed(length / np.sqrt(self.degrees, dtype=length.dtype), x)
        return y if self.keepdims else y.squeeze(axis=self.axis)

    def backward(self, grad_y):
        grad_x = self.unreduced(grad_y) * self.direction / self.degrees**0.5
        return (grad_x,)


def std(x: TensorLike, axis: Axis = None, keepdims: bool = False, ddof: float = 0, **habits: NoReturn) -> Tensor:
    """The standard deviation over `axis`, see `var`. The slope of a constant is 0.

    >>> std(Tensor([1.0, 3.0])).item()
    1.0
    """
    if habits:
        refuse(std, habits)
    return Std(axis, keepdims, ddof)(x)


class Norm(Reduction):
    """y = sqrt(sum x^2);   dL/dx = dL/dy * x / y, and 0 at the origin."""

    def forward(self, x):
        length, self.direction = length_and_direction(widened(x), self.axis)
        y = narrowed(length, x)
        return y if self.keepdims else y.squeeze(axis=self.axis)

    def backward(self, grad_y):
        grad_x = self.unreduced(grad_y) * self.direction
        return (grad_x,)


def norm(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The Euclidean norm over `axis`; over all axes if None. Its slope at the origin is 0.

    >>> norm(Tensor([3.0, 4.0])).item()
    5.0
    """
    if habits:
        refuse(norm, habits)
    return Norm(axis, keepdims)(x)


def length_and_direction(x, axis):
    """|x| = sqrt(sum x^2) along `axis`, which keeps length 1, and x / |x|, which is 0 at the origin.

    The largest |x| is taken out before squaring, so that 1e300 does not overflow, nor 1e-300 vanish.
    """
    largest = np.abs(x).max(axis=axis, keepdims=True, initial=0)
    scale = np.where((largest == 0) | np.isinf(largest), 1, largest)
    scaled = x / scale
    length = np.sqrt(summed(np.square(scaled), axis, keepdims=True))
    return scale * length, np.divide(scaled, length, out=np.zeros_like(scaled), where=length != 0)


class Prod(Reduction):
    """y = product of x;   dL/dx_i = dL/dy * product of the other x_j.

    The others are multiplied from the left and from the right, not divided out of y, so that a zero does no harm.
    """

    def forward(self, x):
        self.x = whole(x) if x.dtype.kind != "f" else widened(x)
        y = self.x.prod(axis=self.axis, keepdims=self.keepdims)
        return y if x.dtype.kind != "f" else narrowed(y, x)

    def backward(self, grad_y):
        x = self.x
        axes = np.lib.array_utils.normalize_axis_tuple(range(x.ndim) if self.axis is None else self.axis, x.ndim)
        last = tuple(range(-len(axes), 0))
        moved = np.moveaxis(x, axes, last)
        rows = moved.reshape(*moved.shape[: x.ndim - len(axes)], self.count(x))  # (..., n)
        before = exclusive_products(rows)
        after = exclusive_products(rows[..., ::-1])[..., ::-1]
        others = np.moveaxis((before * after).reshape(moved.shape), last, axes)
        grad_x = self.unreduced(grad_y) * others
        return (grad_x,)


def prod(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The product over `axis`.

    >>> prod(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0).data
    array([3., 8.])
    """
    if habits:
        refuse(prod, habits)
    return Prod(axis, keepdims)(x)


def exclusive_products(rows):
    """For each element of the last axis the product of all elements before it; 1 for the first."""
    before = np.ones_like(rows)
    np.cumprod(rows[..., :-1], axis=-1, out=before[..., 1:])
    return before


class Cumsum(Op):
    """y_i = x_1 + ... + x_i;   dL/dx_i = dL/dy_i + ... + dL/dy_n, the running sum from the other end."""

    def __init__(self, axis=None):
        self.axis = axis

    def forward(self, x):
        self.shape = x.shape
        return running_sum(x, self.axis)

    def backward(self, grad_y):
        axis = 0 if self.axis is None else self.axis
        from_the_end = np.flip(running_sum(np.flip(grad_y, axis), axis), axis)
        grad_x = from_the_end.reshape(self.shape)
        return (grad_x,)


def cumsum(x: TensorLike, axis: int | None = None, **habits: NoReturn) -> Tensor:
    """The running sum along `axis`; None runs through the flattened array.

    >>> cumsum(Tensor([1.0, 2.0, 3.0])).data
    array([1., 3., 6.])
    """
    if habits:
        refuse(cumsum, habits)
    return Cumsum(axis)(x)
