"""Constants: the arrays, numbers and lists that stand beside tensors in an op."""

import numpy as np

from minigrad.arrays import as_array
from minigrad.tensor import Tensor


def as_tensors(values):
    """Tensors as they are, arrays as constants, and numbers and lists as constants in the dtype of the tensors.

    So `x32 * 2.0` stays float32, where a float64 constant would promote it.
    """
    dtypes = [value.dtype for value in values if isinstance(value, Tensor)]
    floats = [dtype for dtype in dtypes if dtype.kind == "f"]
    tensors = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, np.ndarray):
            tensors.append(Tensor(value))
        elif floats:
            tensors.append(Tensor.from_op(as_array(value, np.result_type(*floats)), None))
        else:
            tensors.append(Tensor(np.asarray(value) if dtypes else value))
    return tuple(tensors)
