"""What pictures show of numbers: arrays as matrices, their statistics and range, and which NaN or inf is a fault."""

import math

import numpy as np

from minigrad.drawing.labels import number_text
from minigrad.precision import norm


def as_matrix(array):
    """The array as a matrix: its last axis along the rows, all others one under the other."""
    return array.reshape(-1, array.shape[-1]) if array.ndim and array.size else array.reshape(1, -1)


def color_bound(array):
    """The size at which the colours of an array end: that of its largest finite element; 0 if there is none."""
    finite = np.abs(array[np.isfinite(array)], dtype=np.float64)
    return float(finite.max(initial=0.0))


def statistics(array):
    """The numbers of an array in a few lines; what is not finite is counted, not averaged.

    >>> statistics(np.array([1.0, 3.0, np.nan]))
    ['1 of 3 NaN', 'mean 2, std 1', '1 to 3', 'norm 3.16']
    """
    if not array.size:
        return ["empty"]
    is_finite = np.isfinite(array)
    lines, finite = [], array
    if not is_finite.all():
        counts = {"NaN": np.isnan(array).sum(), "inf": np.isinf(array).sum()}
        lines += [f"{count:,} of {array.size:,} {word}" for word, count in counts.items() if count]
        finite = array[is_finite]
    if finite.size:
        finite = finite.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # the sum of huge numbers
            mean = finite.mean()
            std = norm(finite - mean) / math.sqrt(finite.size)
        lines += [
            f"mean {number_text(mean)}, std {number_text(std)}",
            f"{number_text(finite.min())} to {number_text(finite.max())}",
            f"norm {number_text(norm(finite))}",
        ]
    return lines


def strength(size, most):
    """Size on a logarithmic scale: 1 for `most`, 0 from a ten-thousandth of it on. A NaN or inf counts as 1."""
    if not math.isfinite(size):
        return 1.0
    return max(0.0, 1 + math.log10(size / most) / 4) if size > 0 else 0.0


def spoiled_tensors(graph):
    """The tensors that hold a NaN, or an inf that an op made or a leaf with `requires_grad` brought in.

    An inf in a constant is meant, as the -inf of an attention mask is. Such a constant, and what only passes its inf
    on, is left out until the inf becomes a NaN.

    >>> from minigrad import Graph, where
    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> scores = where(np.array([True, False]), x, -np.inf)
    >>> spoiled_tensors(Graph(scores.softmax()))
    set()
    """
    spoiled = set()
    for node in graph.nodes:  # inputs come before what is made of them
        if is_spoiled(node.tensor, spoiled):
            spoiled.add(node.tensor)
    return spoiled


def is_spoiled(tensor, spoiled):
    """Whether a tensor is spoiled, given those of its inputs that are."""
    if np.isfinite(tensor.data).all():
        return False
    if np.isnan(tensor.data).any():
        return True
    if tensor.op is None:
        return tensor.requires_grad
    inputs = tensor.op.inputs
    return any(x in spoiled for x in inputs) or all(np.isfinite(x.data).all() for x in inputs)
