"""What `where` and indexing took, and what they left out.

What was left out has gradient 0, and so has what it was made from, even at a place where a slope is inf or NaN: left to
itself, 0 * NaN would poison the side that was taken. But a 0 that arithmetic made, as in 0 * log(0), is another matter,
and the NaN that follows from it is the truth. So a pass keeps account of which elements its readers took of a tensor,
back through the ops that work element by element, row by row, or only move elements.

An account is a dict from tensors to booleans of their shape, or to True where all of a tensor was taken.
"""

import numpy as np

from minigrad.arrays import sum_to_shape


def account_for(order):
    """The account that a pass begins with; None if nothing in it selects, and so nothing is left out."""
    for tensor in order:
        if tensor.op is not None and tensor.op.selects:
            return {order[0]: True}
    return None


def enter(account, tensor):
    """Enter what was taken of the inputs of `tensor`'s op. For each input, which elements count; None if all do."""
    op = tensor.op
    taken = account[tensor]
    if np.all(taken) and not op.selects:
        for x in op.inputs:
            account[x] = True
        return None
    counted = op.taken_inputs(np.broadcast_to(taken, tensor.shape))
    for x, mask in zip(op.inputs, counted, strict=True):
        account[x] = account.get(x, False) | in_shape(mask, x.shape)
    return counted


def in_shape(mask, shape):
    """A mask in another shape: repeated where that is larger, True if any element is where that is smaller."""
    mask = np.asarray(mask)
    if mask.shape == shape:
        return mask
    return sum_to_shape(np.broadcast_to(mask, np.broadcast_shapes(mask.shape, shape)), shape) > 0
