"""detect_anomaly: which op made the first NaN or inf, and where it came from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.backprop import topological_order
from minigrad.debugging.paths import descendants
from minigrad.debugging.words import (
    FEW,
    first_bad,
    input_names,
    is_bad,
    made_at,
    name_of,
    numbers_of,
    result_name,
    rule_of,
)
from minigrad.op import Op
from minigrad.recording import user_frame
from minigrad.tensor import Tensor
from minigrad.watching import Watcher

if TYPE_CHECKING:
    from typing_extensions import Self

    from minigrad.drawing import Picture

RED, SHADE = "#d7191c", "#f4a582"


class Anomaly:
    """A NaN or inf, and who made it out of finite numbers. `print()` of it is the report.

    Attributes:
        phase: "forward" or "backward"; "given" if no op made it, because it came in from outside.
        tensor: the result of the culprit; in phase "given", the tensor that it came in with.
        op: the culprit; None for a leaf.
        index: of the first bad element, in the result or in the gradient that was delivered.
        tainted: the tensors that it spoils, the culprit's first.
        output: the tensor whose graph holds all of them.
    """

    def __init__(
        self,
        phase: str,
        tensor: Tensor,
        op: Op | None,
        array: np.ndarray,
        what: str,
        tainted: list[Tensor],
        output: Tensor,
    ):
        self.phase, self.tensor, self.op = phase, tensor, op
        self.index: tuple[int, ...] = first_bad(array)
        self.tainted, self.output = tainted, output
        self.lines = [f"{what} {array[self.index]} at index {self.index} of shape {array.shape}."]
        if op is not None:
            self.lines += [f"    rule       {rule_of(op)[0]}", f"    made at    {made_at(op)}"]
            self.lines += [
                f"    input {name:<4} {numbers_of(x.data)}: {name_of(x)}"
                for name, x in zip(input_names(op), op.inputs, strict=True)
            ]

    def draw(self, path: str | Path | None = None, **options: Any) -> "Picture":
        """The graph with the culprit red and what it spoils shaded, so far as that was recorded.

        Options as in `minigrad.draw`.
        """
        from minigrad.drawing import draw  # noqa: PLC0415  (a picture is for who asks for it)

        recorded = set(topological_order(self.output))
        colors = {t: RED if t is self.tensor else SHADE for t in (self.tensor, *self.tainted) if t in recorded}
        meanings = {RED: "made the first NaN or inf", SHADE: "spoiled by it"}
        return draw(self.output, path, highlight=colors, meanings=meanings, **options)

    def __str__(self):
        return "\n".join(self.lines)

    def __repr__(self):
        return f"<anomaly {self.phase}, {name_of(self.tensor)}, index {self.index}>"


class AnomalyError(FloatingPointError):
    """What `detect_anomaly` raises. `anomaly` tells it in detail, `draw` makes the picture."""

    def __init__(self, anomaly: Anomaly):
        super().__init__(str(anomaly))
        self.anomaly = anomaly

    def draw(self, path: str | Path | None = None, **options: Any) -> "Picture":
        """See `Anomaly.draw`."""
        return self.anomaly.draw(path, **options)


class detect_anomaly(Watcher):
    """Find the op that makes the first NaN or inf out of finite numbers, in forward or backward.

    A forward anomaly is reported when `backward()` starts from a result that it spoiled, or else at the end of the
    block; so the report can say how far it went. If the result is finite all the same (1 / inf is 0, and `where`
    may not take it), it did no harm and is forgotten. A backward anomaly is reported at once. NumPy's own warnings
    are silent inside: this says more. Looking at every array costs time, so it is for the search alone.

    Raises:
        AnomalyError: a FloatingPointError that names the op, the index, your line, and its inputs with their ranges.
            Its `draw(path)` makes a picture in which the culprit is red and what it spoiled is shaded.

    >>> x = Tensor([0.0, 1.0], requires_grad=True, name="x")
    >>> with detect_anomaly():
    ...     (x * x.log()).sum().backward()
    Traceback (most recent call last):
    minigrad.debugging.anomalies.AnomalyError: forward of log made -inf at index (0,) of shape (2,).
        rule       y = ln x;   dL/dx = dL/dy / x.
        made at    <doctest ...>:2: (x * x.log()).sum().backward()
        input x    (2,) float64, from 0 to 1: x
        first NaN  multiply, at index (0,), made at <doctest ...>:2: (x * x.log()).sum().backward()
        spoiled    3 results: log, multiply, sum
    """

    def __init__(self) -> None:
        self.forget()
        self.errstates: list[np.errstate] = []

    def forget(self):
        """No forward anomaly so far, and no pass."""
        self.output = None
        self.tainted = {}  # the culprit's result and what was made of it, each with its op, recorded or not

    def __enter__(self) -> "Self":
        self.errstates.append(np.errstate(all="ignore"))
        self.errstates[-1].__enter__()
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        super().__exit__(kind, *error)
        self.errstates.pop().__exit__(kind, *error)
        tainted = self.tainted
        self.forget()
        if kind is None and tainted:
            raise AnomalyError(made_forward(tainted, list(tainted)[-1]))

    def after_forward(self, op, result):
        if not is_bad(result.data):
            return
        is_culprit = not self.tainted and not any(is_bad(x.data) for x in op.inputs)
        if is_culprit or any(x in self.tainted for x in op.inputs):
            self.tainted[result] = op
            frame = user_frame()
            op.filename, op.lineno = frame.f_code.co_filename, frame.f_lineno  # known even if it is not recorded

    def forward_anomaly(self, output):
        """What spoiled `output`: the first culprit that was seen, or else one from before this block."""
        spoiled = set(chain(output))
        if spoiled.isdisjoint(self.tainted):
            return trace(output)
        return made_forward({t: op for t, op in self.tainted.items() if t in spoiled or t.op is None}, output)

    def before_pass(self, output):
        found = is_bad(output.data) and self.forward_anomaly(output)
        self.forget()
        self.output = output
        if found:
            raise AnomalyError(found)

    def before_backward(self, step):
        """What each reader delivered was finite, so a bad sum was given, or is the sum's own doing."""
        if self.output is None:
            self.output = step.tensor  # the block was entered in the middle of a pass
        if is_bad(step.grad_output):
            raise AnomalyError(given(step.tensor, step.grad_output, self.output))
        return False

    def before_leaf(self, leaf, grad):
        grad = grad if leaf.grad is None else leaf.grad + grad
        if is_bad(grad):
            raise AnomalyError(given(leaf, grad, leaf if self.output is None else self.output))

    def after_backward(self, step):
        for i, grad_x in enumerate(step.grad_inputs):
            if grad_x is not None and is_bad(grad_x):
                raise AnomalyError(made_backward(step.tensor, i, step.grad_output, grad_x, self.output))


