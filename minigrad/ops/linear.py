"""The linear map of each token: a matrix product and a bias in one op."""

import math

from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Linear(Op):
    """y = x weight + bias;   dL/dx = dL/dy weight^T,   dL/dweight = x^T dL/dy,   dL/dbias = sum of dL/dy over tokens.

    The tokens of all sequences stand in one long matrix, since each is mapped alone.
    """

    def forward(self, x, weight, bias):
        self.x, self.weight = x, weight
        y = as_rows(x) @ weight
        y += bias
        return y.reshape(*x.shape[:-1], weight.shape[-1])  # (..., d_out)

    def backward(self, grad_y):
        rows = as_rows(grad_y)
        grad_x = (rows @ self.weight.T).reshape(self.x.shape)
        grad_weight = as_rows(self.x).T @ rows
        grad_bias = rows.sum(axis=0)
        return grad_x, grad_weight, grad_bias


def linear(x: TensorLike, weight: TensorLike, bias: TensorLike) -> Tensor:
    """x W + b, for each token alone.

    Args:
        x: (..., d_in)
        weight: (d_in, d_out)
        bias: (d_out,)

    Returns:
        (..., d_out)

    >>> linear(Tensor([[1.0, 2.0]]), Tensor([[1.0, 0.0], [0.0, 1.0]]), [10.0, 20.0]).data
    array([[11., 22.]])
    """
    return Linear()(x, weight, bias)


def as_rows(x):
    """(..., d) as a matrix (N, d), one row for each token."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
