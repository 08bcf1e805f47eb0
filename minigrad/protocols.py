"""How tensors get on with Python and NumPy: a tensor's length, truth, number, array and copy, and numbers beside it."""

import copy
import operator
from collections.abc import Iterator

import numpy as np

from minigrad.arrays import as_array
from minigrad.backprop import topological_order
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


def length(tensor: Tensor) -> int:
    if tensor.ndim == 0:
        raise TypeError("a 0-d tensor has no length")
    return tensor.shape[0]


def iterate(tensor: Tensor) -> Iterator[Tensor]:
    for i in range(length(tensor)):
        yield tensor[i]


def truth(tensor: Tensor) -> bool:
    if tensor.size != 1:
        raise ValueError(
            f"the truth of a tensor of shape {tensor.shape} is not one answer: say (t.data > 0).all() or .any()"
        )
    return bool(tensor.data)


def as_float(tensor: Tensor) -> float:
    return float(tensor.item())


def as_int(tensor: Tensor) -> int:
    return int(tensor.item())


def as_index(tensor: Tensor) -> int:
    return operator.index(tensor.item())  # type: ignore[arg-type]  # a fraction is refused here


def formatted(tensor: Tensor, form: str) -> str:
    """f"{loss:.4f}"."""
    if form and tensor.size != 1:
        raise TypeError(f"{form!r} is the format of one number, and the tensor has shape {tensor.shape}: use t.data")
    return format(tensor.item(), form) if form else str(tensor)


def rounded(tensor: Tensor, digits: int | None = None) -> float:
    return round(tensor.item(), digits)


def transposed(tensor: Tensor) -> Tensor:
    """A matrix or vector with its axes reversed."""
    if tensor.ndim > 2:
        raise ValueError(
            f"t.T is for matrices, and this tensor has shape {tensor.shape}: t.swapaxes(-2, -1) transposes "
            f"each matrix of a batch, t.transpose() reverses all axes"
        )
    return tensor.transpose()


def refuse_writing(tensor, index, value):
    raise TypeError(
        "a tensor cannot be written into: backward may still need what it holds. Make a new one with "
        "where(mask, value, t) or concatenate([...]), or give a leaf a new array: t.data = array"
    )


def numpy_function(tensor, function, types, args, kwargs):
    """np.sum(t) and its like: refused as np.exp(t) is, or done on plain arrays if there is no gradient to lose."""
    if function in (np.shape, np.ndim, np.size):
        return function(tensor.data)
    return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return as_numpy(value) if isinstance(value, Tensor) else value


def as_numpy(tensor, dtype=None, copy=None):
    if tensor.requires_grad:
        raise TypeError(
            "NumPy would take the numbers and lose the gradient: use minigrad's own op (t.exp() for np.exp(t), "
            "stack([...]) for np.array([...])), or t.data, or t.detach() for a constant"
        )
    return np.array(tensor.data, dtype=dtype, copy=copy)


def deep_copy(tensor: Tensor, memo: dict[int, Tensor]) -> Tensor:
    # Oldest first, so that an op's inputs are there before it: a recursion would fail on a long chain.
    for node in reversed(topological_order(tensor)):
        if id(node) in memo:
            continue
        twin = memo[id(node)] = copy.copy(node)
        twin.grad = None if node.grad is None else node.grad.copy()
        if node.op is not None:
            twin.op = copy.copy(node.op)
            twin.op.inputs = tuple(memo[id(x)] for x in node.op.inputs)
    return memo[id(tensor)]


def values_of(x: TensorLike) -> np.ndarray:
    """The numbers of a tensor, or of what NumPy takes for an array."""
    return x.data if isinstance(x, Tensor) else np.asarray(x)


def as_tensors(values):
    """Tensors as they are, arrays as constants, numbers and lists as constants in the dtype of the tensors.

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
