"""explain: where one tensor's gradient came from, and what its op's rule made of it, in words and numbers."""

import numpy as np

from minigrad.arrays import norm
from minigrad.backprop import topological_order
from minigrad.debugging.paths import readers
from minigrad.debugging.rule_check import Check, check_rule
from minigrad.debugging.words import amount, input_names, made_at, name_of, numbers_of, result_name, rule_of
from minigrad.op import Op
from minigrad.tensor import Tensor


class Contribution:
    """What one reader delivered to the tensor: `op`'s gradient for its input number `index`."""

    def __init__(self, op: Op, index: int, gradient: np.ndarray):
        self.op, self.index, self.gradient = op, index, gradient

    def __repr__(self):
        return f"<contribution of {self.op.path}, input {self.index}, norm={norm(self.gradient):.4g}>"


class Delivery:
    """What the rule made for one input.

    Attributes:
        name: what the docstring calls the input, such as "x".
        tensor: the input.
        gradient: dL/d(input), in its shape; None if it wants none.
        summed_axes: the axes of the rule's result over which the engine summed, because broadcasting had repeated
            the input along them.
    """

    def __init__(self, name: str, tensor: Tensor, gradient: np.ndarray | None, summed_axes: tuple[int, ...]):
        self.name, self.tensor, self.gradient, self.summed_axes = name, tensor, gradient, summed_axes

    def __repr__(self):
        size = "none" if self.gradient is None else f"norm={norm(self.gradient):.4g}"
        return f"<delivery to {self.name} {self.tensor.shape}, {size}, summed over axes {self.summed_axes}>"


class Explanation:
    """What `explain` found. `print()` of it is the whole text.

    Attributes:
        tensor: what was explained.
        contributions: what each of its readers delivered; they add up to the gradient of the last pass.
        deliveries: what its op made of that for each of its own inputs; empty for a leaf.
        check: of the op's rule against finite differences; None for a leaf.
    """

    def __init__(
        self, tensor: Tensor, contributions: list[Contribution], deliveries: list[Delivery], check: Check | None
    ):
        self.tensor = tensor
        self.contributions, self.deliveries, self.check = contributions, deliveries, check

    def __str__(self):
        op = self.tensor.op
        lines = [f"{name_of(self.tensor)} {numbers_of(self.tensor.data)}"]
        lines += ["  a leaf: no op made it"] if op is None else rule_lines(op)
        lines += gradient_lines(self.tensor, self.contributions)
        if op is not None:
            lines += [delivery_line(delivery) for delivery in self.deliveries]
            lines += [f"  finite differences: {self.check}"]
        return "\n".join(lines)

    def __repr__(self):
        return f"<explanation of {name_of(self.tensor)}, {len(self.contributions)} contributions>"


