"""The gradient, split by the paths that it took: by residual, by route, by path length.

At a residual y = x + f(x) the gradient divides: dL/dy goes over the skip as it is, and through the branch it becomes
f'(x)^T dL/dy. So behind n residuals in a row dL/dx is a sum over 2^n routes, one for each choice of skip or branch
(Veit, Wilber, Belongie 2016, eq. 6). A rule of backpropagation is linear in the gradient that comes in. Therefore the
parts can be walked back side by side, each under a label of its own, and at x they sum to dL/dx exactly.
"""

import os
import warnings
from collections import Counter

import numpy as np

from minigrad.backprop import delivered, first_gradient, topological_order, total
from minigrad.graph import are_made_from, plain_sums_in_words, residuals_among, stream_start
from minigrad.ops.residual import WAYS, ResidualAdd
from minigrad.residuals.tables import GradientPaths, ResidualGradient, ResidualGradients
from minigrad.tensor import Tensor
from minigrad.types import TensorLike

MAX_ROUTES = 4096


def residual_gradients(
    loss: Tensor, x: Tensor | None = None, grad: "TensorLike | None" = None, *, plain_sums: bool = False
) -> ResidualGradients:
    """For each residual between `x` and `loss`: what came over its skip and what came through its sublayer.

    It costs about one backward pass where residuals stand in a row or one inside the other, and at most one for each
    residual however they stand. It needs no `backward()` before it, and changes no `grad`.

    Args:
        loss: where the gradient comes from.
        x: the input, or any other tensor that `loss` was computed from; by default the start of the residual stream,
            see `minigrad.graph.stream_start`.
        grad: dL/d(loss), of loss's shape; 1 if left out, as in `backward()`.
        plain_sums: whether `x + f(x)` with a plain plus counts as a residual, too. It is found by its structure: one
            of two tensors that are added was made from the other.

    Returns:
        A list of `ResidualGradient`, in order from the input; `print()` of it is a table. It is empty if there is no
        residual between the two. A residual is split where its skip and its branch part: at its skip's last tensor, or
        further back if that was scaled, projected or normed on the way (`alpha x + f(x)` parts at x). One whose skip
        does not lead back to `x` (it was detached, or `x` lies inside the branch) has no such split and is left out;
        `gradient_faults` reports a skip that was detached.

    Raises:
        ValueError: `loss` does not depend on `x`, `x` has requires_grad=False, or no start of a stream was found.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block(norm="pre")
    >>> for residual in residual_gradients((block(x) ** 2).sum(), x):
    ...     print(residual.name, np.allclose(residual.total, residual.skip + residual.branch))
    block.attention_residual True
    block.feed_forward_residual True
    """
    between = Between(loss, x, plain_sums)
    labels = InsideResiduals(between)
    carry(between, first_gradient(loss, grad), labels)
    return ResidualGradients(
        [
            ResidualGradient(name, *labels.found[residual])
            for residual, name in between.residuals.items()
            if residual in labels.found
        ],
        "" if between.residuals else plain_sums_in_words(between.order),
    )


def gradient_paths(
    loss: Tensor,
    x: Tensor | None = None,
    by: str = "route",
    grad: "TensorLike | None" = None,
    *,
    plain_sums: bool = False,
) -> GradientPaths:
    """dL/dx in parts, one for each path that the gradient took through the residuals.

    Args:
        loss, x, grad, plain_sums: as in `residual_gradients`.
        by: "route": one part per route. Keys are tuples of "skip" and "branch", one per residual from the input to
                the output ("-" where a route does not pass that residual). Up to 2^n parts for n residuals.
            "length": one part per number of branches passed, from 0 up. Up to n + 1 parts, at the cost of at most as
                many backward passes.
            "residual": for each residual the part that passed its branch. Keys are the residuals' names. These parts
                overlap, so they do not sum to the whole; the others do.

    Returns:
        A dict from keys to arrays of x's shape; `print()` of it is a table.

    Raises:
        ValueError: as `residual_gradients`; an unknown `by`; too many routes.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block(norm="pre")
    >>> loss = (block(x) ** 2).sum()
    >>> loss.backward()
    >>> routes = gradient_paths(loss, x)
    >>> list(routes)
    [('skip', 'skip'), ('branch', 'skip'), ('skip', 'branch'), ('branch', 'branch')]
    >>> np.allclose(sum(routes.values()), x.grad, rtol=1e-12)
    True
    """
    if by not in LABELS:
        raise ValueError(f"gradient_paths: by is one of {', '.join(LABELS)}; got {by!r}")
    between = Between(loss, x, plain_sums)
    n_residuals = len(between.residuals)
    if by == "route" and 2**n_residuals > MAX_ROUTES:
        raise ValueError(
            f"gradient_paths: {n_residuals} residuals make 2^{n_residuals} routes, more than the {MAX_ROUTES} that it "
            f'lists; use by="length" or by="residual", or a tensor nearer to the loss'
        )
    labels = LABELS[by](between)
    parts = carry(between, first_gradient(loss, grad), labels)
    return GradientPaths(labels.named(parts), by, list(between.residuals.values()))


