"""The engine's words: short reprs, and errors that say what came, what was wanted, and what to do."""

import itertools
from collections.abc import Iterable
from math import prod

import numpy as np

from minigrad.precision import norm

KINDS = (np.exceptions.AxisError, IndexError, TypeError, ValueError)


def summary(array: np.ndarray) -> str:
    """The numbers of an array in a few characters: the value itself, or mean and norm."""
    if array.size == 1:
        return f"value={array.item():.6g}"
    if array.size == 0:
        return "empty"
    with np.errstate(all="ignore"):  # inf and NaN may be just what a reader looks for
        return f"mean={array.mean(dtype=np.float64):.4g}, norm={norm(array):.4g}"


def few(words: Iterable[str]) -> str:
    """At most four of the words, with commas between them: `few("abcdef")` is "a, b, c, d, ..."."""
    first = list(itertools.islice(words, 5))
    return ", ".join(first[:4] + ["..."] * (len(first) > 4))


def tensor_in_short(tensor):
    parts = [str(tensor.shape), str(tensor.dtype)]
    if tensor.name:
        parts.insert(0, repr(tensor.name))
    if tensor.op is not None:
        parts.append(f"op={tensor.op.name}")
    elif tensor.requires_grad:
        parts.append("requires_grad")
    return f"<{type(tensor).__name__} {', '.join(parts)}, {summary(tensor.data)}>"


def step_in_short(step):
    norms = few("-" if grad is None else f"{norm(grad):.4g}" for grad in step.grad_inputs or ())
    of = step.op.path if step.op else step.tensor
    return f"<step {of}, |grad_output|={norm(step.grad_output):.4g}, |grad_inputs|=({norms})>"


def with_op(error, op):
    """`error` again, with the op and what it was given in front of the message."""
    given = ", ".join(f"{x.dtype}{list(x.shape)}" for x in op.inputs)
    kind = next(kind for kind in KINDS if isinstance(error, kind))
    return kind(f"{op.name}({given}): {error}")


def used_already(op):
    return RuntimeError(f"{op.name} was used already, and an op is one node of the graph: make a new one")


def bad_forward(op, data, several, own):
    """An op that has run forward cannot be recorded: its result is no tensor, or it took the engine's attributes."""
    if several:
        return TypeError(f"{op.name}: forward must return one array, not several: make an op for each, or stack them")
    if data.dtype.kind not in "biuf":
        return TypeError(f"{op.name}: forward must return an array of real numbers; got one of dtype {data.dtype}")
    taken = sorted(own & vars(op).keys()) or ["inputs"]
    return TypeError(f"{op.name}: the engine itself uses the attribute {', '.join(taken)}; give yours another name")


def wrong_shape(name, got, wanted):
    """An input that would be broadcast, where only one shape is meant."""
    advice = f"{name}.reshape({wanted})" if prod(got) == prod(wanted) else f"broadcast_to({name}, {wanted})"
    return ValueError(f"{name} has shape {got}, but {wanted} is wanted; if it is meant, say so: {advice}")


def bad_backward(op, grads):
    """A rule did not return one gradient for each input."""
    got = f"a tuple of {len(grads)}" if isinstance(grads, tuple) else type(grads).__name__
    return TypeError(
        f"{op.path}: backward must return a tuple with one gradient per input ({len(op.inputs)}), "
        f"or None in the place of an input that gets none; got {got}. Op made at {op.location}."
    )


def bad_gradient(op, i, error):
    """What a rule returned for input i does not fit that input."""
    return type(error)(f"{op.path}: backward, gradient {i}: {error}. Op made at {op.location}.")


def no_gradient_for(tensor):
    return TypeError(
        f"a tensor of dtype {tensor.dtype} cannot have a gradient, which is a fraction in general: "
        f"make it floating first, as in Tensor(array.astype(np.float64), requires_grad=True)"
    )


def no_backward_from(output):
    """Why no pass can start from `output`."""
    if not output.requires_grad:
        return RuntimeError(
            f"backward() from {output}: nothing was recorded, so no gradient can flow. Make a leaf with "
            f"requires_grad=True, and compute outside of no_grad()"
        )
    if output.dtype.kind != "f":
        return TypeError(f"backward() from a tensor of dtype {output.dtype}: only a floating type has a gradient")
    return ValueError(
        f"backward() without a gradient needs a single number; this tensor has shape {output.shape}. "
        f"Reduce it first (loss = t.sum()), or pass dL/dt of that shape: t.backward(grad)"
    )
