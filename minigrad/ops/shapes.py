"""Ops that move numbers without changing them. Each gradient goes back to where its number came from."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from minigrad.habits import check_axes_of_a_matrix, refuse
from minigrad.op import Op
from minigrad.protocols import values_of
from minigrad.tensor import Tensor
from minigrad.types import Axis, TensorLike


class Reshape(Op):
    """y = x in another shape;   dL/dx = dL/dy in x's shape."""

    def __init__(self, shape):
        self.shape = shape

    def forward(self, x):
        self.x_shape = x.shape
        return x.reshape(self.shape)

    def backward(self, grad_y):
        grad_x = grad_y.reshape(self.x_shape)
        return (grad_x,)


def reshape(x: TensorLike, shape: int | Sequence[int], *more: int) -> Tensor:
    """The same numbers in another shape, in row-major order; -1 stands for the length that fits.

    >>> reshape(Tensor([1.0, 2.0, 3.0, 4.0]), (2, -1)).data
    array([[1., 2.],
           [3., 4.]])
    """
    return Reshape((shape, *more) if more else shape)(x)


def flatten(x: TensorLike) -> Tensor:
    """All numbers of x along one axis, in row-major order.

    >>> flatten(Tensor([[1.0, 2.0], [3.0, 4.0]])).data
    array([1., 2., 3., 4.])
    """
    return reshape(x, -1)


class Squeeze(Op):
    """y = x without axes of length 1;   dL/dx = dL/dy in x's shape."""

    def __init__(self, axis=None):
        self.axis = axis

    def forward(self, x):
        self.x_shape = x.shape
        return x.squeeze(self.axis)

    def backward(self, grad_y):
        grad_x = grad_y.reshape(self.x_shape)
        return (grad_x,)


def squeeze(x: TensorLike, axis: Axis = None, **habits: NoReturn) -> Tensor:
    """x without its axes of length 1: those named by `axis`, an int or a tuple of ints; all of them if None.

    Raises:
        ValueError: an axis whose length is not 1.

    >>> squeeze(Tensor([[[1.0, 2.0, 3.0]]]), axis=0).shape
    (1, 3)
    """
    if habits:
        refuse(squeeze, habits)
    return Squeeze(axis)(x)


class ExpandDims(Op):
    """y = x with new axes of length 1;   dL/dx = dL/dy without them."""

    def __init__(self, axis):
        self.axis = axis

    def forward(self, x):
        return np.expand_dims(x, self.axis)

    def backward(self, grad_y):
        grad_x = grad_y.squeeze(self.axis)
        return (grad_x,)


def expand_dims(x: TensorLike, axis: int | tuple[int, ...], **habits: NoReturn) -> Tensor:
    """x with new axes of length 1. `axis` says where they stand in the result: an int or a tuple of ints.

    >>> expand_dims(Tensor([1.0, 2.0, 3.0]), axis=-1).shape
    (3, 1)
    """
    if habits:
        refuse(expand_dims, habits)
    return ExpandDims(axis)(x)


class Transpose(Op):
    """y = x with its axes in the order `axes`;   dL/dx = dL/dy with its axes in the inverse order."""

    def __init__(self, axes=None):
        self.axes = axes

    def forward(self, x):
        axes = range(x.ndim)[::-1] if self.axes is None else np.lib.array_utils.normalize_axis_tuple(self.axes, x.ndim)
        self.inverse = tuple(np.argsort(axes))
        return x.transpose(axes)

    def backward(self, grad_y):
        grad_x = grad_y.transpose(self.inverse)
        return (grad_x,)


def transpose(x: TensorLike, axes: int | Sequence[int] | None = None, *more: int) -> Tensor:
    """x with its axes in the order `axes`; reversed if None. For a matrix also ``x.T``.

    >>> transpose(Tensor([[1.0, 2.0, 3.0]])).shape
    (3, 1)
    """
    if len(more) == 1:
        check_axes_of_a_matrix(values_of(x).shape, (axes, *more))
    return Transpose((axes, *more) if more else axes)(x)


class Swapaxes(Op):
    """y = x with two axes exchanged;   dL/dx = dL/dy with the same two exchanged."""

    def __init__(self, axis1, axis2):
        self.axis1, self.axis2 = axis1, axis2

    def forward(self, x):
        return x.swapaxes(self.axis1, self.axis2)

    def backward(self, grad_y):
        grad_x = grad_y.swapaxes(self.axis1, self.axis2)
        return (grad_x,)


def swapaxes(x: TensorLike, axis1: int, axis2: int) -> Tensor:
    """x with two of its axes exchanged.

    >>> swapaxes(Tensor([[1.0, 2.0, 3.0]]), -1, -2).shape
    (3, 1)
    """
    return Swapaxes(axis1, axis2)(x)


class BroadcastTo(Op):
    """y = x repeated into a larger shape;   dL/dx = dL/dy summed over the repetitions (by the engine)."""

    def __init__(self, shape):
        self.shape = shape

    def forward(self, x):
        return np.broadcast_to(x, self.shape)

    def backward(self, grad_y):
        grad_x = grad_y
        return (grad_x,)


