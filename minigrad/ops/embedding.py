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
        self.weight = weight
        return weight[self.tokens]

    def backward(self, grad_y):
        grad_weight = np.zeros_like(self.weight)
        np.add.at(grad_weight, self.tokens, grad_y)  # unlike +=, it counts a token as often as it occurs
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
