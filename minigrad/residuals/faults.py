"""What is odd about the gradient between a loss and an input, said in words.

A wrong gradient raises no error, and the loss may fall all the same: the other way around a residual still carries
something. So faults are looked for where they sit: on each skip and branch, from layer to layer, on each token.
"""

from itertools import pairwise

import numpy as np

from minigrad.arrays import norm
from minigrad.backprop import first_gradient, topological_order
from minigrad.ops.normalization import LayerNorm, RmsNorm
from minigrad.ops.residual import ResidualAdd
from minigrad.residuals.split import Between, ByStretch, carry
from minigrad.residuals.tables import GradientFault, GradientFaults
from minigrad.tensor import Tensor
from minigrad.types import TensorLike

# Fresh stacks of 1 to 48 blocks, post-norm or pre-norm, stay clear of each of these by a factor of 5 or more: their
# branches carry 2% of the skip or more, skip and branch leave 60% of the larger one or more, and the norm changes by
# 80 at most from one layer to the next (where embeddings of deviation 0.02 get normalized) and by 400 over all.
NOTHING = 1e-8  # a way "delivers nothing" if it carries no more than this fraction of the gradient that arrives
CANCELLED = 0.1  # skip and branch "cancel" if less than this fraction of the larger one is left of their sum
JUMP = 1e3  # the norm "collapses" or "explodes" if it changes by more than this from one layer to the next
DRIFT = 1e4  # and "vanishes" or "grows" with depth if it changes by more than this over all layers

WHO_MADE_IT = (
    "\nWhich op made it: run forward and backward inside `with detect_anomaly():`, or, after loss.backward(),"
    "\nprint(why(x, loss)); both are in minigrad. Nothing else was judged."
)


def gradient_faults(loss: Tensor, x: Tensor, grad: "TensorLike | None" = None) -> GradientFaults:
    """Look for what is odd about the gradient on its way from `loss` to `x`.

    It reports a skip or a branch that delivers nothing, skip and branch that cancel, a layer where the gradient's norm
    collapses or explodes, a norm that vanishes or grows with depth, NaN and inf, and tokens that get no gradient. The
    limits have names at the top of this file. It costs at most two backward passes, needs none before it, and changes
    no `grad`. A residual is seen if it was made with `residual_add`, as those of the blocks are.

    Args:
        loss, x, grad: as in `residual_gradients`. A token is a row along x's last axis.

    Returns:
        A list of `GradientFault`, empty if there is nothing odd; `print()` of it is a report.

    Raises:
        ValueError: `loss` does not depend on `x`, or `x` asks for no gradient.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block(norm="pre")
    >>> print(gradient_faults((block(x) ** 2).sum(), x))
    Nothing odd about the gradient.
    Looked at: 2 residuals, the gradient's norm at 4 places (3.46 to 36.8), 3 tokens.
    >>> block.attention.output.weight.data = np.zeros((4, 4))
    >>> gradient_faults((block(x) ** 2).sum(), x)
    [<dead branch: block.attention_residual>]
    """
    path = Between(loss, x)
    survey = Survey(path)
    parts = carry(path, first_gradient(loss, grad), survey)
    layers = [(tensor, survey.norms[tensor]) for tensor in bottlenecks(path) if tensor.shape == x.shape]
    faults = not_finite(path, survey) or [
        *residual_faults(path, survey),
        *(jumps(layers) or drift(layers)),
        *token_faults(x, whole(parts)),
    ]
    return GradientFaults(faults, checked(path, layers))


class Survey(ByStretch):
    """Each residual's two parts as in `ByStretch`, and the norm of the whole gradient at every tensor.

    Attributes:
        norms: of the gradient of each tensor.
        arriving: of the gradient that arrives at each residual, that is at its result.
    """

    def __init__(self, path):
        super().__init__(path)
        self.norms = {}
        self.arriving = {}

    def arrived(self, tensor, parts):
        self.norms[tensor] = norm(whole(parts))
        if tensor.op in self.residuals:
            self.arriving[tensor.op] = self.norms[tensor]
        return super().arrived(tensor, parts)


def whole(parts):
    """The sum of all parts; 0 if there are none."""
    first, *others = parts.values() or [np.zeros(())]
    return sum(others, first)


def bottlenecks(path):
    """The tensors that every route from the loss to x passes through, the loss first. A layer lies between two of them.

    Walking back, a tensor is a bottleneck if nothing else is waiting to be walked when it is reached.
    """
    found, waiting = [], {path.order[0]}
    for tensor in path.order:
        if tensor in waiting:
            waiting.remove(tensor)
            if not waiting:
                found.append(tensor)
            if tensor is path.x:
                break
            waiting.update(path.between.intersection(tensor.op.inputs))
    return found


