"""What `where` and indexing took, and what they left out.

What was left out has gradient 0, and so has what it was made from, even at a place where a slope is inf or NaN: left to
itself, 0 * NaN would poison the side that was taken. But a 0 that arithmetic made, as in 0 * log(0), is another matter,
and the NaN that follows from it is the truth. So a pass keeps account of which elements were taken, through the ops
that work element by element, row by row, or only move elements. Where nothing selects, there is nothing to account for.
"""

import numpy as np

from minigrad.arrays import sum_to_shape


def forget_what_was_taken(order):
    """Begin a pass: of the first tensor in `order` all is taken, of the others nothing yet."""
    for tensor in order:
        if tensor.op is not None:
            tensor.op.taken = tensor is order[0]


def inputs_taken(op, shape):
    """For each input, which of its elements count for what was taken of the op's result; None if all of them do.

    The ops that made the inputs are told.
    """
    if op.taken is not True and np.all(op.taken):
        op.taken = True
    if op.taken is True and not op.selects:
        return None
    counted = op.taken_inputs(np.broadcast_to(op.taken, shape))
    for x, mask in zip(op.inputs, counted, strict=True):
        if x.op is not None and x.op.taken is not True:
            x.op.taken = x.op.taken | in_shape(mask, x.shape)
    return counted


def in_shape(mask, shape):
    """A mask in another shape: repeated where that is larger, True if any element is where that is smaller."""
    mask = np.asarray(mask)
    if mask.shape == shape:
        return mask
    return sum_to_shape(np.broadcast_to(mask, np.broadcast_shapes(mask.shape, shape)), shape) > 0
