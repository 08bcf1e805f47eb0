"""why: the answer to "why is my gradient None, zero or NaN?", with the path on which it was lost."""

from collections.abc import Iterable

import numpy as np

from minigrad.arrays import sum_to_shape
from minigrad.backprop import leaves_behind, topological_order
from minigrad.debugging.detect_anomaly import made_backward, trace
from minigrad.debugging.reporting import (
    amount,
    consumers,
    descendants,
    input_names,
    is_bad,
    line_at,
    made_at,
    name_of,
    path,
    path_text,
    twin_of,
)
from minigrad.graph import stream_start
from minigrad.op import Op
from minigrad.ops.activations import Gelu, Relu, Sigmoid, Silu, Tanh
from minigrad.ops.arithmetic import Add, Multiply, Subtract
from minigrad.ops.dropout import Dropout
from minigrad.ops.embedding import Embedding
from minigrad.ops.linear import Linear
from minigrad.ops.losses import CrossEntropy
from minigrad.ops.products import Matmul
from minigrad.ops.reductions import Max, Min
from minigrad.ops.selection import Clip, Maximum, Minimum, Where
from minigrad.ops.shapes import Getitem
from minigrad.ops.softmax import LogSoftmax, Softmax
from minigrad.precision import norm
from minigrad.recording import TAKEN_OUT
from minigrad.tensor import Tensor

SMALL = 1e-6  # a gradient this much below the loss's own is worth an explanation
MANY = 5  # places that are listed one by one
KEEP = "If inner gradients were not kept: run backward() again, without retain_grads=False, and ask again."
CANCELLED = 1e-3  # terms "cancel" if their sum is below this fraction of the sum of their sizes

# For ops that let an element through or not: a word for it, and what is the case where its slope is 0.
FLAT = {
    Relu: ("dead relu", "of its inputs are at or below 0, where its slope is 0"),
    Sigmoid: ("saturated sigmoid", "of its inputs are so large that its slope rounds to 0"),
    Tanh: ("saturated tanh", "of its inputs are so large that its slope rounds to 0"),
    Gelu: ("saturated gelu", "of its inputs are so far below 0 that its slope rounds to 0"),
    Silu: ("saturated silu", "of its inputs are so far below 0 that its slope rounds to 0"),
    Clip: ("clipped", "of its inputs are outside of its bounds"),
    Dropout: ("dropped", "of its inputs were dropped"),
    Where: ("masked", "of this input was not taken: the condition chose the other side"),
    Maximum: ("not the largest", "of this input was smaller than the other one"),
    Minimum: ("not the smallest", "of this input was larger than the other one"),
    Max: ("not the largest", "of its inputs are not the maximum"),
    Min: ("not the smallest", "of its inputs are not the minimum"),
    Getitem: ("not read", "of its input was not read by the index"),
    Embedding: ("not read", "of the table belongs to tokens that did not occur"),
}


class Answer:
    """What `why` found. `print()` of it is the answer in words.

    Attributes:
        verdict: in a few words, such as "detached", "not used", "read as a number", "dead relu", "saturated softmax",
            "nan", "later pass", "fine".
        tensor: what was asked about.
        path: the tensors from it to the loss, through the place that matters; empty if no path leads there.
        cause: the op at that place, if it is an op.
    """

    def __init__(
        self, tensor: Tensor, verdict: str, lines: list[str], path: Iterable[Tensor] = (), cause: Op | None = None
    ):
        self.tensor, self.verdict, self.lines = tensor, verdict, lines
        self.path, self.cause = list(path), cause

    def __str__(self) -> str:
        lines = [f"The gradient of {name_of(self.tensor)} {self.tensor.shape}: {self.verdict}."]
        lines += [f"  {line}" for line in self.lines]
        if self.path:
            lines.append(f"  path: {path_text(self.path)}")
        return "\n".join(lines)

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))  # in a notebook it shows itself

    def __repr__(self) -> str:
        return f"<why {name_of(self.tensor)}: {self.verdict}>"


