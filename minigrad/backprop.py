"""Backpropagation: the order of the nodes, and the one loop that walks them.

The chain rule for a tensor y that several ops read:  dL/dy = sum over its readers of what each delivers to y.
So a node may run its rule only when every reader has delivered, and then the loop below is all there is.
"""

from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from minigrad.arrays import few, norm
from minigrad.gradients import delivered, total
from minigrad.hooks import hooked
from minigrad.taking import account_for, enter
from minigrad.watching import WATCHERS, after_backward, before_backward, before_leaf, before_pass

if TYPE_CHECKING:
    from minigrad.op import Op
    from minigrad.tensor import Tensor


class Step(NamedTuple):
    """One node of the backward pass, shown after its rule has run.

    `grad_output` is final: every reader of `tensor` has contributed. `grad_inputs` is what the node delivered to
    each of `op.inputs`, in their shapes; None for an input that wants no gradient.
    """

    tensor: "Tensor"
    op: "Op"
    grad_output: np.ndarray
    grad_inputs: tuple[np.ndarray | None, ...] | None  # None in the hands of a watcher, before the rule has run

    def __repr__(self):
        norms = few("-" if g is None else f"{norm(g):.4g}" for g in self.grad_inputs or ())
        return f"<step {self.op.path}, |grad_output|={norm(self.grad_output):.4g}, |grad_inputs|=({norms})>"


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


def backprop(output, grad_output, retain_grads=True):
    """Walk from `output` back to the leaves, one op at a time; yield a `Step` after each.

    Leaves add what they get to `grad`, over all passes. With `retain_grads` inner tensors keep `grad` and ops keep
    `grad_inputs`, both of this pass alone.
    """
    if WATCHERS:
        before_pass(output)
    order = topological_order(output)
    for tensor in order:
        if tensor.op is not None:
            tensor.grad = tensor.op.grad_inputs = None

    account = account_for(order)
    grads = {output: grad_output}
    for tensor in order:
        grad_output = grads.pop(tensor, None)
        if grad_output is None:
            continue  # a constant, or read only by ops that deliver nothing to it
        if tensor.hooks:
            grad_output = hooked(tensor, grad_output, account)
        op = tensor.op
        if op is None:
            add_to_leaf(tensor, grad_output)
            continue

        if WATCHERS and before_backward(Step(tensor, op, grad_output, None)):
            breakpoint()  # break_at was waiting for this op: one step enters its rule
        grad_inputs = delivered(op, op.backward(grad_output), account and enter(account, tensor))
        for x, grad_x in zip(op.inputs, grad_inputs, strict=True):
            if grad_x is not None:
                grads[x] = total(grads[x], grad_x) if x in grads else grad_x

        if retain_grads:
            tensor.grad = np.array(grad_output)
            op.grad_inputs = grad_inputs
        step = Step(tensor, op, grad_output, grad_inputs)
        if WATCHERS:
            after_backward(step)
        yield step
        del step, grad_inputs  # their arrays need not wait for the next rule to have run


def add_to_leaf(leaf, grad):
    if WATCHERS:
        before_leaf(leaf, grad)
    leaf.grad = np.array(grad) if leaf.grad is None else np.asarray(leaf.grad + grad)
