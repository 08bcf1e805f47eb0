"""Comparisons. They have no slope, so the result is no tensor but a plain array of booleans."""

import numpy as np

from minigrad.tensor import Tensor
from minigrad.types import TensorLike


def less(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data < getattr(y, "data", y)


def less_equal(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data <= getattr(y, "data", y)


def greater(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data > getattr(y, "data", y)


def greater_equal(x: Tensor, y: TensorLike) -> np.ndarray:
    return x.data >= getattr(y, "data", y)


def equal(x: Tensor, y: object) -> np.ndarray:
    return x.data == getattr(y, "data", y)


def not_equal(x: Tensor, y: object) -> np.ndarray:
    return x.data != getattr(y, "data", y)
