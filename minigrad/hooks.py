"""Hooks: functions of the user that a backward pass calls with a tensor's gradient."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from minigrad.arrays import as_array

if TYPE_CHECKING:
    from minigrad.tensor import Tensor


def on_gradient(tensor: "Tensor", fn: Callable[[np.ndarray], np.ndarray | None]) -> None:
    """Call `fn(grad)` in every backward pass that reaches this tensor: once, with dL/d(tensor) in its shape.

    The gradient is the total of this pass: every reader has contributed. What `fn` returns decides how it goes on:
    None leaves the gradient as it is; an array of the same shape takes its place, for this tensor's `grad` and for
    everything behind it. Several functions are called in the order in which they came, each with what the one
    before made of it. They stand in ``tensor.hooks``, a tuple; ``tensor.hooks = ()`` takes them off.

    The array is read-only. The tensor owns `fn`, so an `fn` that refers to the tensor makes a reference cycle.

    Raises:
        RuntimeError: a tensor that asks for no gradient, so that `fn` would never be called.
        TypeError: an `fn` that cannot be called; later, from the backward pass, a returned value that is no array.
        ValueError: from the backward pass, a returned array of another shape.

    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 10
    >>> y.on_gradient(print)
    >>> y.on_gradient(lambda grad: np.clip(grad, -0.5, 0.5))
    >>> y.sum().backward()
    [1. 1.]
    >>> x.grad
    array([5., 5.])
    """
    if not callable(fn):
        raise TypeError(f"on_gradient needs a function that takes the gradient; got {type(fn).__name__}")
    if not tensor.requires_grad:
        raise RuntimeError(f"on_gradient: no gradient reaches {tensor}, because it does not ask for one")
    tensor.hooks = (*tensor.hooks, fn)


def hooked(tensor, grad, account=None):
    """What the hooks of a tensor make of its gradient."""
    for fn in tensor.hooks:
        value = fn(grad)
        if value is None:
            continue
        where = f"on_gradient of {tensor.name or tensor}: the function {getattr(fn, '__name__', fn)!r}"
        if not isinstance(value, (np.ndarray, np.generic)) or not np.can_cast(value.dtype, grad.dtype, "same_kind"):
            kind = getattr(value, "dtype", type(value).__name__)
            raise TypeError(f"{where} must return None or an array of dtype {grad.dtype}; got {kind}")
        if value.shape != grad.shape:
            raise ValueError(f"{where} must return None or an array of shape {grad.shape}; got {value.shape}")
        grad = as_array(value, grad.dtype)
        if account is not None:
            account[tensor] = True  # a hook's word goes for all elements, see taking.py
    return grad
