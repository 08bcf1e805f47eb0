"""The gradient, split by the ways it took: by residual, by route, by path length.

At a residual y = x + f(x) the gradient divides: dL/dy goes over the skip as it is, and through the branch it becomes
f'(x)^T dL/dy. So behind n residuals in a row dL/dx is a sum over 2^n routes, one for each choice of skip or branch
(Veit, Wilber, Belongie 2016, eq. 6). A rule of backpropagation is linear in the gradient that comes in. Therefore the
parts can be walked back side by side, each under a label of its own, and at x they sum to dL/dx exactly.
"""

import warnings
from collections import Counter

import numpy as np

from minigrad.backprop import delivered, first_gradient, topological_order, total
from minigrad.ops.residual import WAYS, ResidualAdd
from minigrad.residuals.tables import GradientPaths, ResidualGradient, ResidualGradients
from minigrad.tensor import Tensor
from minigrad.types import TensorLike

MAX_ROUTES = 4096


def residual_gradients(loss: Tensor, x: Tensor, grad: "TensorLike | None" = None) -> ResidualGradients:
    """For each residual between `x` and `loss`: what came over its skip and what came through its sublayer.

    It costs about one backward pass of its own, needs none before it, and changes no `grad`.

    Args:
        loss: where the gradient comes from.
        x: the input, or any other tensor that `loss` was made from.
        grad: dL/d(loss), of loss's shape; 1 if left out, as in `backward()`.

    Returns:
        A list of `ResidualGradient`, in order from the input; `print()` of it is a table. It is empty if there is no
        residual between the two. A residual whose skip does not lead back to `x` (it was detached, or `x` lies inside
        the branch) has no such split and is left out; `gradient_faults` speaks up if a skip was detached.

    Raises:
        ValueError: `loss` does not depend on `x`, or `x` asks for no gradient.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block(norm="pre")
    >>> for residual in residual_gradients((block(x) ** 2).sum(), x):
    ...     print(residual.name, np.allclose(residual.total, residual.skip + residual.branch))
    block.attention_residual True
    block.feed_forward_residual True
    """
    return ResidualGradients(split_by_residual(loss, x, grad).values())


def split_by_residual(loss, x, grad=None):
    """A dict from the residual additions to their `ResidualGradient`, in order from the input."""
    path = Between(loss, x)
    split = ByStretch(path)
    carry(path, first_gradient(loss, grad), split)
    return {
        residual: ResidualGradient(name, *split.found[residual])
        for residual, name in path.residuals.items()
        if residual in split.found
    }


def gradient_paths(loss: Tensor, x: Tensor, by: str = "route", grad: "TensorLike | None" = None) -> GradientPaths:
    """dL/dx in parts, one for each way that the gradient took through the residuals.

    Args:
        loss, x, grad: as in `residual_gradients`.
        by: "route": one part per route. Keys are tuples of "skip" and "branch", one per residual from the input to
                the output ("-" where a route goes past a residual that stands beside it). 2^n parts.
            "length": one part per number of branches passed, from 0 up. n + 1 parts for n residuals, which costs as
                many backward passes at most, not 2^n.
            "residual": for each residual the part that passed its branch. Keys are the residuals' names. These parts
                overlap, so they do not sum to the whole; the others do.

    Returns:
        A dict from keys to arrays of x's shape; `print()` of it is a table.

    Raises:
        ValueError: `loss` does not depend on `x`, or `x` asks for no gradient; an unknown `by`; too many routes.

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
    if by not in SPLITS:
        raise ValueError(f"gradient_paths: by is one of {', '.join(SPLITS)}; got {by!r}")
    path = Between(loss, x)
    if by == "route" and 2 ** len(path.residuals) > MAX_ROUTES:
        raise ValueError(
            f"gradient_paths: {len(path.residuals)} residuals make 2^{len(path.residuals)} routes, and more than "
            f'{MAX_ROUTES} are not sensible to list; use by="length" or by="residual", or a tensor nearer to the loss'
        )
    split = SPLITS[by](path)
    parts = carry(path, first_gradient(loss, grad), split)
    return GradientPaths(split.named(parts, x), by, list(path.residuals.values()))


class Between:
    """What lies between two tensors: the order to walk in, the tensors that lead to x, and the residuals.

    Attributes:
        order: `topological_order(loss)`.
        between: the tensors that were made from x, and x itself.
        residuals: the residual additions among them, in order from x, with their names. A block that was run twice
            has the same name twice, so the later ones get a number: `block.attention_residual #2`.
    """

    def __init__(self, loss, x):
        if not isinstance(x, Tensor) or not isinstance(loss, Tensor):
            raise TypeError(f"the loss and x must be tensors; got {type(loss).__name__} and {type(x).__name__}")
        if not x.requires_grad:
            raise ValueError(
                f"{x} asks for no gradient, so nothing was recorded for it: make it with requires_grad=True"
            )
        self.x = x
        self.order = topological_order(loss)
        self.between = {x}
        self.residuals = {}
        uses = Counter()
        for tensor in reversed(self.order):
            if tensor.op is not None and not self.between.isdisjoint(tensor.op.inputs):
                self.between.add(tensor)
                if isinstance(tensor.op, ResidualAdd) and tensor is not x:
                    name = tensor.op.path
                    uses[name] += 1
                    self.residuals[tensor.op] = name if uses[name] == 1 else f"{name} #{uses[name]}"
        if any(tensor.hooks for tensor in self.between):
            warnings.warn("hooks (on_gradient) are left out: what they make of a gradient has no parts", stacklevel=4)
        if loss not in self.between:
            raise ValueError(
                f"the loss {loss} does not depend on {x}: nothing that was recorded leads from one to the other"
            )


def carry(path, grad, split):
    """Walk `grad` back to x in labelled parts; return the parts that arrive.

    This is the loop of `minigrad.backprop`, except that a tensor has a gradient for each label, a residual addition
    gives new labels to what it delivers, and no gradient is stored.
    """
    waiting = {path.order[0]: {split.start: grad}}
    for tensor in path.order:
        parts = split.arrived(tensor, waiting.pop(tensor, {}))
        if tensor is path.x:
            return parts
        op = tensor.op
        for label, grad_output in parts.items():
            grad_inputs = delivered(op, op.backward(grad_output))
            for i, x in enumerate(op.inputs):
                if grad_inputs[i] is not None and x in path.between:
                    labels = split.beyond(label, op, i) if isinstance(op, ResidualAdd) else (label,)
                    for new in labels:
                        add_part(waiting.setdefault(x, {}), new, grad_inputs[i])


def add_part(parts, label, grad):
    parts[label] = total(parts[label], grad) if label in parts else grad


class Split:
    """A way to label the parts of a gradient. `start` is the label at the loss."""

    start: object = None

    def __init__(self, path):
        self.residuals = path.residuals

    def beyond(self, label, residual, i):
        """The labels of a part after it was delivered to input i of a residual addition."""
        raise NotImplementedError

    def arrived(self, tensor, parts):
        """The parts of a tensor's gradient once all of them are there, and before they go on."""
        return parts

    def named(self, parts, x):
        """The parts at x, under the keys that a person reads."""
        return parts