class Between:
    """What lies between a tensor and a loss: the order to walk in, the tensors on the way, and the residuals.

    Attributes:
        x: the tensor.
        order: `topological_order(loss)`.
        tensors: those that were computed from x, and x itself.
        residuals: the residual additions among them, in order from x, with their names. A block that was called twice
            has the same name twice, so the later ones get a number: `block.attention_residual #2`.
        skip_index: for each residual which of its inputs is the skip.
    """

    def __init__(self, loss, x=None, plain_sums=False):
        if x is None and isinstance(loss, Tensor):
            x = stream_start(loss, plain_sums)
        if not isinstance(x, Tensor) or not isinstance(loss, Tensor):
            raise TypeError(f"the loss and x must be tensors; got {type(loss).__name__} and {type(x).__name__}")
        if not x.requires_grad:
            raise ValueError(f"{x} has requires_grad=False, so nothing was recorded for it: use requires_grad=True")
        self.x = x
        self.order = topological_order(loss)
        self.tensors = {x}
        self.residuals = {}
        self.skip_index = residuals_among(self.order, plain_sums)
        uses = Counter()
        for tensor in reversed(self.order):
            if tensor.op is not None and not self.tensors.isdisjoint(tensor.op.inputs):
                self.tensors.add(tensor)
                if tensor.op in self.skip_index and tensor is not x:
                    name = name_of_residual(tensor.op)
                    uses[name] += 1
                    self.residuals[tensor.op] = name if uses[name] == 1 else f"{name} #{uses[name]}"
        if any(tensor.hooks for tensor in self.tensors):
            warnings.warn(
                "the functions given to on_gradient are not called here: their results cannot be split into parts",
                stacklevel=3,
            )
        if loss not in self.tensors:
            raise ValueError(
                f"the loss {loss} does not depend on {x}: nothing that was recorded leads from one to the other"
            )

    def way(self, residual, i):
        """What input i of a residual is, "skip" or "branch"."""
        return WAYS[i ^ self.skip_index[residual]]

    def skip_and_branch(self, residual):
        skip = self.skip_index[residual]
        return residual.inputs[skip], residual.inputs[1 - skip]

    def partings(self):
        """For each residual whose skip leads back to x, the tensor where its skip and its branch part.

        It is the skip itself if the branch was made from it; else the last tensor on the way from x that every way to
        either of them passes. A branch that does not lead back to x parts nowhere, and again it is the skip.
        """
        ends = {residual: self.skip_and_branch(residual) for residual in self.residuals}
        ends = {residual: pair for residual, pair in ends.items() if pair[0] in self.tensors}
        at_skip = are_made_from(self.order, list(ends.values()))
        found, passed = {}, None
        for (residual, (skip, branch)), is_made_from in zip(ends.items(), at_skip, strict=True):
            if is_made_from or branch not in self.tensors:
                found[residual] = skip
            else:
                passed = passed or self.passed_before()
                found[residual] = last_passed_by_both(passed, skip, branch)
        return found

    def passed_before(self):
        """For each tensor the last one before it that every way from x to it passes, and how many such there are."""
        passed = {self.x: (None, 0)}
        for tensor in reversed(self.order):
            if tensor in self.tensors and tensor is not self.x:
                before, *others = (x for x in tensor.op.inputs if x in self.tensors)
                for other in others:
                    before = last_passed_by_both(passed, before, other)
                passed[tensor] = (before, passed[before][1] + 1)
        return passed


def last_passed_by_both(passed, a, b):
    """The last tensor that every way to a and every way to b passes."""
    while a is not b:
        if passed[a][1] >= passed[b][1]:
            a = passed[a][0]
        else:
            b = passed[b][0]
    return a


def name_of_residual(op):
    """Its path; a plain sum is named with its line, as it has no label."""
    if isinstance(op, ResidualAdd):
        return op.path
    return f"{op.path} ({os.path.basename(op.filename)}:{op.lineno})"


