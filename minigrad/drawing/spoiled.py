"""Which values are a lead when a person looks for the first NaN."""

import numpy as np


def spoiled_tensors(graph):
    """The tensors that have a NaN, or an inf that an op or a leaf with a gradient brought in.

    An inf in a constant is meant, as the -inf of an attention mask is: it and what only hands it on are left out,
    until it becomes a NaN.

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
    """Whether a tensor is one, given those that it was made from."""
    if np.isfinite(tensor.data).all():
        return False
    if np.isnan(tensor.data).any():
        return True
    if tensor.op is None:
        return tensor.requires_grad
    inputs = tensor.op.inputs
    return any(x in spoiled for x in inputs) or all(np.isfinite(x.data).all() for x in inputs)
