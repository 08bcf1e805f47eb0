"""Backpropagation: the order of the tensors, and the one walk back through them.

The chain rule for a tensor y that several ops read:  dL/dy = sum over its consumers of what each delivers to y.
So an op may run its rule only when every consumer of its result has delivered, and the walk below is all there is.
"""

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minigrad import watching, wording
from minigrad.arrays import as_array, sum_to_shape

if TYPE_CHECKING:
    from minigrad.op import Op
    from minigrad.tensor import Tensor


class Step(NamedTuple):
    """One node of the backward pass. `grad_output` is final: every consumer of `tensor` has contributed.

    `grad_inputs` is what the node delivered to each of `op.inputs`, in their shapes; None where none is required.
    """

    tensor: "Tensor"
    op: "Op"
    grad_output: np.ndarray
    grad_inputs: tuple[np.ndarray | None, ...] | None  # None in the hands of a watcher, before the rule has run

    def __repr__(self):
        return wording.step_in_short(self)


def backprop(output: "Tensor", grad_output: np.ndarray | None, retain_grads: bool = True) -> Iterator[Step]:
    """Walk from `output` back to the leaves, one op at a time; yield a `Step` after each.

    Leaves add to `grad` over all passes; with `retain_grads` inner tensors keep `grad`, and ops `grad_inputs`, of this.
    """
    order = topological_order(output)
    begin_pass(order)
    grads = {output: grad_output}
    for tensor in order:
        grad_output = grads.pop(tensor, None)
        if grad_output is None:
            continue  # a constant, or read only by ops that deliver nothing to it
        if tensor.hooks:
            grad_output = watching.after_hooks(tensor, grad_output)
        op = tensor.op
        if op is None:
            add_to_leaf(tensor, grad_output)
            continue

        if watching.WATCHERS and watching.before_backward(Step(tensor, op, grad_output, None)):
            breakpoint()  # break_at was waiting for this op: one step enters its rule
        grad_inputs = delivered(op, op.backward(grad_output))
        for x, grad_x in zip(op.inputs, grad_inputs, strict=True):
            if grad_x is not None:
                grads[x] = total(grads[x], grad_x) if x in grads else grad_x

        if retain_grads:
            tensor.grad, op.grad_inputs = np.array(grad_output), grad_inputs
        step = Step(tensor, op, grad_output, grad_inputs)
        if watching.WATCHERS:
            watching.after_backward(step)
        yield step
        del step, grad_inputs  # their arrays need not wait for the next rule to have run


def topological_order(output):
    """All tensors that `output` was made from, itself first, each behind every op that reads it.

    Ops are numbered as they are made, so an op is younger than the ops that made its inputs: youngest first is such
    an order, and it reads as the program backwards. A leaf stands right behind the oldest op that reads it.

    >>> from minigrad import Tensor
    >>> x = Tensor(3.0, requires_grad=True, name="x")
    >>> y = x * x + x
    >>> [tensor.name or tensor.op.name for tensor in topological_order(y)]
    ['add', 'multiply', 'x']
    """
    age = {output: inf}
    unread = [output]
    while unread:
        op = unread.pop().op
        if op is None:
            continue
        for x in op.inputs:
            if x.op is None:
                age[x] = min(op.number - 0.5, age.get(x, inf))
            elif x not in age:
                age[x] = x.op.number
                unread.append(x)
    return sorted(age, key=age.__getitem__, reverse=True)


def leaves_behind(output):
    """The leaves that a pass from `output` may reach."""
    return [tensor for tensor in topological_order(output) if tensor.op is None and tensor.requires_grad]


def begin_pass(order):
    """Tell the watchers, and forget what the last pass left on inner tensors and arrows."""
    if watching.WATCHERS:
        watching.before_pass(order[0])
    for tensor in order:
        if tensor.op is not None:
            tensor.grad = tensor.op.grad_inputs = None


def first_gradient(output, grad):
    """The gradient that a pass starts with, dL/d(output), as a read-only array: `grad`, or 1 for a single number."""
    if not output.requires_grad or output.dtype.kind != "f" or (grad is None and output.size != 1):
        raise wording.no_backward_from(output)
    grad = grad.data if hasattr(grad, "requires_grad") else grad
    grad = as_array(np.ones(output.shape) if grad is None else grad)
    if grad.shape != output.shape:
        raise ValueError(f"backward(grad): grad has shape {grad.shape}, but this tensor has shape {output.shape}")
    return as_array(grad, output.dtype)


def delivered(op, grads):
    """What a rule returned, as the op's inputs get it: checked, in their shapes and dtypes, and read-only.

    Raises:
        TypeError: not one gradient per input, or a gradient that is no array of real numbers.
        ValueError: a gradient whose shape its input cannot have been broadcast to.
    """
    if not isinstance(grads, tuple) or len(grads) != len(op.inputs):
        raise wording.bad_backward(op, grads)
    result = []
    for i, x in enumerate(op.inputs):
        grad_x = grads[i] if x.requires_grad else None
        if grad_x is not None:
            grad_x = np.asarray(grad_x)
            if grad_x.shape != x.data.shape or grad_x.dtype != x.data.dtype:
                try:
                    grad_x = sum_to_shape(grad_x, x.data.shape).astype(x.data.dtype, casting="same_kind", copy=False)
                except (TypeError, ValueError) as error:
                    raise wording.bad_gradient(op, i, error) from None
            grad_x.setflags(write=False)
        result.append(grad_x)
    return tuple(result)


def total(grad, more):
    """Where a tensor fans out: the sum of what two consumers delivered to it, in an array of its own."""
    grad = np.asarray(grad + more)
    grad.setflags(write=False)
    return grad


def add_to_leaf(leaf, grad):
    if watching.WATCHERS:
        watching.before_leaf(leaf, grad)
    leaf.grad = np.array(grad) if leaf.grad is None else np.asarray(leaf.grad + grad)