def carry(between, grad, labels):
    """Walk `grad` from the loss back to x in labelled parts; return the parts that arrive.

    It is the walk of `minigrad.backprop`, made of the same pieces, with two differences: a tensor has one gradient for
    each label, and at a residual a part gets new labels, one for each way on.
    """
    waiting = {between.order[0]: {labels.start: grad}}  # tensor -> label -> gradient
    for tensor in between.order:
        parts = labels.arrived(tensor, waiting.pop(tensor, {}))
        if tensor is between.x:
            return parts
        op = tensor.op
        for label, grad_output in parts.items():
            grad_inputs = delivered(op, labels.rule(op, grad_output))
            for i, x in enumerate(op.inputs):
                if grad_inputs[i] is None or x not in between.tensors:
                    continue
                for new in labels.beyond(label, op, i) if op in between.residuals else (label,):
                    accumulate(waiting.setdefault(x, {}), new, grad_inputs[i])


def accumulate(parts, label, grad):
    parts[label] = total(parts[label], grad) if label in parts else grad


class Labels:
    """A way to label the parts of a gradient. `start` is the label at the loss."""

    start: object = None

    def __init__(self, between):
        self.between = between

    def beyond(self, label, residual, i):
        """The labels of a part after it was delivered to input i of a residual addition."""
        raise NotImplementedError

    def arrived(self, tensor, parts):
        """The parts of a tensor's gradient as they go on, once all of them have arrived."""
        return parts

    def rule(self, op, grad_output):
        """What an op delivers to its inputs."""
        return op.backward(grad_output)

    def named(self, parts):
        """The parts at x, under the keys that a person reads."""
        return parts


class ByRoute(Labels):
    """Labels are routes: what was taken at each residual, from the input to the output."""

    def __init__(self, between):
        super().__init__(between)
        self.number = {residual: n for n, residual in enumerate(between.residuals)}
        self.start = ("-",) * len(between.residuals)

    def beyond(self, label, residual, i):
        n = self.number[residual]
        return ((*label[:n], self.between.way(residual, i), *label[n + 1 :]),)

    def named(self, parts):
        return dict(sorted(parts.items(), key=fewest_branches_first))


def fewest_branches_first(item):
    route, _ = item
    return route.count("branch"), route.index("branch") if "branch" in route else 0, route


class ByLength(Labels):
    """Labels are numbers of branches passed."""

    start = 0

    def beyond(self, label, residual, i):
        return (label + (self.between.way(residual, i) == "branch"),)

    def named(self, parts):
        return dict(sorted(parts.items()))


class ByResidual(Labels):
    """Label None is the whole gradient; a residual as a label, the part of it that passed that residual's branch."""

    def beyond(self, label, residual, i):
        if label is None and self.between.way(residual, i) == "branch":
            return (None, residual)
        return (label,)

    def named(self, parts):
        nothing = np.zeros_like(self.between.x.data)
        return {name: parts.get(residual, nothing) for residual, name in self.between.residuals.items()}


LABELS = {"route": ByRoute, "length": ByLength, "residual": ByResidual}


WHOLE = (None, None)


class InsideResiduals(Labels):
    """Labels are tuples of the sums that a part belongs to.

    These sums are WHOLE, the whole gradient, and one for each pair (residual, way): what went that way from a residual
    and has not yet come to where skip and branch meet again. A pair is dropped there.

    Where there would be more parts than sums, each sum goes on as one part of its own. So a tensor's rule runs at most
    once for the whole gradient and once for each way of a residual that the tensor lies on; where residuals stand in a
    row, or one inside the other, all of a gradient is in the same sums, and it runs once.

    Attributes:
        parting_at: the residuals by the tensor where their skip and branch part, if the skip leads back to x.
        found: for each of these what came there over the skip, and through the branch.
    """

    start = (WHOLE,)

    def __init__(self, between):
        super().__init__(between)
        self.found = {}
        self.partings = between.partings()
        self.parting_at = {}
        for residual, tensor in self.partings.items():
            self.parting_at.setdefault(tensor, []).append(residual)

    def beyond(self, label, residual, i):
        is_split = residual in self.partings and WHOLE in label
        return (((residual, self.between.way(residual, i)), *label),) if is_split else (label,)

    def arrived(self, tensor, parts):
        for residual in self.parting_at.get(tensor, ()):
            self.found[residual] = [sum_of((residual, way), parts, tensor) for way in WAYS.values()]
        outside = {}
        for label, grad in parts.items():
            if sums := tuple(pair for pair in label if pair[0] not in self.found):
                accumulate(outside, sums, grad)
        sums = dict.fromkeys(pair for label in outside for pair in label)
        if len(outside) > len(sums):
            outside = {(pair,): sum_of(pair, outside, tensor) for pair in sums}
        return outside


def sum_of(pair, parts, tensor):
    """The sum of all parts whose label contains `pair`, in an array of its own."""
    result = np.zeros_like(tensor.data)
    for label, grad in parts.items():
        if pair in label:
            result += grad
    return result
