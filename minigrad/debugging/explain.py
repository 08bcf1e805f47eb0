"""explain: what one tensor's gradient is the sum of, and what its op's rule delivers to its inputs."""

import numpy as np

from minigrad.backprop import delivered, topological_order
from minigrad.debugging.reporting import (
    amount,
    consumers,
    docstring_of,
    input_names,
    made_at,
    name_of,
    numbers_of,
    result_name,
    twin_of,
)
from minigrad.gradcheck import judge
from minigrad.op import Op
from minigrad.precision import norm
from minigrad.tensor import Tensor

NOT_KEPT = "backward(retain_grads=False) keeps no gradient but those of leaves"
ENTRIES = 32  # of each input that are compared with finite differences


class Contribution:
    """What one consumer delivered to the tensor: `op`'s gradient for its input number `index`."""

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


class Check:
    """An op's rule against finite differences, at the values with which the op was used.

    Attributes:
        compared: number of entries whose gradient agreed with the slope.
        skipped: number of entries at a kink, or not finite.
        unmeasured: number of entries whose slope drowns in rounding.
        unseen: number of entries that were not compared, since only `ENTRIES` of each input are.
        worst: the largest difference between a gradient and its slope.
        wrong: the first entry that disagrees, as (input, index, gradient, slope); None if all agree.
    """

    def __init__(self) -> None:
        self.compared = self.skipped = self.unmeasured = self.unseen = 0
        self.worst = 0.0
        self.wrong: tuple[str, tuple[int, ...], float, float] | None = None

    def __bool__(self) -> bool:
        return self.wrong is None and self.compared > 0

    def __str__(self):
        if self.wrong is not None:
            name, index, gradient, slope = self.wrong
            return f"WRONG: dL/d{name} at index {index} is {gradient:.8g}, but the slope is {slope:.8g}"
        words = f"the rule agrees in {self.compared} entries, to within {self.worst:.1g}"
        if not self.compared:
            words = "nothing could be compared"
        words += f"; {self.skipped} at a kink or not finite were left out" if self.skipped else ""
        words += f"; {self.unmeasured} drown in rounding" if self.unmeasured else ""
        return words + (f"; {self.unseen:,} were not looked at (only {ENTRIES} of an input are)" if self.unseen else "")


class Explanation:
    """What `explain` found. `print()` of it is the whole text.

    Attributes:
        tensor: what was explained.
        contributions: what each of its consumers delivered; they add up to the gradient of the last pass.
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

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))  # in a notebook it shows itself

    def __repr__(self):
        return f"<explanation of {name_of(self.tensor)}, {len(self.contributions)} contributions>"


def explain(tensor: Tensor, loss: Tensor | None = None) -> Explanation:
    """Explain a tensor's gradient: its op's rule, the contributions, what it delivers, and whether it is right.

    Call it after ``backward()``, which keeps what every consumer delivered.

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
    """What the consumers of a tensor delivered to it, in the order of a backward pass."""
    delivered = [op for op in reversed(consumers(tensor)) if op.grad_inputs is not None]
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
    first, *more = docstring_of(op)
    lines = [f"  rule: {first}"] + [f"        {line}" for line in more if line] + [f"  made at {made_at(op)}"]
    for name, x in zip(input_names(op), op.inputs, strict=True):
        lines.append(f"  reads {name} = {name_of(x)} {numbers_of(x.data)}")
    return lines


def gradient_lines(tensor, contributions):
    """The gradient, and the contributions that add up to it."""
    y = result_name(tensor.op) if tensor.op is not None else tensor.name or f"({name_of(tensor)})"
    if tensor.grad is None:
        kept = "" if tensor.op is None else f", or not kept: {NOT_KEPT}"
        return [f"  dL/d{y}: not computed{kept}; why(tensor, loss) says more"]
    lines = [f"  dL/d{y} {amount(tensor.grad)}"]
    if not contributions and consumers(tensor):
        lines.append(f"    what its consumers delivered was not kept: {NOT_KEPT}")
        return lines
    if not contributions:
        lines.append("    given to backward(), or its consumers are gone: keep the loss to see the contributions")
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
        return words + f"to no input: {name_of(delivery.tensor)} gets no gradient here"
    words += f"to {name_of(delivery.tensor)}: {amount(delivery.gradient)}"
    if delivery.summed_axes:
        axes = ", ".join(map(str, delivery.summed_axes))
        words += (
            f", summed over the ax{'es' if len(delivery.summed_axes) > 1 else 'is'} {axes} that broadcasting repeated"
        )
    return words


def is_behind(op, loss):
    return any(tensor.op is op for tensor in topological_order(loss))


class Replay:
    """An op as a function that can be called again and again; each call runs a copy.

    Results that are not finite at the point itself count as 0, so that they do not drown the others.
    """

    def __init__(self, op, arrays):
        self.op = op
        self.finite = True
        self.finite = np.isfinite(self(*map(Tensor, arrays)).data)

    def __call__(self, *tensors):
        y = twin_of(self.op).forward(*(x.data for x in tensors))
        return Tensor.from_op(np.where(self.finite, y, 0), None)


def check_rule(op):
    """The op's rule against finite differences, in float64, on some entries of each input; see `gradcheck`."""
    with np.errstate(all="ignore"):
        arrays = [x.data.astype(np.float64) if x.dtype.kind == "f" else x.data for x in op.inputs]
        replay = Replay(op, arrays)
        y = replay(*map(Tensor, arrays)).data
        weights = np.where(replay.finite, np.random.default_rng(0).uniform(0.5, 1.5, y.shape), 0)

        twin = twin_of(op)
        twin.inputs = tuple(Tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays)
        twin.forward(*arrays)
        grads = delivered(twin, twin.backward(weights))

        check = Check()
        for i, grad in enumerate(grads):
            if grad is not None:
                check_entries(check, grad, replay, arrays, i, weights, y)
    return check


def check_entries(check, grad, replay, arrays, i, weights, y):
    """Compare some entries of dL/d(input i)."""
    places = np.flatnonzero(np.isfinite(arrays[i]))
    check.skipped += arrays[i].size - places.size
    check.unseen += max(places.size - ENTRIES, 0)
    if places.size > ENTRIES:
        places = np.random.default_rng(0).choice(places, ENTRIES, replace=False)
    for place in places:
        index = tuple(int(n) for n in np.unravel_index(place, arrays[i].shape))
        verdict, slope = judge(grad[index], replay, arrays, i, index, weights, y)
        if verdict == "right":
            check.compared += 1
            check.worst = max(check.worst, abs(grad[index] - slope.middle))
        elif verdict == "kink" or not (np.isfinite(grad[index]) or replay.finite.all()):
            check.skipped += 1  # or the result is not finite, and so has no slope
        elif verdict == "unmeasured":
            check.unmeasured += 1
        elif check.wrong is None:
            check.wrong = (input_names(replay.op)[i], index, float(grad[index]), slope.middle)
