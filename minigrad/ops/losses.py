"""Losses: one number that says how wrong a prediction is."""

import warnings

import numpy as np

from minigrad import wording
from minigrad.op import Op
from minigrad.ops.softmax import softmax_parts
from minigrad.precision import mean, narrowed, summed, widened
from minigrad.protocols import values_of
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class CrossEntropy(Op):
    """loss = sum over rows of  ln sum e^z - sum_c q_c z_c,  over N;   dL/dz = dL/dloss * (softmax(z) - q) / N.

    The classes' wanted probabilities are q = (1 - s) * onehot(target) + s / C, with a smoothing s. A row that does not
    count has loss and gradient 0. N is the number of rows that count for "mean", and 1 for "sum"; with "none" each row
    keeps its own loss.
    """

    def __init__(self, targets, counts=True, smoothing=0.0, reduction="mean"):
        self.targets = targets
        self.counts = np.broadcast_to(counts, targets.shape)
        self.smoothing = smoothing
        self.reduction = reduction
        self.n = 1
        if reduction == "mean":
            self.n = np.count_nonzero(self.counts) or min(1, targets.size)

    def forward(self, z):
        self.p, log_total, shift = softmax_parts(z, -1)
        wide = widened(z)
        z_wanted = np.take_along_axis(wide, self.targets[..., None], -1) - shift
        if self.smoothing:
            z_mean = mean(wide - shift, -1, keepdims=True)
            z_wanted = (1 - self.smoothing) * z_wanted + self.smoothing * z_mean
        losses = np.where(self.counts, (log_total - z_wanted)[..., 0], 0)
        if self.reduction == "none":
            return narrowed(losses, z)
        return narrowed(summed(losses, parts=self.n), z)

    def backward(self, grad_loss):
        targets = self.targets[..., None]
        grad_z = self.p - self.smoothing / self.p.shape[-1]
        at_target = np.take_along_axis(grad_z, targets, -1)
        np.put_along_axis(grad_z, targets, at_target - (1 - self.smoothing), -1)
        grad_z *= (widened(grad_loss) / self.n)[..., None]
        grad_z[~self.counts] = 0
        return (grad_z,)


def cross_entropy(
    logits: TensorLike,
    targets: TensorLike,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Tensor:
    """The mean of -ln p(target), where p = softmax(logits) along the last axis.

    Args:
        logits: (..., C), any real numbers.
        targets: (...), integers: the index of the right class in each row.
        ignore_index: rows with this target do not count, in the sum or in the mean: padding, or a prompt.
        label_smoothing: this part of the wanted probability, 0 to 1, is spread evenly over all classes (Szegedy et
            al. 2016, section 7).
        reduction: "mean" over the rows that count, "sum", or "none" for the loss of each row, (...).

    If no row counts, the loss is 0 with a zero gradient, and a warning says so.

    Raises:
        TypeError: targets that are not integers.
        ValueError: targets of another shape than the rows; an unknown reduction; a smoothing outside of 0 .. 1.
        IndexError: a target that is neither in 0 .. C-1 nor ignore_index.

    >>> cross_entropy(Tensor([[0.0, 0.0], [1000.0, 0.0]]), [0, 1]).item()
    500.34657...
    >>> cross_entropy(Tensor([[0.0, 0.0], [1000.0, 0.0]]), [0, -1], ignore_index=-1).item()
    0.693147...
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
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'cross_entropy: reduction is "mean", "sum" or "none"; got {reduction!r}')
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"cross_entropy: label_smoothing is a part, from 0 to 1; got {label_smoothing!r}")
    counts = np.asarray(targets != ignore_index) if ignore_index is not None else np.ones(targets.shape, bool)
    if targets.size and not counts.any():
        warnings.warn(
            f"cross_entropy: every target is ignore_index ({ignore_index}), so the loss is 0 and its gradient too",
            stacklevel=2,
        )
    targets = np.where(counts, targets, 0)
    if targets.size and not (targets.min() >= 0 and targets.max() < shape[-1]):
        raise IndexError(f"cross_entropy: targets go from 0 to {shape[-1] - 1}; got {targets.min()} to {targets.max()}")
    return CrossEntropy(targets, counts, float(label_smoothing), reduction)(logits)


class MseLoss(Op):
    """loss = mean (y - t)^2 over N elements;   dL/dy = dL/dloss * 2 (y - t) / N,   dL/dt = -dL/dy."""

    def forward(self, y, t):
        if t.shape not in (y.shape, ()):
            raise wording.wrong_shape("target", t.shape, y.shape)
        self.error = widened(y) - widened(t)
        return narrowed(mean(np.square(self.error)), y, t)

    def backward(self, grad_loss):
        grad_y = widened(grad_loss) * 2 * self.error / self.error.size
        grad_t = -grad_y
        return grad_y, grad_t


def mse_loss(y: TensorLike, target: TensorLike) -> Tensor:
    """The mean of the squared differences.

    Args:
        y: of any shape.
        target: of the same shape, or a single number.

    Raises:
        ValueError: a target of another shape; it is not broadcast, since (n, 1) beside (n,) would be n x n pairs.

    >>> mse_loss(Tensor([1.0, 2.0]), [1.0, 4.0]).item()
    2.0
    """
    return MseLoss()(y, target)
