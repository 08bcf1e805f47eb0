"""Comparisons. They have no slope, so the result is no tensor but a plain array of booleans."""

import numpy as np

from minigrad.tensor import Tensor
from minigrad.types import TensorLike


def array_of(y):
    return y.data if isinstance(y, Tensor) else y  # what NumPy makes of it, dates and strings too


def less(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data < array_of(y)


def less_equal(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data <= array_of(y)


def greater(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data > array_of(y)


def greater_equal(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data >= array_of(y)


def equal(x: Tensor, y: object) -> np.ndarray:
    return x.data == array_of(y)


def not_equal(x: Tensor, y: object) -> np.ndarray:
    return x.data != array_of(y)
