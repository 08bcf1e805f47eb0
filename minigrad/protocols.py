"""How tensors get on with Python and NumPy: a tensor's length, truth, number, array and copy, and numbers beside it."""

import copy
import dis
import operator
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from minigrad import recording
from minigrad.arrays import as_array
from minigrad.backprop import leaves_behind, topological_order
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


def itself(tensor: Tensor) -> Tensor:
    """+t, of which no op needs to make anything."""
    return tensor


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
    """float(t), and what takes a number by it, such as math.exp(t): a warning if that loses a gradient."""
    number = float(tensor.item())
    if tensor.requires_grad and not recording.NO_GRAD.get() and not is_formatting(sys._getframe(1)):
        recording.warn_of_number(tensor, leaves_behind(tensor))
    return number


def is_formatting(frame):
    """Whether the caller is at `"%.3f" % t`: the number is only shown, and no other operator asks a tensor for one."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in ("BINARY_OP", "BINARY_MODULO")


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


# NumPy's functions whose answer is no matter of small changes: an index, a yes or no, a shape. They lose no gradient.
NO_SLOPE: set[Any] = {
    *(np.shape, np.ndim, np.size, np.result_type, np.can_cast, np.min_scalar_type, np.iscomplexobj, np.isrealobj),
    *(np.argmax, np.argmin, np.nanargmax, np.nanargmin, np.argsort, np.argpartition, np.argwhere, np.lexsort),
    *(np.nonzero, np.flatnonzero, np.count_nonzero, np.searchsorted, np.digitize, np.all, np.any),
    *(np.allclose, np.isclose, np.array_equal, np.array_equiv, np.isin, np.isreal, np.iscomplex),
    *(np.isposinf, np.isneginf, np.shares_memory, np.may_share_memory),
    *(np.array_repr, np.array_str, np.array2string, np.save, np.savez, np.savez_compressed, np.savetxt),
    *(np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
}
LIKE: set[Any] = {
    np.ones_like,
    np.zeros_like,
    np.empty_like,
    np.full_like,
}  # of their first argument they read shape and dtype
REFLECTED: dict[Any, str] = {  # what `array * t` asks of the tensor
    **{np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.divide: "__rtruediv__"},
    **{np.power: "__rpow__", np.matmul: "__rmatmul__"},
    **{np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__", np.greater_equal: "__le__"},
    **{np.equal: "__eq__", np.not_equal: "__ne__"},
}


def numpy_function(tensor, function, types, args, kwargs):
    """np.sum(t) and its like: refused as np.exp(t) is, or done on plain arrays if there is no gradient to lose."""
    if function in NO_SLOPE:
        return function(*map(bare, args), **{name: bare(value) for name, value in kwargs.items()})
    if function in LIKE and args:
        args = (bare(args[0]), *args[1:])
    return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})


def numpy_ufunc(tensor, ufunc, method, *args, **kwargs):
    """np.exp(t) and its like, as above; and `array * t`, which is the tensor's own product."""
    if ufunc in REFLECTED and method == "__call__" and not kwargs and not isinstance(args[0], Tensor):
        return getattr(args[1], REFLECTED[ufunc])(args[0])
    strip = bare if ufunc in NO_SLOPE else plain
    kwargs = {name: tuple(map(plain, value)) if name == "out" else strip(value) for name, value in kwargs.items()}
    return getattr(ufunc, method)(*map(strip, args), **kwargs)


def bare(value):
    """A tensor's array, also inside a list or tuple."""
    if isinstance(value, (list, tuple)):
        return [bare(item) for item in value]
    return value.data if isinstance(value, Tensor) else value


def plain(value):
    """A tensor's array if it requires no gradient, also inside a list or tuple.

    Raises:
        TypeError: it requires one.
    """
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
        if node.op is None or node.data.flags.writeable:
            twin.data = as_array(node.data)  # the user may have put an array there that can still change
        if node.op is not None:
            twin.op = copy.copy(node.op)
            twin.op.inputs = tuple(memo[id(x)] for x in node.op.inputs)
    return memo[id(tensor)]


def reduced(tensor: Tensor, protocol: int) -> tuple[Any, ...]:
    """For pickle: what a tensor was made from comes before it, oldest first, and then it is one step deep.

    A recursion along the graph would fail on a long chain, as in `deep_copy`.
    """
    parts: Any = object.__reduce_ex__(tensor, protocol)
    if tensor.op is None or BEHIND_A_PICKLED.get():
        return parts
    return first_then, (Behind(tensor), *parts[:2]), *parts[2:]


BEHIND_A_PICKLED: ContextVar[bool] = ContextVar("behind_a_pickled", default=False)


class Behind(list[Tensor]):
    """In a pickle: all tensors that one was made from, itself not, oldest first."""

    def __init__(self, tensor: Tensor | None = None):
        self.tensor = tensor

    def __reduce__(self) -> tuple[Any, ...]:
        return Behind, (), None, self.one_by_one()

    def one_by_one(self) -> Iterator[Tensor]:
        """pickle asks for each when it has written those before: the inputs of its op."""
        BEHIND_A_PICKLED.set(True)
        try:
            yield from reversed(topological_order(self.tensor)[1:])
        finally:
            BEHIND_A_PICKLED.set(False)


def first_then(_: Behind, make: Any, arguments: tuple[Any, ...]) -> Tensor:
    return make(*arguments)


def values_of(x: TensorLike) -> np.ndarray:
    """The numbers of a tensor, or of what NumPy takes for an array."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("a masked array would lose its mask here: say array.filled(value), or array.compressed()")
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
