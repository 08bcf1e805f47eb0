"""detect_anomaly: which op made the first NaN or inf, and why."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minigrad.arrays import sum_to_shape
from minigrad.backprop import topological_order
from minigrad.debugging.reporting import (
    FEW,
    descendants,
    docstring_of,
    first_index,
    input_names,
    is_bad,
    made_at,
    name_of,
    numbers_of,
    result_name,
    twin_of,
)
from minigrad.op import Op
from minigrad.ops.arithmetic import Add, Divide, Multiply, Subtract
from minigrad.ops.selection import Where
from minigrad.recording import user_frame
from minigrad.tensor import Tensor
from minigrad.watching import Watcher

if TYPE_CHECKING:
    from typing_extensions import Self

    from minigrad.drawing import Picture

RED, SHADE = "#d7191c", "#f4a582"
SIGNS = {Add: "+", Subtract: "-", Multiply: "*", Divide: "/"}
TRIED = 64  # elements of a result whose slopes are looked at


class Anomaly:
    """A NaN or inf, and the op that made it from finite numbers. `print()` of it is the report.

    Attributes:
        phase: "forward" or "backward"; "given" if no op made it, because it came from outside.
        tensor: the result of the culprit; in phase "given", the tensor that came with it.
        op: the culprit; None for a leaf.
        index: of the first bad element, in the result or in the gradient that was delivered.
        tainted: the tensors that it spoils, the culprit's first.
        output: the tensor whose graph holds all of them.
        zeroed_by: if a gradient of 0 met an infinite slope, which gives NaN, the op that made the 0: a `where` or an
            index that did not take the element, or arithmetic. None otherwise.
    """

    zeroed_by: Op | None = None

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
        self.index: tuple[int, ...] = first_index(~np.isfinite(array))
        self.tainted, self.output = tainted, output
        self.lines = [f"{what} {array[self.index]} at index {self.index} of shape {array.shape}."]
        if op is not None:
            self.lines += [f"    rule       {docstring_of(op)[0]}", f"    made at    {made_at(op)}"]
            self.lines += [
                f"    input {name:<4} {numbers_of(x.data)}: {name_of(x)}"
                for name, x in zip(input_names(op), op.inputs, strict=True)
            ]

    def draw(self, path: str | Path | None = None, **options: Any) -> "Picture":
        """The graph with the culprit red and what it spoils shaded, as far as it was recorded.

        Options as in `minigrad.draw`.
        """
        from minigrad.drawing import draw  # noqa: PLC0415  (only who asks for a picture waits for it)

        recorded = set(topological_order(self.output))
        colors = {t: RED if t is self.tensor else SHADE for t in (self.tensor, *self.tainted) if t in recorded}
        meanings = {RED: "made the first NaN or inf", SHADE: "spoiled by it"}
        return draw(self.output, path, highlight=colors, meanings=meanings, **options)

    def __str__(self):
        return "\n".join(self.lines)

    def __repr__(self):
        return f"<anomaly {self.phase}, {name_of(self.tensor)}, index {self.index}>"


class AnomalyError(FloatingPointError):
    """What `detect_anomaly` raises. `anomaly` holds the details, `draw` makes the picture."""

    def __init__(self, anomaly: Anomaly):
        super().__init__(str(anomaly))
        self.anomaly = anomaly

    def draw(self, path: str | Path | None = None, **options: Any) -> "Picture":
        """See `Anomaly.draw`."""
        return self.anomaly.draw(path, **options)


class detect_anomaly(Watcher):
    """Find the op that makes the first NaN or inf from finite numbers, in forward or backward.

    A forward anomaly is reported when `backward()` starts from a result that it spoiled, so the report can say how far
    it went; without a `backward()` at the end of the block, if a spoiled result is one that no other op has read. If
    what was made of it is finite all the same (1 / inf is 0, and `where` may not take it), the values are right and it
    is forgotten. The gradient may suffer even so: what `where` or an index did not take gets gradient 0, and 0 times an
    infinite slope is NaN. Such a backward anomaly is reported at once, with the op whose slope is infinite, the one
    that made the 0, and the cure. NumPy's own warnings are silent inside: this says more. Looking at every array costs
    time, so use it for the search alone.

    Raises:
        AnomalyError: a FloatingPointError that names the op, the index, your line, and its inputs with their ranges.
            Its `draw(path)` makes a picture in which the culprit is red and what it spoiled is shaded.

    >>> x = Tensor([0.0, 1.0], requires_grad=True, name="x")
    >>> with detect_anomaly():
    ...     (x * x.log()).sum().backward()
    Traceback (most recent call last):
    minigrad.debugging.detect_anomaly.AnomalyError: forward of log made -inf at index (0,) of shape (2,).
        rule       y = ln x;   dL/dx = dL/dy / x.
        made at    <doctest ...>:2: (x * x.log()).sum().backward()
        input x    (2,) float64, from 0 to 1: x
        first NaN  multiply, at index (0,), made at <doctest ...>:2: (x * x.log()).sum().backward()
        because    0 * -inf is NaN
        spoiled    3 results: log, multiply, sum
    >>> with detect_anomaly():
    ...     x.log().where(x > 0, x).sum().backward()
    Traceback (most recent call last):
    minigrad.debugging.detect_anomaly.AnomalyError: backward of log made dL/dx = nan at index (0,) of shape (2,).
        rule       y = ln x;   dL/dx = dL/dy / x.
        made at    <doctest ...>:2: x.log().where(x > 0, x).sum().backward()
        input x    (2,) float64, from 0 to 1: x
        from dL/dy (2,) float64, from 0 to 1
        because    0 * inf is NaN: the slope of log is inf there, and the gradient that came is 0
        zero from  where, which did not take that element, made at <doctest ...>:2: x.log().where(x > 0, x).sum()...
        cure       a safe input for log where its result is not taken: log(where(condition, x, 1))
    """

    def __init__(self) -> None:
        self.forget()
        self.errstates: list[np.errstate] = []

    def forget(self):
        """No forward anomaly so far, and no pass."""
        self.output = None
        self.tainted = {}  # each culprit's result and what was made of it, with its op, recorded or not
        self.read = set()  # those of them that some op has read
        self.grads = {}  # of the results that the present pass has reached

    def __enter__(self) -> "Self":
        self.errstates.append(np.errstate(all="ignore"))
        self.errstates[-1].__enter__()
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        super().__exit__(kind, *error)
        self.errstates.pop().__exit__(kind, *error)
        ends = [result for result in self.tainted if result not in self.read]
        found = self.forward_anomaly(ends[0]) if ends and kind is None else None
        self.forget()
        if found:
            raise AnomalyError(found)

    def after_forward(self, op, result):
        self.read.update(x for x in op.inputs if x in self.tainted)
        if not is_bad(result.data):
            return
        is_culprit = not any(is_bad(x.data) for x in op.inputs)
        if is_culprit or any(x in self.tainted for x in op.inputs):
            self.tainted[result] = op
            frame = user_frame()
            op.filename, op.lineno = frame.f_code.co_filename, frame.f_lineno  # known even if it is not recorded

    def forward_anomaly(self, output):
        """What spoiled `output`: the first culprit that was seen, or else one from before this block."""
        leading = {output}
        for result, op in reversed(self.tainted.items()):
            if result in leading:
                leading.update(x for x in op.inputs if x in self.tainted)
        culprit = next((result for result in self.tainted if result in leading), None)
        if culprit is None:
            return trace(output)
        spoiled = {}
        for result, op in self.tainted.items():
            if result is culprit or (result in leading and any(x in spoiled for x in op.inputs)):
                spoiled[result] = op
        return made_forward(spoiled, output)

    def before_pass(self, output):
        found = is_bad(output.data) and self.forward_anomaly(output)
        self.forget()
        self.output = output
        if found:
            raise AnomalyError(found)

    def before_backward(self, step):
        """What each consumer delivered was finite, so a bad sum was given, or is the sum's own doing."""
        if self.output is None:
            self.output = step.tensor  # the block was entered in the middle of a pass
        self.grads[step.tensor] = step.grad_output
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
                raise AnomalyError(made_backward(step.tensor, i, grad_x, self.grads, self.output))


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
    what = f"no op made it: {name_of(leaf)} was created with"
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
        index = first_index(np.isnan(tensor.data))
        lines.append(f"    first NaN  {names[n]}, at index {index}, made at {made_at(op)}")
        if type(op) in SIGNS:
            x, y = (np.broadcast_to(operand.data, tensor.shape)[index] for operand in op.inputs)
            lines.append(f"    because    {x:.4g} {SIGNS[type(op)]} {y:.4g} is NaN")
    if len(names) > 5:
        names[2:-2] = ["..."]
    lines.append(f"    spoiled    {len(tainted):,} results: {', '.join(names)}")
    return lines


