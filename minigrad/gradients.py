"""Gradients at the door: what a backward pass may start with, and what a rule may deliver."""

import numpy as np

from minigrad.arrays import as_array, sum_to_shape
from minigrad.taking import in_shape


def first_gradient(output, grad):
    """The gradient that a backward pass starts with: dL/d(output), read-only."""
    if not output.requires_grad:
        raise RuntimeError(
            f"backward() from {output}: nothing was recorded, so no gradient can flow. Make a leaf with "
            f"requires_grad=True, and compute outside of no_grad()"
        )
    if output.dtype.kind != "f":
        raise TypeError(f"backward() from a tensor of dtype {output.dtype}: only a floating type has a gradient")
    if grad is None:
        if output.size != 1:
            raise ValueError(
                f"backward() without a gradient needs a single number; this tensor has shape {output.shape}. "
                f"Reduce it first (loss = t.sum()), or pass dL/dt of that shape: t.backward(grad)"
            )
        grad = np.ones(output.shape)
    grad = as_array(getattr(grad, "data", grad) if hasattr(grad, "requires_grad") else grad)
    if grad.shape != output.shape:
        raise ValueError(f"backward(grad): grad has shape {grad.shape}, but this tensor has shape {output.shape}")
    return as_array(grad, output.dtype)


def total(grad, more):
    """What two readers delivered to one tensor, in an array of its own."""
    grad = np.asarray(grad + more)
    grad.setflags(write=False)
    return grad


def delivered(op, grads, taken=None):
    """What a rule returned, as the op's inputs get it: checked, in their shapes and dtypes, and read-only.

    `taken` says which elements of each input count, see taking.py; None if all of them do.

    Raises:
        TypeError: not one gradient per input, or a gradient that is no array of real numbers.
        ValueError: a gradient whose shape its input cannot have been broadcast to.
    """
    if not isinstance(grads, tuple) or len(grads) != len(op.inputs):
        got = f"a tuple of {len(grads)}" if isinstance(grads, tuple) else type(grads).__name__
        raise TypeError(
            f"{op.path}: backward must return a tuple with one gradient per input ({len(op.inputs)}), "
            f"or None in the place of an input that gets none; got {got}. Op made at {op.location}."
        )

    result = []
    for i, x in enumerate(op.inputs):
        grad_x = grads[i]
        if not x.requires_grad or grad_x is None:
            result.append(None)
            continue
        if not isinstance(grad_x, np.ndarray):
            grad_x = np.asarray(grad_x)
        if taken is not None:
            grad_x = np.where(in_shape(taken[i], grad_x.shape), grad_x, 0)
        if grad_x.shape != x.data.shape or grad_x.dtype != x.data.dtype:
            try:
                grad_x = sum_to_shape(grad_x, x.data.shape).astype(x.data.dtype, casting="same_kind", copy=False)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{op.path}: backward, gradient {i}: {error}. Op made at {op.location}.") from None
        grad_x.setflags(write=False)
        result.append(grad_x)
    return tuple(result)