def why(tensor: Tensor, loss: Tensor | None = None) -> Answer:
    """Say why the gradient of a tensor is None, zero or NaN, and where on the way from the loss that happened.

    For a NaN it names the op whose rule made it. If a gradient of 0 met an infinite slope there, it also says what made
    the 0 (a `where` or an index that did not take the element, or arithmetic), and what to write instead.

    Call it after ``loss.backward()``; it reads what the pass left, changes nothing, and runs no pass of its own.

    Args:
        tensor: the tensor whose gradient is asked about. ``why(loss)`` asks about the start of the residual stream, see
            `minigrad.graph.stream_start`.
        loss: the tensor from which backward() ran.

    Returns:
        An `Answer`: `print()` of it is the text, its `verdict` the short form.

    Raises:
        TypeError: one of them is no tensor.
        ValueError: no tensor given, and no start of a residual stream was found.

    >>> w = Tensor([1.0, -2.0], requires_grad=True, name="w")
    >>> loss = (w * -3.0).relu().detach().sum() + (w * 0.0).relu().sum()
    >>> loss.backward()
    >>> print(why(w, loss))
    The gradient of w (2,): dead relu.
      It is 0 everywhere.
      relu passes 0 on to its x: 100% of its inputs are at or below 0, where its slope is 0.
        made at <doctest ...>:1: loss = (w * -3.0).relu().detach().sum() + (w * 0.0).relu().sum()
      path: w -> multiply -> relu -> sum -> add
    """
    if loss is None and isinstance(tensor, Tensor):
        tensor, loss = stream_start(tensor), tensor
    for given in (tensor, loss):
        if not isinstance(given, Tensor):
            raise TypeError(f"why takes the tensor and the loss, both tensors; got {type(given).__name__}")
    if not tensor.requires_grad:
        return requires_none(tensor, loss)
    order = topological_order(loss)
    if not any(other is tensor for other in order):
        return not_reached(tensor, loss, order)
    behind = descendants(tensor, reversed(order))
    if tensor.grad is None:
        return is_none(tensor, loss, behind)
    overwritten = where_overwritten(behind)
    if overwritten is not None:
        return later_pass(tensor, loss, overwritten)
    grad = grad_of_pass(tensor, behind)
    if is_bad(grad):
        return is_not_finite(tensor, loss, behind)
    answer = is_there(tensor, grad, loss, behind) if grad.any() else is_zero(tensor, loss, behind)
    if not np.allclose(grad, tensor.grad, equal_nan=True):
        answer.lines.append(f"Other passes added to it too: its grad is {amount(tensor.grad)} in all.")
    readings = read_as_numbers(tensor, loss)
    if readings:
        answer.lines += [
            *map(reading_line, readings[:MANY]),
            f"If {name_of(loss)} was computed with it, that part of the gradient is missing.",
        ]
        answer.verdict = "read as a number" if answer.verdict == "fine" else answer.verdict
    return answer


def requires_none(tensor, loss):
    """It is a constant: made as one, or the result of a detach() or no_grad()."""
    way = path(tensor, loss)
    if tensor.cut is not None:
        verdict, lines = cut_off(tensor)
        return Answer(tensor, verdict, lines, way)
    if tensor.dtype.kind != "f":
        lines = [f"Its dtype is {tensor.dtype}, and only floating types have gradients: make it floating first."]
    else:
        lines = ["It is a constant: make it with requires_grad=True, or as a Parameter, before it is used."]
        lines += ["(NumPy arrays, numbers, and what was computed with `.data` are constants too.)"]
    if not way:
        lines.append(f"Besides, {name_of(loss)} was not made from it.")
    return Answer(tensor, "no requires_grad", lines, way)


def cut_off(tensor):
    """A verdict and lines for a tensor with a cut."""
    cut = tensor.cut
    if cut.by == "detach()":
        return "detached", [f"{cut.label or 'a leaf'} was detached here: {line_at(cut.location)}"]
    what = f"A constant of shape {tensor.shape} was computed inside no_grad(), where nothing is recorded."
    return "no_grad", [what, f"Compute it outside of this block: {line_at(cut.location)}"]


