"""Losses: one number that says how wrong a prediction is."""

import numpy as np

from minigrad.op import Op
from minigrad.ops.softmax import softmax_parts
from minigrad.protocols import values_of
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class CrossEntropy(Op):
    """loss = mean over N rows of  ln sum e^z - z[target];   dL/dz = dL/dloss * (softmax(z) - onehot(target)) / N."""

    def __init__(self, targets):
        self.targets = targets

    def forward(self, z):
        self.p, log_total, shift = softmax_parts(z, -1)
        z_target = np.take_along_axis(z, self.targets[..., None], -1)
        return (log_total - (z_target - shift)).mean()

    def backward(self, grad_loss):
        onehot = np.zeros_like(self.p)
        np.put_along_axis(onehot, self.targets[..., None], 1, -1)
        grad_z = grad_loss * (self.p - onehot) / self.targets.size
        return (grad_z,)


def cross_entropy(logits: TensorLike, targets: TensorLike) -> Tensor:
    """The mean of -ln p(target), where p = softmax(logits) along the last axis.

    Args:
        logits: (..., C), any real numbers.
        targets: (...), integers: the index of the right class in each row.

    Raises:
        TypeError: targets that are not integers.
        ValueError: targets of another shape than the rows.
        IndexError: a target that is not in 0 .. C-1.

    >>> cross_entropy(Tensor([[0.0, 0.0], [1000.0, 0.0]]), [0, 1]).item()
    500.34657...
    """
    targets = np.array(values_of(targets))
    shape = values_of(logits).shape
    if targets.size == 0:
        targets = targets.astype(np.intp)  # NumPy reads an empty list as floats
    if targets.dtype.kind not in "iu":
        raise TypeError(f"cross_entropy: targets are class numbers, so integers; got dtype {targets.dtype}")
    if targets.shape != shape[:-1] or not shape:
        raise ValueError(
            f"cross_entropy: logits {shape} need targets {shape[:-1]}; got targets of shape {targets.shape}"
        )
    if targets.size and not (targets.min() >= 0 and targets.max() < shape[-1]):
        raise IndexError(f"cross_entropy: targets go from 0 to {shape[-1] - 1}; got {targets.min()} to {targets.max()}")
    return CrossEntropy(targets)(logits)


class MseLoss(Op):
    """loss = mean (y - t)^2 over N elements;   dL/dy = dL/dloss * 2 (y - t) / N,   dL/dt = -dL/dy."""

    def forward(self, y, t):
        self.error = y - t
        return np.square(self.error).mean()

    def backward(self, grad_loss):
        grad_y = grad_loss * 2 * self.error / self.error.size
        grad_t = -grad_y
        return grad_y, grad_t


def mse_loss(y: TensorLike, target: TensorLike) -> Tensor:
    """The mean of the squared differences, with broadcasting.

    >>> mse_loss(Tensor([1.0, 2.0]), [1.0, 4.0]).item()
    2.0
    """
    return MseLoss()(y, target)
