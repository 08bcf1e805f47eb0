"""Embedding: one learned row for each token number."""

import numpy as np

from minigrad.op import Op
from minigrad.protocols import values_of
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Embedding(Op):
    """y = weight[tokens];   dL/dweight[v] = sum of dL/dy over all places where token v stands."""

    def __init__(self, tokens):
        self.tokens = tokens

    def forward(self, weight):
        if weight.ndim != 2:
            raise ValueError(f"weight must be a table (V, d), one row for each token; got shape {weight.shape}")
        self.weight = weight
        return weight[self.tokens]

    def backward(self, grad_y):
        used, place = np.unique(self.tokens, return_inverse=True)
        sums = np.zeros((used.size, self.weight.shape[1]))  # float64, since a token may occur many times
        np.add.at(sums, place.reshape(self.tokens.shape), grad_y)  # unlike +=, it counts a token as often as it occurs
        grad_weight = np.zeros_like(self.weight)
        grad_weight[used] = sums
        return (grad_weight,)


def embedding(weight: Tensor, tokens: TensorLike) -> Tensor:
    """The rows of `weight` that the tokens name.

    Args:
        weight: (V, d)
        tokens: (...), integers in 0 .. V-1.

    Returns:
        (..., d)

    Raises:
        TypeError: tokens that are not integers.
        IndexError: a token outside of 0 .. V-1.
        ValueError: a weight that is no table.

    >>> embedding(Tensor([[1.0, 2.0], [3.0, 4.0]]), [1, 1]).data
    array([[3., 4.],
           [3., 4.]])
    """
    tokens = np.array(values_of(tokens))
    rows = len(weight)
    if tokens.size == 0:
        tokens = tokens.astype(np.intp)  # NumPy reads an empty list as floats
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"embedding: tokens are row numbers, so integers; got dtype {tokens.dtype}")
    if tokens.size and not (tokens.min() >= 0 and tokens.max() < rows):
        raise IndexError(f"embedding: tokens go from 0 to {rows - 1}; got {tokens.min()} to {tokens.max()}")
    return Embedding(tokens)(weight)