def not_reached(tensor, loss, order):
    """The graph of the loss does not hold it: find the detach() between them, or name its other consumer."""
    way = path(tensor, loss, over_cuts=True)
    if way:
        lines = [line for t in way if t.op is None and t.cut is not None for line in cut_off(t)[1]]
        return Answer(tensor, "detached", [*lines, "Behind that place nothing flows back."], way)

    readings = read_as_numbers(tensor, loss)
    if readings:
        lines = [f"No recorded op leads from it to {name_of(loss)}.", *map(reading_line, readings[:MANY])]
        return Answer(tensor, "read as a number", [*lines, "Use minigrad's own op in that place, as t.exp()."])

    leaves = leaves_behind(tensor)
    cuts = [t for t in order if t.op is None and t.cut is not None and t.cut.may_hide(leaves)]
    detached = [t for t in cuts if t.cut.by == "detach()"]
    if cuts:
        verdict = "detached" if detached else "no_grad"
        lines = [f"No recorded op leads from it to {name_of(loss)}; but that was made from something without a past:"]
        lines += [line for t in (detached or cuts)[:MANY] for line in cut_off(t)[1]]
        lines.append("What it was made from is not kept, so this is the likely place, not a certain one.")
        return Answer(tensor, verdict, lines)

    lines = [f"{name_of(loss)} was not made from it."]
    others = consumers(tensor)
    if others:
        lines.append(f"Its consumer {others[0].path} does not lead there; that was made at {made_at(others[0])}")
    else:
        lines.append("No op that still exists has it as an input. A likely cause: its numbers were copied into a new")
        lines.append(
            "tensor, as in Tensor(t.data), or computed on with NumPy: neither is recorded. Use the tensor itself."
        )
    return Answer(tensor, "not used", lines)


def read_as_numbers(tensor, loss):
    """What is known of numbers that float() or math.exp(t) took out of `tensor`, or of what was made from it."""
    leaves, last = leaves_behind(tensor), loss.op.number if loss.op is not None else -1
    return [
        cut
        for cut in list(TAKEN_OUT)
        if cut.source is not loss  # a look at the loss itself
        and cut.may_hide(leaves)
        and cut.number < last
        and (cut.source is None or path(tensor, cut.source))  # what is gone may have been made from it
    ]


def reading_line(cut):
    return f"float() took the number out of {cut.label or 'it'}, and a number is a constant: {line_at(cut.location)}"


def where_overwritten(behind):
    """The tensor, the nearest to the loss, whose kept gradient is not what this loss's arrows delivered to it."""
    shares = {}
    for y, i, grad_x in recorded(behind):
        if grad_x is not None:
            shares.setdefault(y.op.inputs[i], []).append(grad_x)
    for t in reversed(behind):
        if t.op is not None and t.grad is not None and not t.hooks and t in shares:
            with np.errstate(all="ignore"):
                difference = np.abs(sum(shares[t]) - t.grad)
                size = sum(map(np.abs, shares[t]))
                rounding = 4 * len(shares[t]) * np.finfo(t.dtype).eps * size
            if np.any(difference > rounding):  # False for NaN
                return t
    return None


def later_pass(tensor, loss, overwritten):
    """Inner gradients are those of the last pass, and that began elsewhere."""
    lines = [
        f"A later pass, not from {name_of(loss)}, went through here: {made_at(overwritten.op)}",
        "It left its own gradients there, so what this loss delivered is not known any more.",
        f"Its grad, {amount(tensor.grad)}, is not of this loss alone: run backward() again, and ask right after it.",
    ]
    return Answer(tensor, "later pass", lines, path(tensor, overwritten) + path(overwritten, loss)[1:])