class ByRoute(Split):
    """Labels are routes: what was taken at each residual, from the input to the output."""

    def __init__(self, path):
        super().__init__(path)
        self.place = {residual: n for n, residual in enumerate(path.residuals)}
        self.start = ("-",) * len(path.residuals)

    def beyond(self, label, residual, i):
        n = self.place[residual]
        return ((*label[:n], WAYS[i], *label[n + 1 :]),)

    def named(self, parts, x):
        return dict(sorted(parts.items(), key=number_of_branches))


class ByLength(Split):
    """Labels are numbers of branches passed."""

    start = 0

    def beyond(self, label, residual, i):
        return (label + 1 if i == ResidualAdd.BRANCH else label,)

    def named(self, parts, x):
        return dict(sorted(parts.items()))


class ByResidual(Split):
    """Label None is the whole gradient; a residual as a label, the part of it that passed that residual's branch."""

    def beyond(self, label, residual, i):
        if label is None and i == ResidualAdd.BRANCH:
            return (None, residual)
        return (label,)

    def named(self, parts, x):
        nothing = np.zeros_like(x.data)
        return {name: parts.get(residual, nothing) for residual, name in self.residuals.items()}


class ByStretch(Split):
    """Labels say which residuals a part is still inside of: (residual, input) pairs, the innermost first.

    A pair is dropped at the residual's input, where skip and branch meet again. A branch may begin further back (two
    sublayers side by side); its part keeps the pair past that point, and loses it at the next tensor.

    Attributes:
        starting_at: the residuals by their input, if that leads back to x.
        found: for each of these what came to its input over the skip, and through the branch.
    """

    start = ()

    def __init__(self, path):
        super().__init__(path)
        self.found = {}
        self.starting_at = {}
        for residual in path.residuals:
            skip = residual.inputs[ResidualAdd.SKIP]
            if skip in path.between:
                self.starting_at.setdefault(skip, []).append(residual)

    def beyond(self, label, residual, i):
        if residual.inputs[ResidualAdd.SKIP] not in self.starting_at:
            return (label,)
        return (((residual, i), *label),)

    def arrived(self, tensor, parts):
        for residual in self.starting_at.get(tensor, ()):
            self.found[residual] = [sum_of(parts, (residual, i), tensor) for i in WAYS]
        outside = {}
        for label, grad in parts.items():
            add_part(outside, tuple(pair for pair in label if pair[0] not in self.found), grad)
        return outside


SPLITS = {"route": ByRoute, "length": ByLength, "residual": ByResidual}


def sum_of(parts, pair, tensor):
    """The sum of all parts whose label contains `pair`, in an array of its own."""
    result = np.zeros_like(tensor.data)
    for label, grad in parts.items():
        if pair in label:
            result += grad
    return result


def number_of_branches(item):
    route, _ = item
    return route.count("branch"), route.index("branch") if "branch" in route else 0, route
