"""What is odd about the gradient between a loss and an input, in words.

A wrong gradient raises no error, and the loss may still fall, because the rest of the network still learns. So faults
are looked for where they arise: on each skip and branch, from layer to layer, and on each token.
"""

import math
from itertools import pairwise

import numpy as np

from minigrad.backprop import first_gradient, topological_order
from minigrad.graph import plain_sums_in_words, stream_start
from minigrad.ops.normalization import LayerNorm, RmsNorm
from minigrad.precision import norm
from minigrad.residuals.split import WHOLE, Between, InsideResiduals, carry, sum_of
from minigrad.residuals.tables import GradientFault, GradientFaults, place
from minigrad.tensor import Tensor
from minigrad.types import TensorLike

# Freshly initialized stacks of 1 to 48 blocks, post-norm or pre-norm, stay clear of each limit by a factor of 5 or
# more: a branch brings at least 2% of what the skip brings, their sum is at least 60% of the larger one, and the norm
# changes by 80 at most from one layer to the next (where embeddings of deviation 0.02 are normalized), by 400 overall.
NOTHING = 1e-8  # a skip or branch passes nothing on if it brings at most this fraction of the gradient that arrives
CANCELLED = 0.1  # skip and branch cancel if their sum is less than this fraction of the larger one
JUMP = 1e3  # the norm collapses or explodes if it changes by more than this factor from one layer to the next
DRIFT = 1e4  # it vanishes or grows with depth if it changes by more than this factor over all layers

SKIP, BRANCH = 0, 1  # in what is found of a residual

WHICH_OP = (
    "\nTo find the op that made it, run forward and backward inside `with detect_anomaly():`, or print(why(x, loss))"
    "\nafter loss.backward(); both are in minigrad. Nothing else was checked."
)


def gradient_faults(loss: Tensor, x: Tensor | None = None, grad: "TensorLike | None" = None) -> GradientFaults:
    """Look for what is odd about the gradient on its way from `loss` to `x`.

    It reports a skip or a branch that passes nothing on, skip and branch that cancel, a layer where the gradient's norm
    collapses or explodes, a norm that vanishes or grows with depth, NaN and inf, and tokens that get no gradient. The
    limits are constants at the top of this file. It walks as `residual_gradients` does, and measures every gradient on
    the way; it needs no `backward()` before it, and changes no `grad`. It sees residuals that were made with
    `residual_add`, as those of the blocks are.

    Args:
        loss, x, grad: as in `residual_gradients`. A token is a row along x's last axis. If `x` lies before the start of
            the residual stream, as the weight of an embedding does, layers are looked at from that start on.

    Returns:
        A list of `GradientFault`, empty if there is nothing odd; `print()` of it is a report, which begins with what
        could not be looked at.

    Raises:
        ValueError: `loss` does not depend on `x`, or `x` has requires_grad=False.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block(norm="pre")
    >>> print(gradient_faults((block(x) ** 2).sum(), x))
    Nothing odd about the gradient.
    Looked at: 2 residuals, the gradient's norm at 4 places (3.46 to 36.8), 3 tokens.
    >>> block.attention.output.weight.data = np.zeros((4, 4))
    >>> gradient_faults((block(x) ** 2).sum(), x)
    [<dead branch: block.attention_residual>]
    """
    between = Between(loss, x)
    x = between.x
    survey = Survey(between)
    parts = carry(between, first_gradient(loss, grad), survey)
    layers, not_checked = layers_of_stream(between, survey)
    faults = non_finite(between, survey) or [
        *residual_faults(between, survey),
        *(jumps(layers) or drift(layers)),
        *token_faults(x, sum_of(WHOLE, parts, x)),
    ]
    return GradientFaults(faults, checked(between, layers), not_checked)


