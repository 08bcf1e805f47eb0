"""Plain arrays: what counts as data, how it is protected, and how broadcasting is undone."""

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from minigrad.precision import summed


def as_array(data: ArrayLike, dtype: DTypeLike | None = None) -> np.ndarray:
    """`data` as a read-only array of its own; Python numbers and lists as float64 unless `dtype` says otherwise."""
    array = np.array(data)
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("a tensor has no mask, and would take what is masked for numbers: say array.filled(0)")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"a tensor holds real numbers; got {type(data).__name__} that NumPy reads as {array.dtype}")
    if dtype is None and array.dtype.kind in "iu" and not isinstance(data, (np.ndarray, np.generic)):
        dtype = np.float64
    array = array.astype(dtype or array.dtype, copy=False)
    array.setflags(write=False)
    return array


def sum_to_shape(grad: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Undo broadcasting: an element that was read many times gets the sum of all its gradients.

    For y = x + b with x of shape (B, T, d) and b of shape (d,):  dL/db = sum over B and T of dL/dy.

    >>> sum_to_shape(np.ones((5, 2, 3)), (2, 1))
    array([[15.],
           [15.]])
    """
    axes = range(-len(shape), 0)  # counted from the end they are the same in both
    if grad.ndim < len(shape) or any(shape[axis] not in (1, grad.shape[axis]) for axis in axes):
        raise ValueError(f"it has shape {grad.shape}, but its input has {shape}, which does not broadcast to that")
    stretched = (axis for axis in axes if shape[axis] != grad.shape[axis])
    return summed(grad, (*range(grad.ndim - len(shape)), *stretched)).reshape(shape)
