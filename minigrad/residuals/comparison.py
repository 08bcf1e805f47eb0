"""compare: two graphs of the same program side by side, and the first place where they differ."""

from typing import Any, NamedTuple

import numpy as np

from minigrad.backprop import delivered, first_gradient, topological_order, total
from minigrad.graph import arguments
from minigrad.residuals.tables import Printed, Table, place
from minigrad.tensor import Tensor

NAMES = ("a", "b")
TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9}


class Difference(NamedTuple):
    """Where two graphs differ first, with what is there in each.

    Attributes:
        where: the path of the op in the first graph, or the name of a leaf; for an arrow, the op and its input.
        lines: where the user's program made it, for each graph.
        a, b: the two arrays; None where there is nothing.
        text: what differs, in words.
    """

    where: str
    lines: tuple[str, str]
    a: np.ndarray | None
    b: np.ndarray | None
    text: str

    @property
    def largest(self) -> float:
        """The largest difference of two elements; inf if the shapes differ."""
        if self.a is None or self.b is None or self.a.shape != self.b.shape:
            return float("inf")
        return float(np.abs(self.a.astype(np.float64) - self.b).max(initial=0))

    def __repr__(self):
        return f"<difference at {self.where}>"


class Comparison(Printed):
    """What `compare` found; `print()` gives a report.

    Attributes:
        parting: where the programs part: the first op that is another one, or reads something else; None if nowhere.
        leaves: inputs and weights whose values differ.
        value: the first result that differs, walking from the inputs; None if none does.
        cause: the first result that differs though all that its op read is equal; None if there is none.
        gradient: the first arrow that delivered another gradient, walking back from the losses; None if none does.
        n_compared: how many results were compared, and how many arrows.
    """

    def __init__(
        self,
        parting: Difference | None,
        leaves: list[Difference],
        value: Difference | None,
        cause: Difference | None,
        gradient: Difference | None,
        n_compared: tuple[int, int],
    ):
        self.parting, self.leaves, self.value, self.cause, self.gradient = parting, leaves, value, cause, gradient
        self.n_compared = n_compared

    @property
    def is_equal(self) -> bool:
        return not (self.parting or self.leaves or self.value or self.gradient)

    def __str__(self) -> str:
        n_values, n_arrows = self.n_compared
        if self.is_equal:
            return f"No difference: {n_values} results and the gradients on {n_arrows} arrows are equal."
        lines = []
        if self.parting:
            lines += told("The programs part", self.parting)
        for difference in self.leaves[:3]:
            lines.append(f"Input {difference.where} differs: {difference.text}.")
        if len(self.leaves) > 3:
            lines.append(f"So do {len(self.leaves) - 3} more inputs.")
        if self.value:
            lines += told("The first value that differs", self.value)
        else:
            lines.append(f"All {n_values} results that were compared are equal.")
        if self.cause and self.cause is not self.value:
            lines += told("The first that differs though all that its op read is equal", self.cause)
        if self.gradient:
            lines += told("Walking back, the first arrow whose gradient differs", self.gradient)
        else:
            lines.append(f"The gradients on all {n_arrows} arrows that were compared are equal.")
        return "\n".join(lines)

    def table(self, rows: int | None = None) -> Table:
        cells = [
            (what, difference.where, f"{difference.largest:.3g}", *difference.lines)
            for what, difference in self.found()[:rows]
        ]
        return Table("Where the two differ", ("what", "where", "largest", "line of a", "line of b"), cells)

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self.found() else f"<p>{self}</p>"

    def found(self):
        named = [("parting", self.parting), *(("input", leaf) for leaf in self.leaves), ("value", self.value)]
        named += [("cause", self.cause), ("gradient", self.gradient)]
        return [(what, difference) for what, difference in named if difference is not None]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One for each difference: what, where, lines, a, b, largest, text."""
        return [{"what": what, **d._asdict(), "largest": d.largest} for what, d in self.found()]

    def __repr__(self):
        return f"<Comparison: {len(self.found())} differences>"


def told(what, difference):
    lines = [f"{what}: {difference.where}", f"   {difference.text}."]
    if any(difference.lines):
        lines += [f"   {name}: made at {line or 'no line'}" for name, line in zip(NAMES, difference.lines, strict=True)]
    return lines


def compare(loss_a: Tensor, loss_b: Tensor, *, rtol: float | None = None, atol: float = 0.0) -> Comparison:
    """Walk two graphs of the same program side by side, and say where they differ first: by values, and by gradients.

    For two checkpoints, a port beside its original, a pre-norm block beside a post-norm one, a broken block beside a
    right one. Forward, ops are paired in the order in which they were made, as long as they are of the same kind and
    read the same; where they are not, the programs part. Backward, they are paired from the losses on. It needs no
    `backward()` before it, and changes no `grad`.

    Args:
        loss_a, loss_b: single numbers, the results of the two programs.
        rtol: two arrays are equal if no element differs by more than rtol times the largest one (plus atol); by
            default 1e-9 for float64, 1e-4 for float32.
        atol: see there.

    Returns:
        A `Comparison`; `print()` of it is a report.

    Raises:
        TypeError: a loss that is no tensor.

    >>> def program(x, factor):
    ...     return (x.tanh() * factor).sum()
    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> found = compare(program(x, 2.0), program(x, 3.0))
    >>> found.value.where, found.gradient.where
    ('multiply', 'multiply -> tanh')
    >>> compare(program(x, 2.0), program(x, 2.0)).is_equal
    True
    """
    for loss in (loss_a, loss_b):
        if not isinstance(loss, Tensor):
            raise TypeError(f"compare takes two losses, both tensors; got {type(loss).__name__}")
    equal = Equality(rtol, atol)
    pairs, parting = paired(loss_a, loss_b)
    leaves, value, cause, n_values = compare_values(pairs, equal)
    gradient, n_arrows = compare_gradients(loss_a, loss_b, equal)
    return Comparison(parting, leaves, value, cause, gradient, (n_values, n_arrows))


class Equality:
    """Whether two arrays are equal, up to a tolerance."""

    def __init__(self, rtol, atol):
        self.rtol, self.atol = rtol, atol

    def __call__(self, a, b):
        if a is None or b is None or a.shape != b.shape:
            return a is b
        rtol = TOLERANCE.get(min(a.dtype.name, b.dtype.name), 0.0) if self.rtol is None else self.rtol
        a, b = a.astype(np.float64), b.astype(np.float64)
        if a.size == 0 or np.array_equal(a, b, equal_nan=True):
            return True
        with np.errstate(all="ignore"):
            size = max(np.abs(a[np.isfinite(a)]).max(initial=0), np.abs(b[np.isfinite(b)]).max(initial=0))
            return bool(np.allclose(a, b, rtol=0, atol=rtol * size + self.atol, equal_nan=True))


def paired(loss_a, loss_b):
    """The tensors of one graph with those of the other, from the inputs on, and where the programs part."""
    a, b = (
        [tensor for tensor in reversed(topological_order(loss)) if tensor.op is not None] for loss in (loss_a, loss_b)
    )
    pairs = {}
    for x, y in zip(a, b, strict=False):
        if reason := unlike(x.op, y.op, pairs):
            return pairs, difference(x, y, reason)
        pairs.update(zip(x.op.inputs, y.op.inputs, strict=True))
        pairs[x] = y
    if len(a) != len(b):
        longer, name = (a, "a") if len(a) > len(b) else (b, "b")
        next_one = longer[min(len(a), len(b))]
        text = f"{name} goes on with {next_one.op.path}, and the other one ends"
        lines = ("", next_one.op.location) if name == "b" else (next_one.op.location, "")
        return pairs, Difference(next_one.op.path, lines, None, None, text)
    return pairs, None


def unlike(op_a, op_b, pairs):
    """Why two ops are not the same step of a program, in words; None if they are."""
    if op_a.name != op_b.name:
        return f"a has {op_a.name} and b has {op_b.name}"
    if len(op_a.inputs) != len(op_b.inputs):
        return f"{op_a.name} reads {len(op_a.inputs)} tensors in a and {len(op_b.inputs)} in b"
    for i, (x, y) in enumerate(zip(op_a.inputs, op_b.inputs, strict=True)):
        if x.shape != y.shape:
            return f"input {i} of {op_a.name} has shape {x.shape} in a and {y.shape} in b"
        if (x in pairs or (x.op is None) != (y.op is None)) and pairs.get(x) is not y:
            return f"input {i} of {op_a.name} is {place(x)} in a and {place(y)} in b"
    return None


def compare_values(pairs, equal):
    """Leaves that differ, the first result that does, the first one that does though its inputs are equal; a count."""
    leaves, value, cause, n = [], None, None, 0
    differ = {x for x, y in pairs.items() if not equal(x.data, y.data)}
    for x, y in pairs.items():
        if x.op is None:
            if x in differ:
                leaves.append(difference(x, y, largest_in_words(x.data, y.data)))
            continue
        n += 1
        told = arguments_in_words(x.op, y.op)
        if x in differ:
            found = difference(x, y, largest_in_words(x.data, y.data) + told)
            value = value or found
            if cause is None and differ.isdisjoint(x.op.inputs):
                cause = found
    return leaves, value, cause, n


def compare_gradients(loss_a, loss_b, equal):
    """The first arrow, walking back, on which another gradient was delivered; and how many were compared."""
    n = 0
    for (x, grads_x), (y, grads_y) in zip(delivered_by_each(loss_a), delivered_by_each(loss_b), strict=False):
        if x.op.name != y.op.name or len(grads_x) != len(grads_y):
            text = f"walking back, a comes to {x.op.path} and b to {y.op.path}"
            return Difference(x.op.path, (x.op.location, y.op.location), None, None, text), n
        for i, (a, b) in enumerate(zip(grads_x, grads_y, strict=True)):
            n += 1
            if not equal(a, b):
                where = f"{x.op.path} -> {place(x.op.inputs[i]) or i}"
                text = largest_in_words(a, b) + arguments_in_words(x.op, y.op)
                return Difference(where, (x.op.location, y.op.location), a, b, text), n
    return None, n


def delivered_by_each(loss):
    """Walk back as `backward()` does, changing nothing: each tensor with what its op delivers to its inputs."""
    waiting = {loss: first_gradient(loss, None)}
    for tensor in topological_order(loss):
        grad = waiting.pop(tensor, None)
        if grad is None or tensor.op is None:
            continue
        grads = delivered(tensor.op, tensor.op.backward(grad))
        yield tensor, grads
        for x, grad_x in zip(tensor.op.inputs, grads, strict=True):
            if grad_x is not None:
                waiting[x] = total(waiting[x], grad_x) if x in waiting else grad_x


def difference(x, y, text):
    """A difference between two tensors."""
    lines = tuple(tensor.op.location if tensor.op is not None else "" for tensor in (x, y))
    name = place(x) if place(x) == place(y) or not place(y) else f"{place(x)} (b: {place(y)})"
    return Difference(name, lines, x.data, y.data, text)


def largest_in_words(a, b):
    """Where two arrays differ most, and by how much."""
    if a is None or b is None:
        return f"{NAMES[a is None]} has a gradient there, and {NAMES[b is None]} has none"
    if a.shape != b.shape:
        return f"a has shape {a.shape}, b {b.shape}"
    if a.size == 0:
        return "both are empty"
    with np.errstate(all="ignore"):
        gap = np.abs(a.astype(np.float64) - b)
    index = np.unravel_index(np.where(np.isnan(gap), np.inf, gap).argmax(), a.shape)
    where = f" at {[int(i) for i in index]}" if index else ""
    return f"by up to {gap[index]:.3g}{where}, where a has {a[index]:.6g} and b {b[index]:.6g}"


def arguments_in_words(op_a, op_b):
    """Which arguments of an op are others, such as eps or axis; empty if none is."""
    a, b = arguments(op_a), arguments(op_b)
    others = [
        f"{name}={a.get(name)!r} in a, {b.get(name)!r} in b"
        for name in a
        if name != "label" and not np.array_equal(np.asarray(a[name]), np.asarray(b.get(name)))
    ]
    return f"; {', '.join(others)}" if others else ""
