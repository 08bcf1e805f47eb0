"""Why a rule delivers zeros, or little: what the op's saved arrays say."""

import copy

import numpy as np

from minigrad.arrays import norm, sum_to_shape
from minigrad.debugging.words import name_of
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
                return "small slope", f"its slope is at most {largest(slope):.2g}"
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
    size = largest(grad_output)
    if not 0 < size < 1 or np.any(op.backward(grad_output)[i]):
        return False
    return bool(np.any(op.backward(grad_output / size)[i]))


def underflow(grad_output):
    smallest = np.finfo(grad_output.dtype).smallest_subnormal
    return (
        "underflow",
        f"the incoming gradient is at most {largest(grad_output):.2g}; times its slope that is below {smallest:.2g}, "
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
        "So a shift of all rows alike moves nothing, as with the keys of an attention, where softmax ignores it",
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
    twin = copy.copy(op)
    twin.forward(*(np.abs(x.data) for x in op.inputs))
    return sum_to_shape(twin.backward(np.abs(grad_output))[i], op.inputs[i].shape)


def fitted(op, i, grad_output):
    return "fitted", f"softmax and target differ by at most {largest(op.backward(np.ones(()))[0]):.2g}"


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
    if np.all(np.ptp(grad_output, axis=op.axis) <= 1e-12 * largest(grad_output)):
        return "cancelled", "its rows add up to 1 whatever comes, so the same gradient for a whole row moves nothing"
    share = (rows > 0.999).mean()
    if share == 0:
        return "cancelled", "its rows add up to 1 whatever comes, and the gradient of a row is almost the same all over"
    return "saturated softmax", f"in {share:.0%} of its rows one probability is 1 to within 0.001"


def largest(array):
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