def is_none(tensor, loss, behind):
    way = path(tensor, loss)
    refused = [(y, i) for y, i, grad_x in recorded(behind) if grad_x is None]
    if refused:
        y, i = refused[-1]
        lines = [f"The rule of {y.op.path} returned None for its {input_names(y.op)[i]}.", f"  made at {made_at(y.op)}"]
        return Answer(tensor, "not delivered", lines, path(tensor, y) + path(y, loss)[1:], y.op)
    if loss.op is not None and loss.op.grad_inputs is not None:
        if any(t.op is not None and t.op.grad_inputs is None for t in behind if t is not tensor):
            lines = ["The pass stopped before it got here: an exception, or a `break` out of a loop over backprop()."]
            return Answer(tensor, "not reached", lines, way)
        lines = ["Its grad was cleared after the pass, by zero_grad() or `grad = None`; or the pass was stopped"]
        lines += ["right before it got here, by an exception or a `break` out of a loop over backprop()."]
        return Answer(tensor, "forgotten", lines, way)
    lines = [f"No backward pass from {name_of(loss)} has run: call backward() first."]
    if tensor.op is not None:
        lines.append("Or it ran with retain_grads=False, which keeps no gradient but those of leaves.")
    return Answer(tensor, "no backward pass", lines, way)


def recorded(behind):
    """What the last pass left on the arrows among the tensors `behind`, oldest first.

    (y, i, grad_x) for each: y's op delivered grad_x to its input i.
    """
    known = set(behind)
    passed = [y for y in behind if y.op is not None and y.op.grad_inputs is not None and y.grad is not None]
    return [(y, i, y.op.grad_inputs[i]) for y in passed for i, x in enumerate(y.op.inputs) if x in known]


def arrived(tensor, behind):
    """The sum of what the last pass left on the arrows to a tensor, before its hooks; None if it left nothing."""
    shares = [grad_x for y, i, grad_x in recorded(behind) if y.op.inputs[i] is tensor and grad_x is not None]
    return sum(shares) if shares else None


def grad_of_pass(tensor, behind):
    """The part of `grad` that is from this loss: a leaf's adds up over passes. Behind a hook they cannot be parted."""
    grad = None if tensor.op is not None or tensor.hooks else arrived(tensor, behind)
    return tensor.grad if grad is None else grad


def changed_by_hooks(behind):
    """(tensor, gradient that came) for each tensor whose hooks got a gradient, the nearest to the loss first."""
    pairs = [(t, arrived(t, behind)) for t in reversed(behind) if t.hooks and t.grad is not None]
    return [(t, came) for t, came in pairs if came is not None]


def is_not_finite(tensor, loss, behind):
    """Find the op with finite values and a finite gradient whose rule made the first NaN or inf."""
    if is_bad(loss.data):
        anomaly = trace(loss)
        lines = [f"{name_of(loss)} itself is {loss.data if loss.size == 1 else 'not finite'}.", *anomaly.lines]
        return Answer(tensor, "nan", lines, path(tensor, loss), anomaly.op)
    for y, i, grad_x in reversed(recorded(behind)):
        if grad_x is not None and is_bad(grad_x) and not is_bad(y.grad):
            grads = {t: t.grad for t in topological_order(loss) if t.op is not None and t.grad is not None}
            anomaly = made_backward(y, i, grad_x, grads, loss)
            return Answer(tensor, "nan", anomaly.lines, path(tensor, y) + path(y, loss)[1:], y.op)
    for t, came in changed_by_hooks(behind):
        if is_bad(t.grad) and not is_bad(came):
            return Answer(tensor, "nan", [hook_line(t, came)], path(tensor, t) + path(t, loss)[1:])
    lines = ["No rule made it from finite numbers, as far as the last pass was kept.", KEEP]
    return Answer(tensor, "nan", lines, path(tensor, loss))


def is_zero(tensor, loss, behind):
    """Find the rules that made zeros of a gradient that was not zero."""
    places = [
        (y, i)
        for y, i, grad_x in reversed(recorded(behind))
        if y.grad.any() and grad_x is not None and not grad_x.any()
    ]
    hooks = [(t, came) for t, came in changed_by_hooks(behind) if came.any() and not t.grad.any()]
    if places or hooks:
        return lost_at(tensor, loss, places, hooks, "It is 0 everywhere.")
    if loss.grad is not None and not loss.grad.any():
        return Answer(tensor, "zero", [f"backward() of {name_of(loss)} started from zeros."], path(tensor, loss))
    if loss.grad is None:
        return Answer(tensor, "zero", ["It is 0 everywhere.", KEEP], path(tensor, loss))
    return Answer(
        tensor,
        "cancelled",
        ["It is 0 everywhere, though no rule made zeros of it: what its consumers delivered adds up to 0."],
        path(tensor, loss),
    )


