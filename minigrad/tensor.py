"""Tensor: an array, its gradient, and the op that made it."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from minigrad import wording
from minigrad.arrays import as_array
from minigrad.backprop import Step, backprop, first_gradient, leaves_behind
from minigrad.habits import refuse
from minigrad.recording import Cut
from minigrad.types import TensorLike

if TYPE_CHECKING:
    from minigrad.op import Op
    from minigrad.operators import Operators
else:
    Operators = object  # operators.py binds its table to Tensor once the ops exist


class Tensor(Operators):
    """An array of numbers that remembers how it was made.

    Args:
        data: numbers, lists or arrays of any shape. It is copied: later changes of the original are not seen.
            Python numbers and lists become float64, bools stay bool, an array keeps its dtype.
        requires_grad: whether `backward()` should leave a gradient in `grad`. Floating types only.
        name: what diagrams and messages call it.

    Attributes:
        data: the array, read-only. To change a tensor, assign a new array: ``x.data = x.data - 0.1 * x.grad``.
        grad: dL/dx as an array of the same shape, or None as long as no backward pass has reached this tensor.
        op: the op that made it, with its saved arrays and inputs; None for a leaf.

    Raises:
        TypeError: data that is no array of real numbers, or integers that should require a gradient.

    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> loss = (x * x).sum()
    >>> loss.backward()
    >>> x.grad
    array([2., 4., 6.])
    """

    __slots__ = ("__weakref__", "cut", "data", "grad", "hooks", "name", "op", "requires_grad")

    __array_priority__ = 1000  # array * tensor is for Tensor.__rmul__, not for NumPy
    __hash__ = object.__hash__  # == compares elements, so identity has to be said

    data: np.ndarray
    grad: np.ndarray | None
    op: "Op | None"
    requires_grad: bool
    name: str | None
    hooks: tuple[Callable[[np.ndarray], np.ndarray | None], ...]  # see watching.on_gradient
    cut: Cut | None  # set where detach() or no_grad() made a constant of a result

    def __init__(self, data: "ArrayLike", requires_grad: bool = False, name: str | None = None):
        self.data, self.grad, self.op = as_array(data), None, None
        self.requires_grad, self.name, self.hooks, self.cut = bool(requires_grad), name, (), None
        if requires_grad and self.data.dtype.kind != "f":
            raise wording.no_gradient_for(self)

    @classmethod
    def from_op(cls, data: np.ndarray, op: "Op | None", cut: Cut | None = None) -> "Tensor":
        """The result of an op; `op` is None if it was not recorded. `data` is taken as it is, without a copy."""
        tensor = cls.__new__(cls)
        tensor.data, tensor.grad, tensor.op = data, None, op
        tensor.requires_grad, tensor.name, tensor.hooks, tensor.cut = op is not None, None, (), cut
        return tensor

    @property
    def is_leaf(self) -> bool:
        """True if no recorded op made it: an input, a parameter or a constant."""
        return self.op is None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def size(self) -> int:
        return self.data.size

    def backward(self, grad: TensorLike | None = None, retain_grads: bool = True, **habits: NoReturn) -> None:
        """Run backpropagation from here; leaves add what they get to their `grad`.

        Args:
            grad: dL/d(self), of this tensor's shape. Left out for a single number, where it is 1.
            retain_grads: also keep the gradient of every inner tensor (`tensor.grad`) and of every arrow of the
                graph (`op.grad_inputs`) until the next pass. A training loop saves memory with False.

        A second call on the same graph is allowed: leaves add up, inner gradients are those of the last call.
        Gradients are plain arrays and are not recorded: there is no gradient of a gradient.

        Raises:
            ValueError: no gradient given though this is not a single number; a gradient of another shape.
            RuntimeError: nothing was recorded that leads to this tensor.
        """
        if habits:
            refuse(Tensor.backward, habits)
        for step in backprop(self, first_gradient(self, grad), retain_grads):
            del step  # its arrays need not wait for the next rule to have run

    def backprop(self, grad: TensorLike | None = None, retain_grads: bool = True) -> Iterator[Step]:
        """The pass of `backward()`, one op at a time: an iterator of `Step`.

        >>> x = Tensor(3.0, requires_grad=True)
        >>> for step in (x * x + x).backprop():
        ...     print(step.op.name, step.grad_output, step.grad_inputs)
        add 1.0 (array(1.), array(1.))
        multiply 1.0 (array(3.), array(3.))
        """
        return backprop(self, first_gradient(self, grad), retain_grads)

    def zero_grad(self) -> None:
        """Forget the gradient: the next backward pass starts from nothing."""
        self.grad = None

    def detach(self) -> "Tensor":
        """The same numbers as a constant: no gradient flows back through it."""
        cut = Cut.by_detach(self, leaves_behind(self)) if self.requires_grad else self.cut
        tensor = Tensor.from_op(self.data, None, cut)
        tensor.name = self.name
        return tensor

    def item(self) -> float:
        """The value as a Python number; ValueError unless there is exactly one."""
        if self.size != 1:
            raise ValueError(f"item() needs a tensor with one element; this one has shape {self.shape}")
        return self.data.item()

    __repr__ = wording.tensor_in_short
