"""The residual stream: what each sublayer wrote into it, and what that did to the loss.

Along the skips, h_n = x + w_1 + ... + w_n: each residual adds what its branch wrote. With the gradient at every place
of the stream at hand, effect_i = w_i . dL/dy_i says to first order how the loss would change with the size of w_i. That
gradient came back on two kinds of ways, and so the effect divides: over skips alone (the direct effect, what the end of
the model reads of w_i itself), and through the branches of later residuals (the indirect one, what they made of it).
"""

import numpy as np

from minigrad.backprop import first_gradient
from minigrad.ops.arithmetic import Add, Subtract
from minigrad.ops.linear import Linear
from minigrad.ops.normalization import LayerNorm, RmsNorm
from minigrad.ops.residual import ResidualAdd
from minigrad.ops.selection import Where
from minigrad.ops.shapes import Concatenate, Stack
from minigrad.residuals.split import Between, Labels, carry
from minigrad.residuals.tables import ResidualStream, ResidualWrite, place
from minigrad.tensor import Tensor
from minigrad.types import TensorLike

DIRECT, INDIRECT = "direct", "indirect"
NORM_SCALES = ("true", "held")

# Which inputs of an op are added to what comes from the others, so that each has a part of its own in the result.
ADDED = {Add: (0, 1), Subtract: (0, 1), ResidualAdd: (0, 1), Where: (0, 1), Linear: (2,), LayerNorm: (2,)}


def residual_stream(
    loss: Tensor,
    x: Tensor | None = None,
    grad: "TensorLike | None" = None,
    *,
    norm_scale: str = "true",
    plain_sums: bool = False,
) -> ResidualStream:
    """What each residual wrote into the stream, and the effect of that on the loss: direct, and through later branches.

    It costs about two backward passes, needs no `backward()` before it, and changes no `grad`.

    The scale of a norm on the stream (the final norm of a pre-norm model, every norm of a post-norm one) is what makes
    this read in two ways, and each is right for its own question:

    "true" takes the gradient as it is. A norm divides by the size of what it reads, so a longer stream changes
        nothing, and the direct effects of all that was written sum to about 0 whatever the loss is. It is right for
        "what happens if this write grows a little?".
    "held" takes the norm's scale as a constant, as it was in this pass. Then the way over the skips is linear, and the
        direct parts of a logit (or of a difference of logits) sum to it exactly: the start's, each residual's, and
        those of biases. It is right for "which parts is this logit made of?", which is called direct logit
        attribution. A loss that is not linear in the logits has no such parts.

    Args:
        loss: where the gradient comes from: a loss, one logit, or the difference of two.
        x: where the stream begins; by default found, see `minigrad.graph.stream_start`.
        grad: dL/d(loss), of loss's shape; 1 if left out, as in `backward()`.
        norm_scale: "true" or "held".
        plain_sums: as in `residual_gradients`.

    Returns:
        A list of `ResidualWrite`, in order from the input, with what the stream began with in `.start`; `print()` of it
        is a table.

    Raises:
        ValueError: `loss` does not depend on `x`, `x` has requires_grad=False, or no start was found; another
            `norm_scale`.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block(norm="pre")
    >>> stream = residual_stream((block(x) ** 2).sum())
    >>> for write in stream:
    ...     print(write.name, f"{write.effect:.3f} = {write.direct:.3f} + {write.indirect:.3f}")
    block.attention_residual ... = ... + ...
    block.feed_forward_residual ... = ... + 0.000
    """
    if norm_scale not in NORM_SCALES:
        raise ValueError(f'residual_stream: norm_scale is "true" or "held"; got {norm_scale!r}')
    between = Between(loss, x, plain_sums)
    labels = OverSkips(between, norm_scale == "held")
    grad = first_gradient(loss, grad)
    at_start = carry(between, grad, labels)
    start = between.x
    called = start.name or f"start ({place(start)})"
    return ResidualStream(
        [
            ResidualWrite(name, skip.data, branch.data, *both(labels.parts.get(residual, {}), branch))
            for residual, name in between.residuals.items()
            for skip, branch in [between.skip_and_branch(residual)]
        ],
        start=ResidualWrite(called, np.zeros_like(start.data), start.data, *both(at_start, start)),
        biases=labels.biases,
        loss=float(np.vdot(loss.data.astype(np.float64), grad)),
        norm_scale=norm_scale,
    )


def both(parts, where):
    """The direct and the indirect gradient among parts; zeros in the place of one that did not arrive."""
    return [parts.get(label, np.zeros_like(where.data)) for label in (DIRECT, INDIRECT)]


class OverSkips(Labels):
    """A part is direct as long as it passes no branch, and indirect from then on.

    Attributes:
        hold: whether norms that the direct part passes keep their scale.
        parts: what arrives at each residual's result.
        biases: by name, the direct effect of all that was added on the way of the direct part but does not come from x.
    """

    start = DIRECT

    def __init__(self, between, hold):
        super().__init__(between)
        self.hold = hold
        self.on_stream = set()
        self.parts = {}
        self.biases = {}

    def beyond(self, label, residual, i):
        return (INDIRECT if self.between.way(residual, i) == "branch" else label,)

    def arrived(self, tensor, parts):
        if tensor.op in self.between.residuals:
            self.parts[tensor.op] = parts
        if DIRECT in parts and tensor is not self.between.x:
            self.on_stream.add(tensor.op)
            self.add_biases(tensor.op, parts[DIRECT])
        return parts

    def rule(self, op, grad_output):
        if self.hold and op in self.on_stream and isinstance(op, (LayerNorm, RmsNorm)):
            return with_held_scale(op, grad_output)
        return op.backward(grad_output)

    def add_biases(self, op, grad_output):
        """Keep the direct effect of what the op adds to the stream that does not come from x.

        A branch that does not come from x is a residual's write all the same, unless its skip does not either.
        """
        added = ADDED.get(type(op), range(len(op.inputs)) if isinstance(op, (Concatenate, Stack)) else ())
        outside = [i for i in added if op.inputs[i] not in self.between.tensors]
        if op in self.between.residuals:
            outside = [i for i in outside if self.between.way(op, i) == "skip"]
        if not outside:
            return
        grads = op.backward(grad_output)
        for i in outside:
            tensor = op.inputs[i]
            effect = float((tensor.data * grads[i].astype(np.float64)).sum())
            name = tensor.name or (tensor.op.path if tensor.op else f"constant in {op.path}")
            self.biases[name] = self.biases.get(name, 0.0) + effect


def with_held_scale(op, grad_y):
    """The rule of a norm whose scale s is a constant.

    y = gain * (x - mean) / s + bias:   dL/dx = (g - mean(g)) / s   with  g = dL/dy * gain;  without the mean of an rms
    norm:   dL/dx = g / s.
    """
    g = grad_y * op.gain
    if isinstance(op, LayerNorm):
        g = g - g.mean(axis=-1, keepdims=True)
    return (g / op.s, *op.backward(grad_y)[1:])
