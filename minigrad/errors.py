"""Errors that say where they come from."""

import numpy as np

KINDS = (np.exceptions.AxisError, IndexError, TypeError, ValueError)


def placed(error, op):
    """`error` again, with the op and what it was given in front of the message."""
    given = ", ".join(f"{x.dtype}{list(x.shape)}" for x in op.inputs)
    kind = next(kind for kind in KINDS if isinstance(error, kind))
    return kind(f"{op.name}({given}): {error}")