def given(tensor, grad, output):
    """A gradient that is not finite, though every rule delivered finite numbers."""
    if tensor.hooks:
        origin = "returned by a function of on_gradient or summed from finite contributions"
    elif tensor is output and tensor.op is not None:
        origin = "given to backward()"
    else:
        origin = "summed from finite contributions"
    tainted = [x for x in topological_order(tensor) if x.requires_grad]
    anomaly = Anomaly("given", tensor, tensor.op, grad, f"gradient of {name_of(tensor)}, {origin}, is", tainted, output)
    ops = [y.op for y in topological_order(output) if y.op is not None and y.op.grad_inputs is not None]
    arrows = [(op, grad_x) for op in ops for x, grad_x in zip(op.inputs, op.grad_inputs, strict=True) if x is tensor]
    summands = [
        f"    summand    {numbers_of(grad_x)}, from {op.path}, made at {made_at(op)}"
        for op, grad_x in arrows
        if grad_x is not None
    ]
    anomaly.lines += summands[:FEW]
    if len(summands) > FEW:
        anomaly.lines.append(f"    and {len(summands) - FEW:,} more summands")
    return anomaly


def made_backward(tensor, i, grad_x, grads, output):
    """The rule of the op that made `tensor` delivered a bad gradient to input `i`, from a finite one.

    `grads` holds the gradients that the pass brought to the results between `tensor` and `output`, both included.
    """
    op = tensor.op
    x, y = input_names(op)[i], result_name(op)
    tainted = [tensor] + [t for t in topological_order(op.inputs[i]) if t.requires_grad]
    anomaly = Anomaly("backward", tensor, op, grad_x, f"backward of {op.path} made dL/d{x} =", tainted, output)
    anomaly.lines.append(f"    from dL/d{y} {numbers_of(grads[tensor])}")
    with np.errstate(all="ignore"):
        explain_slope(anomaly, i, grads, is_nan=bool(np.isnan(grad_x[anomaly.index])))
    bad = next((t for t in (*op.inputs, tensor) if is_bad(t.data)), None)
    if bad is not None and bad is not tensor:
        anomaly.lines.append(f"    its input was not finite before that: {trace(bad).lines[0]}")
    return anomaly


