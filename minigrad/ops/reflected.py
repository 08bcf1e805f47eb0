"""What Python calls for `2 * x`, when the left operand is no tensor: the right operand comes first."""

from minigrad.ops import arithmetic, elementary, products
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


def add(y: TensorLike, x: TensorLike) -> Tensor:
    return arithmetic.add(x, y)


def subtract(y: TensorLike, x: TensorLike) -> Tensor:
    return arithmetic.subtract(x, y)


def multiply(y: TensorLike, x: TensorLike) -> Tensor:
    return arithmetic.multiply(x, y)


def divide(y: TensorLike, x: TensorLike) -> Tensor:
    return arithmetic.divide(x, y)


def power(p: TensorLike, x: TensorLike) -> Tensor:
    return elementary.power(x, p)


def matmul(y: TensorLike, x: TensorLike) -> Tensor:
    return products.matmul(x, y)