def hook_line(tensor, came):
    names = ", ".join(getattr(fn, "__name__", repr(fn)) for fn in tensor.hooks)
    return f"The hook of {name_of(tensor)} (on_gradient: {names}) turned {amount(came)} into {amount(tensor.grad)}."


def lost_at(tensor, loss, places, hooks, first_line):
    """An answer that names the places where the gradient was lost, with the reason of each."""
    lines, verdict = [first_line], "hook" if hooks else None
    lines += [hook_line(t, came) for t, came in hooks[:MANY]]
    for y, i in places[:MANY]:
        word, sentence = reason(y.op, i, y.grad)
        verdict = verdict or word
        loss_of = amount(y.op.grad_inputs[i]) if y.op.grad_inputs[i].any() else "0"
        lines.append(f"{y.op.path} passes {loss_of} on to its {input_names(y.op)[i]}: {sentence}.")
        lines.append(f"  made at {made_at(y.op)}")
    if len(places) > MANY:
        lines.append(f"and {len(places) - MANY:,} more places")
    y = hooks[0][0] if hooks else places[0][0]
    return Answer(tensor, verdict, lines, path(tensor, y) + path(y, loss)[1:], None if hooks else y.op)


def is_there(tensor, grad, loss, behind):
    """It is neither None nor zero nor NaN: say how large it is, and where most of it was lost if it is small."""
    way = path(tensor, loss)
    lines = [f"It is {amount(grad)}."]
    if is_bad(loss.data):
        lines += [f"But {name_of(loss)} itself is not finite:", *trace(loss).lines]
        return Answer(tensor, "nan loss", lines, way)
    if loss.grad is None:
        lines += [f"No pass from {name_of(loss)} has left a trace, so it may be from elsewhere.", KEEP]
    zeros = share_of_zeros(grad)
    if zeros:
        lines.append(f"{zeros:.0%} of its elements are exactly 0.")
    kept = [
        (norm(grad_x) / norm(y.grad), y, i) for y, i, grad_x in recorded(behind) if y.grad.any() and grad_x is not None
    ]
    if kept and loss.grad is not None and norm(grad) < SMALL * norm(loss.grad):
        hooks = [(t, came) for t, came in changed_by_hooks(behind) if norm(t.grad) < SMALL * norm(came)]
        if hooks:
            return lost_at(tensor, loss, [], hooks, lines[0])
        share, y, i = min(kept, key=lambda entry: entry[0])
        return lost_at(tensor, loss, [(y, i)], [], f"{lines[0]} Most of it was lost at one op, which kept {share:.1g}.")
    if not zeros:
        return Answer(tensor, "fine", lines, way)
    more = [
        (share_of_zeros(y.op.grad_inputs[i]) - share_of_zeros(y.grad), reason(y.op, i, y.grad)[1], y.op)
        for _, y, i in kept
    ]
    for added, sentence, op in sorted(more, key=lambda entry: -entry[0])[:MANY]:
        if added > 0:
            lines.append(f"{op.path} adds zeros: {sentence}.")
    return Answer(tensor, "partly zero", lines, way)


# Why one rule delivers zeros, or little: what the op's saved arrays say.


def reason(op, i, grad_output):
    """A word, and a sentence: what keeps the rule of `op` from delivering more to its input `i`."""
    with np.errstate(all="ignore"):
        if underflows(op, i, grad_output):
            return underflow(grad_output)
        if type(op) in SPECIAL:
            return SPECIAL[type(op)](op, i, grad_output)
        if type(op) in FLAT and op.inputs[i].size:
            word, sentence = FLAT[type(op)]
            slope = op.backward(np.ones_like(grad_output))[i]
            if slope.all():
                return "small slope", f"its slope is at most {max_abs(slope):.2g}"
            return word, f"{share_of_zeros(slope):.0%} {sentence}"
    return flat(op, i)