# Why a rule made NaN or inf from a finite gradient: an infinite slope, which makes NaN of 0 and inf of all else.


def explain_slope(anomaly, i, grads, is_nan):
    """Add the lines that name an infinite slope, what made the 0 that it met if it made NaN, and the cure."""
    tensor, op = anomaly.tensor, anomaly.op
    place = steepest_place(tensor, i, anomaly.index, (grads[tensor] == 0) == is_nan)
    if place is None:
        return  # NaN of another kind, such as inf - inf
    slope = slope_at(op, tensor, i, anomaly.index, place)
    if not is_nan:
        anomaly.lines.append(f"    because    the slope of {op.name} is {slope:.4g} there")
        return
    what = f"the slope of {op.name} is {slope:.4g} there, and the gradient that came is 0"
    anomaly.lines.append(f"    because    0 * {slope:.4g} is NaN: {what}")
    origin = origin_of_zero(tensor, place, grads, anomaly.output)
    if origin is None:
        anomaly.lines.append("    zero from  the gradient that was given to backward(), or a function of on_gradient")
        return
    zeroing, j, is_left_out = origin
    anomaly.zeroed_by = zeroing
    verb = "did not take that element" if is_left_out else f"passes 0 on to its {input_names(zeroing)[j]}"
    anomaly.lines.append(f"    zero from  {zeroing.path}, which {verb}, made at {made_at(zeroing)}")
    anomaly.lines += cure(anomaly, i, place, zeroing, j, is_left_out)


