"""The backward pass that a page steps through, made on a copy of the graph: the user's own keeps its gradients."""

import copy
from typing import NamedTuple

import numpy as np

from minigrad.backprop import topological_order, total
from minigrad.tensor import Tensor
from minigrad.watching import unwatched


class GradientStep(NamedTuple):
    """One node of the backward pass.

    Attributes:
        tensor: whose gradient is complete now.
        grad_output: dL/d(tensor).
        grad_inputs: what its op delivered to each of its inputs; empty for a leaf, None where none is required.
        so_far: for each input, the sum of what all consumers up to this one have delivered to it.
    """

    tensor: Tensor
    grad_output: np.ndarray
    grad_inputs: tuple[np.ndarray | None, ...]
    so_far: tuple[np.ndarray | None, ...]


def gradient_steps(output):
    """Make a pass from `output` on a copy of its graph, and yield a `GradientStep` for each tensor that it reaches.

    It starts with the gradient of the last pass if that was kept, else with 1. No hook and no watcher is called; where
    a hook made something else of a gradient, that is taken from the last pass.
    """
    order = topological_order(output)
    twins = {}
    copy.deepcopy(output, twins)  # twins: from the id of a tensor to its copy
    for tensor in order:
        twin = twins[id(tensor)]
        twin.hooks = (KeptGradient(tensor.grad),) if tensor.hooks and tensor.op and tensor.grad is not None else ()
        twin.grad = None
    start = None if output.op is None else output.grad
    with unwatched():
        steps = {step.tensor: step for step in twins[id(output)].backprop(start)}

    sums = {}
    for tensor in order:
        twin = twins[id(tensor)]
        if twin.op is None and twin.grad is not None:
            yield GradientStep(tensor, twin.grad, (), ())
        elif twin in steps:
            grad_inputs, so_far = steps[twin].grad_inputs, []
            for x, grad_x in zip(tensor.op.inputs, grad_inputs, strict=True):
                if grad_x is not None:
                    sums[x] = total(sums[x], grad_x) if x in sums else grad_x
                so_far.append(None if grad_x is None else sums[x])
            yield GradientStep(tensor, steps[twin].grad_output, grad_inputs, tuple(so_far))


class KeptGradient:
    """Stands in for the hooks of a tensor: what they made of its gradient in the last pass."""

    def __init__(self, grad):
        self.grad = grad

    def __call__(self, grad):
        return self.grad