def flat(op, i):
    """What is left to say where nothing more is known about an op."""
    if not op.inputs[i].size:
        return "flat", "its input has no elements"
    if op.grad_inputs[i].any():
        return "small slope", "its rule makes little of this gradient"
    return "flat", "its rule makes zeros of this gradient"


def underflows(op, i, grad_output):
    """Whether zeros would not be zeros if the incoming gradient were larger: a rule is linear in it."""
    size = max_abs(grad_output)
    if not 0 < size < 1 or np.any(op.backward(grad_output)[i]):
        return False
    return bool(np.any(op.backward(grad_output / size)[i]))


def underflow(grad_output):
    smallest = np.finfo(grad_output.dtype).smallest_subnormal
    return (
        "underflow",
        f"the incoming gradient is at most {max_abs(grad_output):.2g}; times its slope that is below {smallest:.2g}, "
        f"the smallest {grad_output.dtype} number, so it rounds to 0",
    )


def term(op, i, grad_output):
    """For sums: a bias, or an input that broadcasting repeated, gets the sum of all that arrives where it went."""
    got, sizes = norm(op.grad_inputs[i]), norm(without_signs(op, i, grad_output))
    if got >= CANCELLED * sizes:
        return flat(op, i)
    return (
        "cancelled",
        f"what arrives is added up over the rows and cancels: its sizes add up to {sizes:.2g}, its sum is {got:.2g}. "
        "So to shift all rows alike changes nothing, as with the keys of an attention, where softmax ignores it",
    )


def factor(op, i, grad_output):
    """For products of the inputs 0 and 1, summed or not, with a term in input 2 if there is one."""
    if i == 2:
        return term(op, i, grad_output)
    got, sizes = norm(op.grad_inputs[i]), norm(without_signs(op, i, grad_output))
    other = op.inputs[1 - i]
    if got < CANCELLED * sizes:
        return (
            "cancelled",
            f"the sizes of its products with {name_of(other)} add up to {sizes:.2g}, but they cancel: "
            f"their sum is {got:.2g}",
        )
    if not other.data.all():
        return "multiplied by 0", f"{share_of_zeros(other.data):.0%} of the other factor, {name_of(other)}, is 0"
    small = sizes / norm(grad_output)
    return "small factor", f"the other factor, {name_of(other)}, is about {small:.2g} where this gradient is not 0"


def without_signs(op, i, grad_output):
    """What a sum of products would deliver if all numbers in it were positive, so that nothing could cancel."""
    twin = twin_of(op)
    twin.forward(*(np.abs(x.data) for x in op.inputs))
    return sum_to_shape(twin.backward(np.abs(grad_output))[i], op.inputs[i].shape)


def fitted(op, i, grad_output):
    return "fitted", f"softmax and target differ by at most {max_abs(op.backward(np.ones(()))[0]):.2g}"


def saturated(op, i, grad_output):
    p = op.y if isinstance(op, Softmax) else op.p
    if not p.any():
        return "masked", "every row may attend to nothing"
    rows = p.max(axis=op.axis)
    rows = rows[rows > 0]
    away = max(1 - rows.min(), np.finfo(p.dtype).eps)
    if away < 0.001:
        return (
            "saturated softmax",
            f"in every row one probability is 1 to within {away:.1g} and the others are near 0: its inputs "
            f"differ by too much, so a small change moves nothing",
        )
    if np.all(np.ptp(grad_output, axis=op.axis) <= 1e-12 * max_abs(grad_output)):
        return "cancelled", "its rows add up to 1 whatever comes, so the same gradient for a whole row moves nothing"
    share = (rows > 0.999).mean()
    if share == 0:
        return "cancelled", "its rows add up to 1 whatever comes, and the gradient of a row is almost the same all over"
    return "saturated softmax", f"in {share:.0%} of its rows one probability is 1 to within 0.001"


def max_abs(array):
    return float(np.abs(array).max(initial=0))


def share_of_zeros(array):
    return float(np.mean(np.asarray(array) == 0))


SPECIAL = {
    Softmax: saturated,
    LogSoftmax: saturated,
    CrossEntropy: fitted,
    Add: term,
    Subtract: term,
    Multiply: factor,
    Matmul: factor,
    Linear: factor,
}