def explain(tensor: Tensor, loss: Tensor | None = None) -> Explanation:
    """Explain a tensor's gradient: its op's rule, who contributed, what went on to the inputs, and whether it is right.

    Call it after ``backward()``, which keeps what every reader delivered.

    Args:
        tensor: any tensor of a graph.
        loss: the output of the pass that is meant; needed only if passes from several outputs went through the tensor.

    Returns:
        An `Explanation`; `print()` of it is the text.

    Raises:
        TypeError: no tensor.

    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> y = x.tanh()
    >>> loss = (y * y).sum()
    >>> loss.backward()
    >>> print(explain(y))
    tanh (2,) float64, from 0.7616 to 0.964
      rule: y = tanh x;   dL/dx = dL/dy * (1 - y^2).
      made at <doctest ...>:1: y = x.tanh()
      reads x = x (2,) float64, from 1 to 2
      dL/dy (2,) [1.5232 1.9281] norm 2.457, the sum of 2 contributions
        from multiply, its x: (2,) [0.7616 0.964 ] norm 1.229
        from multiply, its y: (2,) [0.7616 0.964 ] norm 1.229
      delivers dL/dx to x: (2,) [0.6397 0.1362] norm 0.654
      finite differences: the rule agrees in 2 entries, to within ...
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"explain takes a tensor; got {type(tensor).__name__}")
    contributions = [c for c in contributions_to(tensor) if loss is None or is_behind(c.op, loss)]
    if tensor.op is None:
        return Explanation(tensor, contributions, [], None)
    return Explanation(tensor, contributions, deliveries_of(tensor), check_rule(tensor.op))


def contributions_to(tensor):
    """What the readers of a tensor delivered to it, in the order of a backward pass."""
    delivered = [op for op in reversed(readers(tensor)) if op.grad_inputs is not None]
    edges = [(op, i) for op in delivered for i, x in enumerate(op.inputs) if x is tensor]
    return [Contribution(op, i, op.grad_inputs[i]) for op, i in edges if op.grad_inputs[i] is not None]


def deliveries_of(tensor):
    """What the op of a tensor delivered to each of its inputs in the last pass."""
    op, names = tensor.op, input_names(tensor.op)
    if op.grad_inputs is None or tensor.grad is None:
        return [Delivery(name, x, None, ()) for name, x in zip(names, op.inputs, strict=True)]
    with np.errstate(all="ignore"):
        raw = op.backward(tensor.grad)
    return [
        Delivery(names[i], x, op.grad_inputs[i], summed_axes(np.shape(raw[i]), x.shape) if raw[i] is not None else ())
        for i, x in enumerate(op.inputs)
    ]


def summed_axes(shape, target):
    """The axes over which a gradient of this shape is summed to fit an input of shape `target`.

    >>> summed_axes((5, 2, 3), (2, 1))
    (0, 2)
    """
    added = len(shape) - len(target)
    return tuple(i for i, n in enumerate(shape) if i < added or (target[i - added] == 1 and n != 1))


def rule_lines(op):
    first, *more = rule_of(op)
    lines = [f"  rule: {first}"] + [f"        {line}" for line in more if line] + [f"  made at {made_at(op)}"]
    for name, x in zip(input_names(op), op.inputs, strict=True):
        lines.append(f"  reads {name} = {name_of(x)} {numbers_of(x.data)}")
    return lines


def gradient_lines(tensor, contributions):
    """The gradient, and the contributions that add up to it."""
    y = result_name(tensor.op) if tensor.op is not None else tensor.name or f"({name_of(tensor)})"
    if tensor.grad is None:
        return [f"  dL/d{y}: not computed; why(tensor, loss) says more"]
    lines = [f"  dL/d{y} {amount(tensor.grad)}"]
    if not contributions:
        lines.append("    given to backward(), or its readers are gone: keep the loss to see who contributed")
        return lines
    lines[0] += f", the sum of {len(contributions)} contribution{'s' * (len(contributions) > 1)}"
    for c in contributions:
        lines.append(f"    from {c.op.path}, its {input_names(c.op)[c.index]}: {amount(c.gradient)}")
    together = sum(c.gradient for c in contributions)
    if not np.allclose(together, tensor.grad, equal_nan=True):
        reason = "functions of on_gradient changed it" if tensor.hooks else "several passes went through here"
        lines.append(f"    together {amount(together)}, which is not the gradient above: {reason}")
    return lines


def delivery_line(delivery):
    words = f"  delivers dL/d{delivery.name} "
    if delivery.gradient is None:
        return words + f"to nobody: {name_of(delivery.tensor)} gets no gradient here"
    words += f"to {name_of(delivery.tensor)}: {amount(delivery.gradient)}"
    if delivery.summed_axes:
        axes = ", ".join(map(str, delivery.summed_axes))
        words += (
            f", summed over the ax{'es' if len(delivery.summed_axes) > 1 else 'is'} {axes} that broadcasting repeated"
        )
    return words


def is_behind(op, loss):
    return any(tensor.op is op for tensor in topological_order(loss))
