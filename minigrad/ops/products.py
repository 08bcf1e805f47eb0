"""Matrix product, and sums of products in Einstein's notation."""

import math
import string

import numpy as np

from minigrad.arrays import sum_to_shape
from minigrad.op import Op
from minigrad.precision import whole
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Matmul(Op):
    """Z = X Y;   dL/dX = dL/dZ Y^T,   dL/dY = X^T dL/dZ.

    Leading axes are a batch of matrices. A vector counts as one row (X) or one column (Y).
    """

    def forward(self, x, y):
        self.x, self.y = whole(x), whole(y)
        return self.x @ self.y

    def backward(self, grad_z):
        x, y, grad_z = self.as_matrices(grad_z)
        grad_x = grad_y = None
        if self.inputs[0].requires_grad:
            grad_x = grad_z @ y.swapaxes(-1, -2)
            grad_x = grad_x[..., 0, :] if self.x.ndim == 1 else grad_x
        if self.inputs[1].requires_grad:
            if y.ndim == 2:  # one matrix for the whole batch: its rows can stand in one long matrix
                n = math.prod(grad_z.shape[:-1])
                x, grad_z = x.reshape(n, x.shape[-1]), grad_z.reshape(n, grad_z.shape[-1])
            grad_y = x.swapaxes(-1, -2) @ grad_z
            grad_y = grad_y[..., 0] if self.y.ndim == 1 else grad_y
        return grad_x, grad_y

    def as_matrices(self, z):
        """X, Y and an array of Z's shape, vectors as matrices."""
        x, y = self.x, self.y
        if y.ndim == 1:
            y, z = y[:, None], z[..., None]
        if x.ndim == 1:
            x, z = x[None, :], z[..., None, :]
        return x, y, z


def matmul(x: TensorLike, y: TensorLike) -> Tensor:
    """The matrix product with NumPy's rules for batches and vectors; also ``x @ y``.

    Args:
        x: (..., n, k) or (k,)
        y: (..., k, m) or (k,)

    Returns:
        (..., n, m), without n for a vector x and without m for a vector y.

    >>> matmul(Tensor([[1.0, 2.0], [3.0, 4.0]]), [1.0, 10.0]).data
    array([21., 43.])
    """
    return Matmul()(x, y)


class Einsum(Op):
    """z[out] = sum over the other labels of x1[labels1] x2[labels2] ...

    dL/dx1[labels1] = sum over the labels that x1 lacks of dL/dz[out] x2[labels2] ...
    """

    def __init__(self, subscripts):
        self.subscripts = subscripts

    def forward(self, *xs):
        self.xs = [whole(x) for x in xs]
        self.labels, self.out = explicit(self.subscripts, xs)
        return np.einsum(self.subscripts, *self.xs)

    def backward(self, grad_z):
        grad_xs = tuple(self.gradient_of(i, grad_z) for i in range(len(self.xs)))
        return grad_xs

    def gradient_of(self, i, grad_z):
        """dL/dx_i, in three steps: sum the products, repeat along labels that x_i alone had, fill the diagonal."""
        x, labels = self.xs[i], self.labels[i]
        other_labels = [self.out, *self.labels[:i], *self.labels[i + 1 :]]
        others = [grad_z, *self.xs[:i], *self.xs[i + 1 :]]
        own = "".join(dict.fromkeys(labels))
        known = "".join(label for label in own if label in "".join(other_labels))
        summed = np.einsum(f"{','.join(other_labels)}->{known}", *others)
        lone_axes = [axis for axis, label in enumerate(own) if label not in known]
        grad_x = np.zeros(x.shape, summed.dtype)
        diagonal = grad_x if own == labels else np.einsum(f"{labels}->{own}", grad_x)  # a view
        repeated = np.expand_dims(summed, lone_axes)
        lengths = np.broadcast_shapes(repeated.shape, diagonal.shape)  # an axis of length 1 fits any other
        diagonal[...] = sum_to_shape(np.broadcast_to(repeated, lengths), diagonal.shape)
        return grad_x


def einsum(subscripts: str, *tensors: TensorLike) -> Tensor:
    """A sum of products in Einstein's notation, as ``np.einsum(subscripts, ...)`` reads it.

    >>> einsum("ij,j->i", Tensor([[1.0, 2.0], [3.0, 4.0]]), [1.0, 10.0]).data
    array([21., 43.])
    """
    return Einsum(subscripts)(*tensors)


def explicit(subscripts, xs):
    """The labels of each operand and of the result, with '...' spelled out and the result always named.

    >>> explicit("...ij,jk", [np.zeros((5, 2, 3)), np.zeros((3, 4))])
    (['aij', 'jk'], 'aik')
    """
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(xs):
        raise ValueError(f"{subscripts!r} names {len(terms)} operands, but {len(xs)} were given")
    spare = [letter for letter in string.ascii_letters if letter not in subscripts]
    batch = [x.ndim - len(term.replace("...", "")) for term, x in zip(terms, xs, strict=True) if "..." in term]
    letters = "".join(spare[: max(batch, default=0)])
    labels = []
    for term, x in zip(terms, xs, strict=True):
        own = x.ndim - len(term.replace("...", ""))
        labels.append(term.replace("...", letters[len(letters) - own :]))
    if not arrow:
        once = sorted(label for label in set(inputs) - set(",.") if inputs.count(label) == 1)
        out = "..." + "".join(once)
    return labels, out.replace("...", letters)
