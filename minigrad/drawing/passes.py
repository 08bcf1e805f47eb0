"""The two passes that a page steps through, without running `backward()`."""

from typing import NamedTuple

import numpy as np

from minigrad.backprop import topological_order
from minigrad.gradients import delivered, first_gradient, total
from minigrad.taking import account_for, enter
from minigrad.tensor import Tensor


class GradientStep(NamedTuple):
    """One node of the backward pass.

    Attributes:
        tensor: whose gradient is complete now.
        grad_output: dL/d(tensor).
        grad_inputs: what its op delivered to each of its inputs; empty for a leaf, None where nothing was wanted.
        so_far: for each input, the sum of what all readers up to this one have delivered to it.
    """

    tensor: Tensor
    grad_output: np.ndarray
    grad_inputs: tuple[np.ndarray | None, ...]
    so_far: tuple[np.ndarray | None, ...]


def gradient_steps(output):
    """Walk from `output` back to the leaves and yield a `GradientStep` for each; no `grad` and no arrow is changed.

    It is the loop of `minigrad.backprop`, except that it stores nothing and calls no hook. It starts with the
    gradient of the last pass if that was kept, else with 1. Where a hook made something else of a gradient, that is
    taken from the last pass.
    """
    order = topological_order(output)
    account = account_for(order)
    grads = {output: first_gradient(output, None if output.op is None else output.grad)}
    for tensor in order:
        grad_output = grads.pop(tensor, None)
        if grad_output is None:
            continue
        op = tensor.op
        if op is None:
            yield GradientStep(tensor, grad_output, (), ())
            continue
        if tensor.hooks and tensor.grad is not None:
            grad_output = tensor.grad

        so_far = []
        grad_inputs = delivered(op, op.backward(grad_output), account and enter(account, tensor))
        for x, grad_x in zip(op.inputs, grad_inputs, strict=True):
            if grad_x is not None:
                grads[x] = total(grads[x], grad_x) if x in grads else grad_x
            so_far.append(None if grad_x is None else grads[x])
        yield GradientStep(tensor, grad_output, grad_inputs, tuple(so_far))
