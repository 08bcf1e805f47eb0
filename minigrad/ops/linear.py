"""The linear map of each token: a matrix product and a bias in one op."""

import math

import numpy as np

from minigrad import wording
from minigrad.op import Op
from minigrad.precision import summed, whole
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Linear(Op):
    """y = x weight + bias;   dL/dx = dL/dy weight^T,   dL/dweight = x^T dL/dy,   dL/dbias = sum of dL/dy over tokens.

    The tokens of all sequences stand in one long matrix, since each is mapped alone.
    """

    def forward(self, x, weight, bias):
        if weight.ndim != 2 or x.shape[-1:] != weight.shape[:1]:
            raise ValueError("x of shape (..., d_in) needs a weight of shape (d_in, d_out)")
        if bias.shape not in ((), weight.shape[1:]):
            raise wording.wrong_shape("bias", bias.shape, weight.shape[1:])
        self.x, self.weight = whole(x), whole(weight)
        y = as_rows(self.x) @ self.weight
        y = np.add(y, bias, out=y if bias.dtype == y.dtype else None)
        return y.reshape(*x.shape[:-1], weight.shape[-1])  # (..., d_out)

    def backward(self, grad_y):
        rows = as_rows(grad_y)
        grad_x = (rows @ self.weight.T).reshape(self.x.shape)
        grad_weight = as_rows(self.x).T @ rows
        grad_bias = summed(rows, axis=0)
        return grad_x, grad_weight, grad_bias


def linear(x: TensorLike, weight: TensorLike, bias: TensorLike) -> Tensor:
    """x W + b, for each token alone.

    Args:
        x: (..., d_in)
        weight: (d_in, d_out)
        bias: (d_out,), or a number.

    Returns:
        (..., d_out)

    Raises:
        ValueError: other shapes.

    >>> linear(Tensor([[1.0, 2.0]]), Tensor([[1.0, 0.0], [0.0, 1.0]]), [10.0, 20.0]).data
    array([[11., 22.]])
    """
    return Linear()(x, weight, bias)


def as_rows(x):
    """(..., d) as a matrix (N, d), one row for each token."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
