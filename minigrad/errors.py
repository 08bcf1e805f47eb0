"""Errors that say where they come from."""

import numpy as np

KINDS = (np.exceptions.AxisError, IndexError, TypeError, ValueError)


def placed(error, op):
    """`error` again, with the op and what it was given in front of the message."""
    given = ", ".join(f"{x.dtype}{list(x.shape)}" for x in op.inputs)
    kind = next(kind for kind in KINDS if isinstance(error, kind))
    return kind(f"{op.name}({given}): {error}")


def refuse(op, data, own):
    """Say what is wrong with an op that has run forward, and cannot be recorded as it is."""
    if data.dtype.kind not in "biuf":
        raise TypeError(f"{op.name}: forward must return an array of real numbers; got one of dtype {data.dtype}")
    taken = sorted(own & vars(op).keys()) or ["inputs"]
    raise TypeError(f"{op.name}: the engine itself uses the attribute {', '.join(taken)}; give yours another name")