def broadcast_to(x: TensorLike, shape: int | Sequence[int]) -> Tensor:
    """x repeated into a larger shape, by NumPy's rules of broadcasting.

    >>> broadcast_to(Tensor([1.0, 2.0]), (2, 2)).data
    array([[1., 2.],
           [1., 2.]])
    """
    return BroadcastTo(shape)(x)


class Getitem(Op):
    """y = x[index];   dL/dx = dL/dy added up at the places it was read from, 0 elsewhere."""

    def __init__(self, index):
        self.index = index

    def forward(self, x):
        self.x = x
        return x[self.index]

    def backward(self, grad_y):
        if may_repeat(self.index):
            grad_x = np.zeros(self.x.shape)  # float64, since a place may be read many times
            np.add.at(grad_x, self.index, grad_y)  # unlike +=, it counts a place as often as it was read
        else:
            grad_x = np.zeros_like(self.x)
            grad_x[self.index] = grad_y
        return (grad_x,)


def getitem(x: TensorLike, index: Any) -> Tensor:
    """x[index], with everything that NumPy takes: ints, slices, None, ..., boolean masks, arrays of ints.

    >>> getitem(Tensor([1.0, 2.0, 3.0]), [0, 0, 2]).data
    array([1., 1., 3.])
    """
    parts = tuple(fixed(part) for part in index) if isinstance(index, tuple) else fixed(index)
    return Getitem(parts)(x)


def fixed(part):
    """A part of an index, copied if it is an array or a list, so that a later change of that does no harm."""
    if isinstance(part, Tensor):
        part = part.data
    if isinstance(part, list) and not part:
        return np.array([], int)  # NumPy would read it as floating
    return np.array(part) if isinstance(part, (list, np.ndarray)) else part


def may_repeat(index):
    """True if a place may be read twice, which takes an array of integers."""
    once = (int, np.integer, slice, type(None), type(...))
    parts = index if isinstance(index, tuple) else (index,)
    return not all(isinstance(part, once) or np.asarray(part).dtype == bool for part in parts)


def split(x: TensorLike, indices_or_sections: int | Sequence[int], axis: int = 0, **habits: NoReturn) -> list[Tensor]:
    """x cut into parts along `axis`, each of them `x[..., start:stop, ...]`. `concatenate` puts them together again.

    Args:
        indices_or_sections: the number of parts, which have the same length; or the places to cut at, so that
            [2, 3] gives x[:2], x[2:3] and x[3:].

    Raises:
        ValueError: a number of parts that does not divide the axis.

    >>> [part.data for part in split(Tensor([1.0, 2.0, 3.0, 4.0]), 2)]
    [array([1., 2.]), array([3., 4.])]
    """
    if habits:
        refuse(split, habits)
    shape = values_of(x).shape
    axis = np.lib.array_utils.normalize_axis_index(axis, len(shape), "split")
    length = shape[axis]
    if isinstance(indices_or_sections, (int, np.integer)):
        n = indices_or_sections
        if n < 1 or length % n:
            raise ValueError(
                f"split: {n} parts of the same length do not fit an axis of length {length}; "
                f"say where to cut instead, as in split(x, [2, 3])"
            )
        cuts = [length * i // n for i in range(1, n)]
    else:
        cuts = list(indices_or_sections)
    before = (slice(None),) * axis
    return [getitem(x, (*before, slice(*ends))) for ends in zip([0, *cuts], [*cuts, length], strict=True)]


class Concatenate(Op):
    """y = the inputs one after the other along `axis`;   dL/dx = each input's own stretch of dL/dy."""

    def __init__(self, axis=0):
        self.axis = axis

    def forward(self, *xs):
        self.shapes = [x.shape for x in xs]
        return np.concatenate(xs, axis=self.axis)

    def backward(self, grad_y):
        if self.axis is None:
            axis, lengths = 0, [int(np.prod(shape)) for shape in self.shapes]
        else:
            axis, lengths = self.axis, [shape[self.axis] for shape in self.shapes]
        stretches = np.split(grad_y, np.cumsum(lengths[:-1]), axis=axis)
        grad_xs = tuple(stretch.reshape(shape) for stretch, shape in zip(stretches, self.shapes, strict=True))
        return grad_xs


def concatenate(tensors: Iterable[TensorLike], axis: int | None = 0, **habits: NoReturn) -> Tensor:
    """The tensors one after the other along an axis that they have; flattened first if it is None.

    >>> concatenate([Tensor([1.0]), Tensor([2.0, 3.0])]).data
    array([1., 2., 3.])
    """
    if habits:
        refuse(concatenate, habits)
    return Concatenate(axis)(*tensors)


class Stack(Op):
    """y = the inputs side by side along a new `axis`;   dL/dx = each input's own slice of dL/dy."""

    def __init__(self, axis=0):
        self.axis = axis

    def forward(self, *xs):
        return np.stack(xs, axis=self.axis)

    def backward(self, grad_y):
        grad_xs = tuple(np.moveaxis(grad_y, self.axis, 0))
        return grad_xs


def stack(tensors: Iterable[TensorLike], axis: int = 0, **habits: NoReturn) -> Tensor:
    """The tensors, of one shape, side by side along a new axis.

    >>> stack([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])], axis=1).data
    array([[1., 3.],
           [2., 4.]])
    """
    if habits:
        refuse(stack, habits)
    return Stack(axis)(*tensors)