class Survey(InsideResiduals):
    """Each residual's two parts as in `InsideResiduals`, and the norm of the whole gradient at every tensor.

    Attributes:
        norms: of the gradient of each tensor.
        arriving: of the gradient that arrives at each residual, that is at its result.
    """

    def __init__(self, between):
        super().__init__(between)
        self.norms = {}
        self.arriving = {}

    def arrived(self, tensor, parts):
        self.norms[tensor] = norm(sum_of(WHOLE, parts, tensor))
        if tensor.op in self.between.residuals:
            self.arriving[tensor.op] = self.norms[tensor]
        return super().arrived(tensor, parts)


def layers_of_stream(between, survey):
    """The ends of the layers with the norm of the gradient there, the loss first; and in words what cannot be seen.

    They are the bottlenecks between the loss and x that have x's shape. Where x lies before the stream (a weight, say),
    they are those between the loss and the stream's start.
    """
    x = between.x
    try:
        start = stream_start(between.order[0])
    except ValueError:
        start = x
    if start in between.tensors:
        x = start
    layers = [(tensor, survey.norms[tensor]) for tensor in bottlenecks(between, x) if tensor.shape == x.shape]
    if len(layers) > 1:
        return layers, ""
    reason = f"no tensor of the shape {x.shape} of {place(x)} is passed by every way from the loss to it"
    return layers, f"the gradient's norm from layer to layer, since {reason}."


def bottlenecks(between, x):
    """The tensors that every route from the loss to x passes through, the loss first. A layer lies between two of them.

    Walking back, a tensor is a bottleneck if nothing else is waiting to be walked when it is reached.
    """
    leads_back = {x}
    for tensor in reversed(between.order):
        if tensor.op is not None and not leads_back.isdisjoint(tensor.op.inputs):
            leads_back.add(tensor)
    found, waiting = [], {between.order[0]}
    for tensor in between.order:
        if tensor in waiting:
            waiting.remove(tensor)
            if not waiting:
                found.append(tensor)
            if tensor is x:
                break
            waiting.update(leads_back.intersection(tensor.op.inputs))
    return found


def non_finite(between, survey):
    """A loss that is NaN or inf, or else the first gradient from it that is: the later ones only follow from that."""
    loss = between.order[0]
    if not np.isfinite(loss.data).all():
        return [
            GradientFault("non-finite", place(loss), f"The loss is {loss.data}, so its gradient says little.{WHICH_OP}")
        ]
    for tensor in between.order:
        if not np.isfinite(survey.norms.get(tensor, 0)):
            text = f"Walking back from the loss, this is the first gradient that holds NaN or inf.{WHICH_OP}"
            return [GradientFault("non-finite", place(tensor), text)]
    return []


def residual_faults(between, survey):
    """What is odd at each residual that a gradient arrives at; where none does, the cause is nearer to the loss."""
    faults = []
    for residual, name in between.residuals.items():
        arriving = survey.arriving[residual]
        for kind, reason in RESIDUAL_FAULTS.items() if arriving else ():
            if why := reason(residual, between, survey):
                text = (
                    f"A gradient of norm {arriving:.3g} arrives. {why}\nThis residual was made at {residual.location}."
                )
                faults.append(GradientFault(kind, name, text))
    return faults


def missing_skip(residual, between, survey):
    skip, _ = between.skip_and_branch(residual)
    if not skip.requires_grad:
        return f"The skip is a constant, so no gradient goes over it{where_cut(skip)}."
    if passes_on(residual, SKIP, survey):
        return None
    if survey.partings[residual] is not skip:
        return f"The skip, which parts from the branch at {place(survey.partings[residual])}, passes none of it on."
    rule = f"{type(residual).__module__}.{type(residual).__qualname__}.backward"
    return f"The skip passes none of it on, where dL/dskip should be dL/dy.\nThe rule that should do it is {rule}."


def dead_branch(residual, between, survey):
    skip, branch = between.skip_and_branch(residual)
    if skip in between.tensors and branch not in between.tensors:
        return f"The branch does not lead back to {place(between.x)}{where_cut(branch)}."
    if passes_on(residual, BRANCH, survey):
        return None
    return (
        "The branch passes none of it on:\nweights that are 0, an activation that is off everywhere, or a wrong rule."
    )