def chain(output):
    """The tensors with NaN or inf that lead to `output` over such tensors alone, oldest first."""
    spoiled, unread = {output}, [output]
    while unread:
        op = unread.pop().op
        for x in op.inputs if op is not None else ():
            if x not in spoiled and is_bad(x.data):
                spoiled.add(x)
                unread.append(x)
    return sorted(spoiled, key=lambda tensor: -1 if tensor.op is None else tensor.op.number)


def trace(output):
    """The anomaly that spoiled `output`, which is not finite; a bad leaf is blamed only if no op is."""
    spoiled = chain(output)
    for tensor in spoiled:
        if tensor.op is not None and not any(is_bad(x.data) for x in tensor.op.inputs):
            return made_forward({t: t.op for t in descendants(tensor, spoiled)}, output)
    leaf = spoiled[0]
    what = f"no op made it of finite input: {name_of(leaf)} came in with"
    anomaly = Anomaly("given", leaf, None, leaf.data, what, descendants(leaf, spoiled), output)
    anomaly.lines += how_far({t: t.op for t in anomaly.tainted})
    return anomaly


def made_forward(tainted, output):
    """The first of the tainted tensors is the culprit's; each comes with its op."""
    tensor, op = next(iter(tainted.items()))
    anomaly = Anomaly("forward", tensor, op, tensor.data, f"forward of {op.path} made", list(tainted), output)
    anomaly.lines += how_far(tainted)
    return anomaly


def how_far(tainted):
    """Lines that say where an inf became NaN, and which results were spoiled."""
    lines = []
    names = [tensor.name or (op.path if op is not None else name_of(tensor)) for tensor, op in tainted.items()]
    n = next((n for n, tensor in enumerate(tainted) if np.isnan(tensor.data).any()), 0)
    if n > 0:
        tensor, op = list(tainted.items())[n]
        index = tuple(int(i) for i in np.argwhere(np.isnan(tensor.data))[0])
        lines.append(f"    first NaN  {names[n]}, at index {index}, made at {made_at(op)}")
    if len(names) > 5:
        names[2:-2] = ["..."]
    lines.append(f"    spoiled    {len(tainted):,} results: {', '.join(names)}")
    return lines


def given(tensor, grad, output):
    """A gradient that no rule made bad, though it is."""
    who = "a function of on_gradient made it, or it was added up" if tensor.hooks else "it was given or added up"
    what = f"gradient of {name_of(tensor)}, as {who} of finite shares, is"
    tainted = [x for x in topological_order(tensor) if x.requires_grad]
    anomaly = Anomaly("given", tensor, tensor.op, grad, what, tainted, output)
    ops = [y.op for y in topological_order(output) if y.op is not None and y.op.grad_inputs is not None]
    arrows = [(op, grad_x) for op in ops for x, grad_x in zip(op.inputs, op.grad_inputs, strict=True) if x is tensor]
    shares = [
        f"    share      {numbers_of(share)}, from {op.path}, made at {made_at(op)}"
        for op, share in arrows
        if share is not None
    ]
    anomaly.lines += shares[:FEW]
    if len(shares) > FEW:
        anomaly.lines.append(f"    and {len(shares) - FEW:,} shares more")
    return anomaly


def made_backward(tensor, i, grad_output, grad_x, output):
    """The rule of the op that made `tensor` delivered a bad gradient to input `i`, of a finite one."""
    op = tensor.op
    x, y = input_names(op)[i], result_name(op)
    tainted = [tensor] + [t for t in topological_order(op.inputs[i]) if t.requires_grad]
    what = f"backward of {op.path} made dL/d{x} ="
    anomaly = Anomaly("backward", tensor, op, grad_x, what, tainted, output)
    anomaly.lines.append(f"    from dL/d{y} {numbers_of(grad_output)}")
    bad = next((t for t in (tensor, *op.inputs) if is_bad(t.data)), None)
    if bad is not None:
        anomaly.lines.append(f"    its values were not finite before that: {trace(bad).lines[0]}")
    return anomaly