def not_finite(path, survey):
    """NaN or inf, in the loss or at the first tensor from it that has it: what comes behind only follows from that."""
    loss = path.order[0]
    if not np.isfinite(loss.data).all():
        return [
            GradientFault("not a number", place(loss), f"It is not finite, so no gradient means much.{WHO_MADE_IT}")
        ]
    for tensor in path.order:
        if not np.isfinite(survey.norms.get(tensor, 0)):
            text = f"The first gradient from the loss that holds NaN or inf is the one that arrives here.{WHO_MADE_IT}"
            return [GradientFault("not a number", place(tensor), text)]
    return []


def residual_faults(path, survey):
    """What is odd at each residual that a gradient arrives at; where none does, the cause sits nearer to the loss."""
    faults = []
    for residual, name in path.residuals.items():
        arriving = survey.arriving[residual]
        for kind, reason in RESIDUAL_FAULTS.items() if arriving else ():
            if why := reason(residual, path, survey):
                text = (
                    f"A gradient of norm {arriving:.3g} arrives. {why}\nThis residual was made at {residual.location}."
                )
                faults.append(GradientFault(kind, name, text))
    return faults


def missing_skip(residual, path, survey):
    skip = residual.inputs[ResidualAdd.SKIP]
    if not skip.requires_grad:
        return f"The skip is a constant, so nothing goes over it{cut_in_words(skip)}."
    if delivers(residual, ResidualAdd.SKIP, survey):
        return None
    rule = f"{type(residual).__module__}.{type(residual).__qualname__}.backward"
    return f"The skip hands on nothing of it, where dL/dskip should be dL/dy.\nThe rule that should do it is {rule}."


def dead_branch(residual, path, survey):
    skip, branch = residual.inputs
    if skip in path.between and branch not in path.between:
        return f"The branch does not lead back to {place(path.x)}{cut_in_words(branch)}."
    if delivers(residual, ResidualAdd.BRANCH, survey) or skip not in set(topological_order(branch)):
        return None  # a branch that begins elsewhere owes this skip's input nothing
    return (
        "The branch hands on nothing of it:\nweights that are 0, an activation that is off everywhere, or a wrong rule."
    )


def cancellation(residual, path, survey):
    skip, branch = survey.found.get(residual, (np.zeros(()), np.zeros(())))
    larger, left = max(norm(skip), norm(branch)), norm(skip + branch)
    if left >= CANCELLED * larger:
        return None
    return (
        f"The skip brings {norm(skip):.3g} and the branch {norm(branch):.3g},\n"
        f"but in opposite directions: of their sum only {left:.3g} is left."
    )


RESIDUAL_FAULTS = {"missing skip": missing_skip, "dead branch": dead_branch, "cancellation": cancellation}


def delivers(residual, i, survey):
    """Whether input i of a residual brings more than nothing to its input; True where x is not behind that input."""
    return residual not in survey.found or norm(survey.found[residual][i]) > NOTHING * survey.arriving[residual]


def cut_in_words(tensor):
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
        text = f"Walking back from the one to the other, the gradient's norm goes from {before:.3g} to {after:.3g}."
        if kind == "collapse" and isinstance(behind.op, (LayerNorm, RmsNorm)):
            text += (
                "\nA norm whose gain is 1 gives every row the same sum of squares, and layer norm also the same sum,"
                "\nwhatever its input. If the loss reads only these sums, it is constant, and its gradient is 0."
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
        f"Over {steps} steps the gradient's norm goes from {before:.3g} to {after:.3g},\n"
        f"by a factor of {(after / before) ** (1 / steps):.3g} a step."
    )
    return [GradientFault(kind, f"from {place(last)} to {place(first)}", text)]


def within(before, after, factor):
    return before <= factor * after and after <= factor * before


def token_faults(x, grad_x):
    if not grad_x.any():
        return [GradientFault("no gradient", place(x), "The gradient that arrives is 0 everywhere.")]
    if x.ndim < 2:
        return []
    got = grad_x.any(axis=-1)
    if got.all():
        return []
    where = ", ".join(str(index[0] if len(index) == 1 else index) for index in np.argwhere(~got)[:8].tolist())
    text = (
        "They get exactly 0: the loss reads nothing that looked at them. A mask does that, and so does a causal\n"
        "mask to tokens behind the last one that the loss reads."
    )
    more = ", ..." if (~got).sum() > 8 else ""
    return [GradientFault("tokens without gradient", f"{(~got).sum()} of {got.size}, at {where}{more}", text)]


def checked(path, layers):
    """What was looked at, in words."""
    norms = [size for _, size in layers if np.isfinite(size)]
    parts = [
        f"{len(path.residuals)} residuals" if path.residuals else "no residual, as none was made with residual_add"
    ]
    if norms:
        parts.append(f"the gradient's norm at {len(norms)} places ({min(norms):.3g} to {max(norms):.3g})")
    if path.x.ndim > 1:
        parts.append(f"{path.x.size // path.x.shape[-1]} tokens")
    return ", ".join(parts)


def place(tensor):
    """What to call a tensor: its name, or the op that made it."""
    return tensor.name or (tensor.op.path if tensor.op else "x")
