"""Code that is called while the engine works: the hooks of a user, and the watchers of the debugging tools.

Without either, all of this costs the engine a look at an empty tuple and an empty list for each tensor.
"""

import contextlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.arrays import as_array

if TYPE_CHECKING:
    from typing_extensions import Self

WATCHERS: "list[Watcher]" = []
UNWATCHED: ContextVar[bool] = ContextVar("unwatched", default=False)


class Watcher:
    """Sees every op of every thread before and after its rules, as long as its `with` block lasts. Watchers nest.

    Each method below is called by the engine and does nothing here. Those that return True ask for a `breakpoint()`
    in the frame that is about to run the rule.
    """

    def __enter__(self) -> "Self":
        WATCHERS.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        WATCHERS.remove(self)

    def before_forward(self, op):
        """`op.inputs` and `op.scope` are known."""
        return False

    def after_forward(self, op, result):
        """`result` is the new tensor; its `op` is None where nothing is recorded."""

    def before_pass(self, output):
        """A backward pass is about to start from the tensor `output`."""

    def before_backward(self, step):
        """`step.grad_output` is final; `step.grad_inputs` is None, since the rule has not run."""
        return False

    def before_leaf(self, leaf, grad):
        """The leaf's `grad` is about to get `grad`: what this pass delivered in all, after its hooks."""

    def after_backward(self, step):
        """The step is complete, and kept."""


@contextlib.contextmanager
def unwatched():
    """Inside, this thread's passes call no watcher: they are made to look at a graph, not by the user's program."""
    token = UNWATCHED.set(True)
    try:
        yield
    finally:
        UNWATCHED.reset(token)


def watchers():
    return () if UNWATCHED.get() else tuple(WATCHERS)


def before_forward(op):
    return any([watcher.before_forward(op) for watcher in watchers()])


def after_forward(op, result):
    for watcher in watchers():
        watcher.after_forward(op, result)


def before_pass(output):
    for watcher in watchers():
        watcher.before_pass(output)


def before_backward(step):
    return any([watcher.before_backward(step) for watcher in watchers()])


def before_leaf(leaf, grad):
    for watcher in watchers():
        watcher.before_leaf(leaf, grad)


def after_backward(step):
    for watcher in watchers():
        watcher.after_backward(step)


def on_gradient(tensor: Any, fn: Callable[[np.ndarray], np.ndarray | None]) -> None:
    """Call `fn(grad)` in every backward pass that reaches this tensor: once, with dL/d(tensor) in its shape.

    The gradient is the total of this pass: every consumer has contributed. What `fn` returns decides how it goes on:
    None leaves the gradient as it is; an array of the same shape takes its place, for this tensor's `grad` and for
    everything behind it. Several functions are called in the order in which they came, each with what the one
    before made of it. They stand in ``tensor.hooks``, a tuple; ``tensor.hooks = ()`` takes them off.

    The array is read-only. The tensor owns `fn`, so an `fn` that refers to the tensor makes a reference cycle.

    Raises:
        RuntimeError: a tensor that does not require a gradient, so that `fn` would never be called.
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
        raise RuntimeError(f"on_gradient: no gradient reaches {tensor}, because it does not require one")
    tensor.hooks = (*tensor.hooks, fn)


def after_hooks(tensor, grad):
    """What the hooks of a tensor make of its gradient."""
    for fn in tensor.hooks:
        value = fn(grad)
        if value is None:
            continue
        where = f"on_gradient of {tensor.name or tensor}: the function {getattr(fn, '__name__', fn)!r}"
        if not isinstance(value, (np.ndarray, np.generic)) or not np.can_cast(value.dtype, grad.dtype, "same_kind"):
            raise TypeError(f"{where} must return None or an array of dtype {grad.dtype}; got {kind_of(value)}")
        if value.shape != grad.shape:
            raise ValueError(f"{where} must return None or an array of shape {grad.shape}; got {value.shape}")
        grad = as_array(value, grad.dtype)
    return grad


def kind_of(value):
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype
    return f"a {type(value).__name__}" + (", whose array is its .data" if hasattr(value, "requires_grad") else "")
