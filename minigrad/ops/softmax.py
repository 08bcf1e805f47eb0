"""Softmax, its logarithm, and the logarithm of its denominator.

All subtract the maximum of its own row first, so that e^x cannot overflow. A row of -inf alone (a query that may
attend to nothing) has no maximum to subtract; by convention its probabilities and its gradient are 0.
"""

from typing import NoReturn

import numpy as np

from minigrad.habits import refuse
from minigrad.op import Op
from minigrad.ops.reductions import Reduction
from minigrad.precision import narrowed, summed, widened
from minigrad.tensor import Tensor
from minigrad.types import Axis, TensorLike


class Softmax(Op):
    """y = e^x / sum e^x along `axis`;   dL/dx = y * (dL/dy - sum(dL/dy * y))."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x):
        self.y, _, _ = softmax_parts(x, self.axis)
        return narrowed(self.y, x)

    def backward(self, grad_y):
        grad_x = grad_y - summed(grad_y * self.y, self.axis, keepdims=True)
        grad_x *= self.y
        return (grad_x,)


def softmax(x: TensorLike, axis: Axis = -1, **habits: NoReturn) -> Tensor:
    """Positive numbers that add up to 1 along `axis`, in the proportions of e^x.

    A row of -inf alone gives zeros and gets a zero gradient.

    >>> softmax(Tensor([[0.0, np.log(3.0)], [-np.inf, -np.inf]])).data
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    if habits:
        refuse(softmax, habits)
    return Softmax(axis)(x)


class LogSoftmax(Op):
    """y = x - ln sum e^x along `axis`;   dL/dx = dL/dy - softmax(x) * sum(dL/dy)."""

    def __init__(self, axis=-1):
        self.axis = axis

    def forward(self, x):
        self.p, log_total, shift = softmax_parts(x, self.axis)
        self.is_empty = log_total == -np.inf
        return narrowed((widened(x) - shift) - np.where(self.is_empty, 0, log_total), x)

    def backward(self, grad_y):
        grad_x = grad_y - self.p * summed(widened(grad_y), self.axis, keepdims=True)
        grad_x = np.where(self.is_empty, 0, grad_x)
        return (grad_x,)


def log_softmax(x: TensorLike, axis: Axis = -1, **habits: NoReturn) -> Tensor:
    """The logarithm of softmax, exact where softmax itself would underflow to 0.

    >>> log_softmax(Tensor([0.0, 1000.0])).data
    array([-1000.,     0.])
    """
    if habits:
        refuse(log_softmax, habits)
    return LogSoftmax(axis)(x)


class Logsumexp(Reduction):
    """y = ln sum e^x;   dL/dx = dL/dy * softmax(x)."""

    def forward(self, x):
        self.p, log_total, shift = softmax_parts(x, self.axis)
        y = narrowed(shift + log_total, x)
        return y if self.keepdims else y.squeeze(axis=self.axis)

    def backward(self, grad_y):
        grad_x = self.unreduced(grad_y) * self.p
        return (grad_x,)


def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False, **habits: NoReturn) -> Tensor:
    """The logarithm of the sum of e^x over `axis`, without overflow; -inf for a row of -inf.

    >>> logsumexp(Tensor([1000.0, 1000.0])).item()
    1000.693147...
    """
    if habits:
        refuse(logsumexp, habits)
    return Logsumexp(axis, keepdims)(x)


def softmax_parts(x, axis):
    """e^x / sum e^x, then ln sum e^(x - shift) and the shift along `axis`, both with length 1 there.

    The two come apart because their sum would round: ln sum e^x is 1e16 for x = [1e16, 1e16], without its ln 2.
    With +inf in a row the sum is inf, and what has no limit, as the share of that +inf has not, is NaN.
    """
    x = widened(x)
    largest = x.max(axis=axis, keepdims=True, initial=-np.inf)  # -inf too if there is no x at all
    shift = np.where(np.isinf(largest), 0, largest)
    with np.errstate(all="ignore"):
        e = np.asarray(x - shift)
        np.exp(e, out=e)
        total = summed(e, axis, keepdims=True)
        e /= np.where(total == 0, 1, total)
        return e, np.log(total), shift
