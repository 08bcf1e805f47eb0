"""Op: the contract between an operation and the engine."""

import itertools
import re
import sys
from typing import Any

import numpy as np

from minigrad import recording, watching, wording
from minigrad.arrays import as_array
from minigrad.protocols import as_tensors
from minigrad.tensor import Tensor

NUMBERS = itertools.count()
OWN = {"filename", "grad_inputs", "lineno", "number"}  # what the engine alone writes on an op


class Op:
    """A differentiable operation, and the node that stands for one use of it in the graph.

    An op is a class with two methods on plain arrays. `forward` computes the result, and saves in attributes what
    `backward` will need; `backward` gets dL/d(result) and returns a tuple with dL/d(input) for each input. Nobody
    has to think of broadcasting in it: a gradient in the result's shape is summed back to its input's shape.
    Arguments that have no gradient (an axis, a mask) go to `__init__`. Calling the op runs and records it.

    Attributes:
        inputs: the tensors that it read.
        grad_inputs: what the last backward pass delivered to each of them; None before.
        scope: the names of the boxes around it, outermost first.
        number: ops are numbered as they are made, so inputs have smaller numbers.
        filename, lineno: the line of the user's program that made it.

    >>> class Square(Op):
    ...     '''y = x^2;   dL/dx = dL/dy * 2 x.'''
    ...
    ...     def forward(self, x):
    ...         self.x = x
    ...         return x * x
    ...
    ...     def backward(self, grad_y):
    ...         return (grad_y * 2 * self.x,)
    >>> x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    >>> Square()(x).sum().backward()
    >>> x.grad
    array([2., 4., 6.])
    """

    inputs: tuple[Tensor, ...] = ()
    grad_inputs: tuple[np.ndarray | None, ...] | None = None
    scope: tuple[str, ...] = ()
    number: int
    filename: str
    lineno: int

    def forward(self, *arrays):
        """The result as an array, from the inputs' arrays."""
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, x, ...) yet")

    def backward(self, grad_output):
        """A tuple with dL/d(input) for each input, from dL/d(result)."""
        raise NotImplementedError(f"{type(self).__name__} has no backward(self, grad_output) yet")

    def __call__(self, *inputs: Any) -> Tensor:
        """Run `forward` on tensors (arrays and numbers are taken as constants) and record it."""
        if self.inputs:
            raise wording.used_already(self)
        for x in inputs:
            if not isinstance(x, Tensor):
                inputs = as_tensors(inputs)
                break

        arrays, requires_grad, cut = [], False, None
        for x in inputs:
            array = x.data
            is_lent = x.op is None and x.cut is None and getattr(array, "base", None) is not None
            if is_lent or type(array) is not np.ndarray or array.flags.writeable:
                array = x.data = as_array(array)  # the user put an array there that could still change
            arrays.append(array)
            requires_grad = requires_grad or x.requires_grad
            cut = cut or x.cut

        self.inputs, self.scope = inputs, recording.SCOPE.get()
        stop = watching.WATCHERS and watching.before_forward(self)
        try:
            if stop:
                breakpoint()  # break_at was waiting for this op: one step enters forward
            data = self.forward(*arrays)
        except (IndexError, TypeError, ValueError) as error:
            raise wording.with_op(error, self) from error
        several = isinstance(data, (list, tuple))
        data = np.asarray(0 if several else data)
        if several or data.dtype.kind not in "biuf" or self.inputs is not inputs or not OWN.isdisjoint(self.__dict__):
            raise wording.bad_forward(self, data, several, OWN)
        data.setflags(write=False)

        no_grad = recording.NO_GRAD.get()
        if requires_grad and not no_grad:
            self.number = next(NUMBERS)
            frame = sys._getframe(1)  # as recording.user_frame finds it, without a frame more to step through
            while frame.f_code.co_filename in recording.LIBRARY_FILES and frame.f_back is not None:
                frame = frame.f_back
            self.filename, self.lineno = frame.f_code.co_filename, frame.f_lineno
            result = Tensor.from_op(data, self)
        else:
            result = Tensor.from_op(data, None, no_grad[-1] if requires_grad else cut)
        if watching.WATCHERS:
            watching.after_forward(self, result)
        return result

    def __setstate__(self, state):
        self.__dict__.update(state)
        if "number" in state:
            self.number = next(NUMBERS)  # a copy, or one from another process, is made now: after its inputs, as ever

    @property
    def name(self) -> str:
        """The op's name as a word: `softmax`, `layer_norm`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def path(self) -> str:
        """Its scopes and its name: `blocks.0.attention.softmax`."""
        return ".".join((*self.scope, self.name))

    @property
    def location(self) -> str:
        """The user's line that made it, as `file:line`."""
        return f"{self.filename}:{self.lineno}" if hasattr(self, "filename") else "an unknown line"

    def __repr__(self):
        return f"<op {self.path}({wording.few(str(x.shape) for x in self.inputs)})>"