def steepest_place(tensor, i, index, places):
    """The index of an element of `tensor`, among `places`, whose slope along input i at `index` is not finite."""
    candidates = np.argwhere(dependents(tensor.op, i, index) & places)
    finite_last = sorted(candidates, key=lambda place: np.isfinite(tensor.data[tuple(place)]))
    for candidate in finite_last[:TRIED]:
        place = tuple(int(n) for n in candidate)
        if not np.isfinite(slope_at(tensor.op, tensor, i, index, place)):
            return place
    return None


def dependents(op, i, marked):
    """Which elements of the result depend on the marked elements (an index or booleans) of input i, as booleans.

    A NaN at the marks, among ones, turns those into NaN that depend on it.
    """
    arrays = [np.ones_like(x.data) if x.dtype.kind == "f" else x.data for x in op.inputs]
    arrays[i][marked] = np.nan
    return np.isnan(twin_of(op).forward(*arrays))


def slope_at(op, result, i, index, place):
    """d result[place] / d x[index] for input i, called x, by the op's own rule."""
    unit = np.zeros_like(result.data)
    unit[place] = 1
    x, slopes = op.inputs[i], np.asarray(op.backward(unit)[i])
    if slopes.shape == x.shape:
        return slopes[index]
    if slopes.shape == result.shape:
        return slopes[place]  # x was broadcast: no sum over places where 0 * inf may be NaN
    return sum_to_shape(slopes, x.shape)[index]


def origin_of_zero(tensor, place, grads, output):
    """Follow a gradient of 0 at one element back to the op that made it: (op, input number, is_left_out).

    None if no op did: a hook may have, or the zero was given to backward().

    `is_left_out` is True if no element of the op's result depends on this one, as with `where` and indexing.
    """
    marks = {tensor: place}
    for y in reversed(topological_order(output)):
        if y.op is None or y not in grads:
            continue
        for j, x in enumerate(y.op.inputs):
            if x not in marks:
                continue
            if x.hooks:
                return None
            reached = dependents(y.op, j, marks[x])
            if not reached.any() or grads[y][reached].any():
                return y.op, j, not reached.any()
            marks[y] = marks.get(y, False) | reached
    return None


def cure(anomaly, i, place, zeroing, j, is_left_out):
    """Lines that say how to write it so that no 0 meets an infinite slope."""
    op, name = anomaly.op, anomaly.op.name
    unsafe = unsafe_input(anomaly, i, place)
    if unsafe is None:
        return [f"    cure       a formula in which the slope of {name} is finite"]

    names = input_names(op)
    x = names[unsafe]

    def call(safe):
        return f"{name}({', '.join([*names[:unsafe], safe, *names[unsafe + 1 :]])})"

    if isinstance(zeroing, Where) and is_left_out:
        safe = f"where(condition, {x}, 1)" if j == 0 else f"where(condition, 1, {x})"
        return [f"    cure       a safe input for {name} where its result is not taken: {call(safe)}"]
    if is_left_out:
        return [
            f"    cure       take the index first: {call(f'{x}[index]')};",
            f"               or a safe input for {name} where its result is not taken: {call(f'where(taken, {x}, 1)')}",
        ]
    return [
        "    cure       a formula without this product of 0 and inf, such as x**1.5 for sqrt(x) * x;",
        f"               or its limit, by where, and a safe input for {name} there: {call(f'where(safe, {x}, 1)')}",
    ]


def unsafe_input(anomaly, i, place):
    """The number of the input that makes the slope infinite: with ones in its place the slope is finite."""
    op = anomaly.op
    for n, x in enumerate(op.inputs):
        if x.dtype.kind == "f":
            twin = twin_of(op)
            twin.forward(*(np.ones_like(x.data) if m == n else x.data for m, x in enumerate(op.inputs)))
            if np.isfinite(slope_at(twin, anomaly.tensor, i, anomaly.index, place)):
                return n
    return None