def cancellation(residual, between, survey):
    skip, branch = survey.found.get(residual, (np.zeros(()), np.zeros(())))
    larger, left = max(norm(skip), norm(branch)), norm(skip + branch)
    if left >= CANCELLED * larger:
        return None
    return (
        f"The skip brings {norm(skip):.3g} and the branch {norm(branch):.3g},\n"
        f"but in opposite directions: of their sum only {left:.3g} is left."
    )


RESIDUAL_FAULTS = {"missing skip": missing_skip, "dead branch": dead_branch, "cancellation": cancellation}


def passes_on(residual, way, survey):
    """Whether a way of a residual brings anything to where the two part; True if x does not lie behind that."""
    return residual not in survey.found or norm(survey.found[residual][way]) > NOTHING * survey.arriving[residual]


def where_cut(tensor):
    """Where the graph behind a tensor was cut, if it was."""
    for source in topological_order(tensor):
        if source.cut is not None:
            return f": {source.cut.label or 'it'} was cut off by {source.cut.by}\nat {source.cut.location}"
    return ""


def jumps(layers):
    """Where the norm jumps from one layer to the next."""
    faults = []
    for (behind, before), (ahead, after) in pairwise(layers):
        if within(before, after, JUMP):
            continue
        kind = "collapse" if after < before else "explosion"
        text = f"From the one back to the other, the gradient's norm goes from {before:.3g} to {after:.3g}."
        if kind == "collapse" and isinstance(behind.op, (LayerNorm, RmsNorm)):
            text += (
                "\nA norm whose gain is 1 gives every row the same sum of squares, and layer norm also the same sum,"
                "\nwhatever its input. A loss that depends on these sums alone is constant, and its gradient is 0."
            )
        faults.append(GradientFault(kind, f"between {place(behind)} and {place(ahead)}", text))
    return faults


def drift(layers):
    """Whether the norm vanishes or grows little by little, over all layers."""
    (last, before), (first, after) = layers[0], layers[-1]
    if within(before, after, DRIFT):
        return []
    kind = "vanishing with depth" if after < before else "growing with depth"
    steps = len(layers) - 1
    text = (
        f"Over {steps} layers the gradient's norm goes from {before:.3g} to {after:.3g},\n"
        f"by a factor of {(after / before) ** (1 / steps):.3g} per layer."
    )
    return [GradientFault(kind, f"from {place(last)} to {place(first)}", text)]


def within(before, after, factor):
    return before <= factor * after and after <= factor * before


def token_faults(x, grad_x):
    if x.size == 0:
        return [GradientFault("no gradient", place(x), f"It has no elements: its shape is {x.shape}.")]
    if not grad_x.any():
        return [GradientFault("no gradient", place(x), "The gradient that arrives is 0 everywhere.")]
    if x.ndim < 2:
        return []
    got = grad_x.any(axis=-1)
    if got.all():
        return []
    where = ", ".join(str(index[0] if len(index) == 1 else index) for index in np.argwhere(~got)[:8].tolist())
    text = (
        "Their gradient is exactly 0: the loss depends on nothing that attended to them. A mask does that, and so\n"
        "does a causal mask to the tokens after the last one that the loss depends on."
    )
    more = ", ..." if (~got).sum() > 8 else ""
    return [GradientFault("tokens without gradient", f"{(~got).sum()} of {got.size}, at {where}{more}", text)]


def checked(between, layers):
    """What was looked at, in words."""
    x = between.x
    norms = [size for _, size in layers if np.isfinite(size)]
    n_residuals = len(between.residuals)
    none = f"no residual, as none was made with residual_add{plain_sums_in_words(between.order).rstrip('.')}"
    parts = [f"{n_residuals} residuals" if n_residuals else none]
    if norms:
        parts.append(f"the gradient's norm at {len(norms)} places ({min(norms):.3g} to {max(norms):.3g})")
    if x.ndim > 1:
        parts.append(f"{math.prod(x.shape[:-1])} tokens")
    return ", ".join(parts)
