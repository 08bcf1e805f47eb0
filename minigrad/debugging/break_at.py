"""break_at: stop in the debugger at an op, by its name."""

import warnings
from collections.abc import Callable

from minigrad.backprop import Step
from minigrad.debugging.find import is_called, names_like
from minigrad.op import Op
from minigrad.watching import Watcher


class break_at(Watcher):
    """Call `breakpoint()` right before the rules of some ops, in the frame that calls the rule: one step enters it.

    What stops is whatever `breakpoint()` means: pdb, the debugger of an attached editor, what PYTHONBREAKPOINT
    names, or nothing (PYTHONBREAKPOINT=0). It holds while its `with` block lasts, in all threads, and may be nested.

    Args:
        where: which ops.
            A name, as in `find`: an op's path (`blocks.1.attention.softmax`), the end of one (`attention.softmax`,
            `softmax`), or the name that you gave to the op's result (``h.name = "h"``, seen by backward). `*` stands
            for any characters, dots included, and `?` for one.
            A class stops at ops of this class.
            A function is a condition: it gets the `Step` of each op of a backward pass just before its rule runs, so
            `grad_output` is known and `grad_inputs` is None, and says whether to stop.
        forward: whether to stop before `forward`. A condition never does, since it looks at a backward step.
        backward: whether to stop before `backward`.

    Raises:
        TypeError: a `where` that is none of these.

    Leaving a block in which a name or class never occurred gives a warning with similar names.

    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> with break_at("softmax"):  # doctest: +SKIP
    ...     x.softmax().norm().backward()
    > minigrad/op.py(90)__call__()
    -> data = self.forward(*arrays)
    (Pdb)
    >>> with break_at(lambda step: np.isnan(step.grad_output).any()):
    ...     x.softmax().norm().backward()  # no NaN, no stop
    """

    def __init__(self, where: str | type[Op] | Callable[[Step], object], forward: bool = True, backward: bool = True):
        if not (issubclass(where, Op) if isinstance(where, type) else isinstance(where, str) or callable(where)):
            raise TypeError(
                f"break_at takes the name of an op (`*` and `?` allowed), an op class, or a condition on a step; "
                f"got {where!r}"
            )
        self.where = where
        self.is_condition = not isinstance(where, (str, type))
        self.forward, self.backward = forward, backward
        self.is_found = False
        self.paths: set[str] = set()
        self.leaf_consumers: set[str] = set()  # the paths of the ops that have a leaf of this name as an input

    def before_forward(self, op):
        return self.forward and not self.is_condition and self.matches(op)

    def before_backward(self, step):
        if not self.backward:
            return False
        return bool(self.where(step)) if self.is_condition else self.matches(step.op, step.tensor.name)

    def matches(self, op, name=None):
        """Whether this op is meant; `name` is the one that the user gave to its result."""
        self.paths.add(op.path)
        if consumes_leaf(op, self.where):
            self.leaf_consumers.add(op.path)
        is_meant = is_called(op, name, self.where) if isinstance(self.where, str) else isinstance(op, self.where)
        self.is_found = self.is_found or is_meant
        return is_meant

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        super().__exit__(kind, *error)
        if kind is None and self.paths and not self.is_found:
            wanted = self.where if isinstance(self.where, str) else self.where.__name__.lower()
            hint = no_such_op(wanted, self.paths, self.leaf_consumers)
            warnings.warn(f"break_at({wanted!r}) stopped nowhere: {hint}", stacklevel=2)


def consumes_leaf(op, name):
    """Whether a leaf of this name is an input of the op."""
    return any(x.op is None and x.name == name for x in op.inputs)


def no_such_op(wanted, names, leaf_consumers):
    """What to say of a name that no op has: that it is a leaf's, or which names are similar."""
    if leaf_consumers:
        consumers = ", ".join(sorted(leaf_consumers))
        return f"{wanted!r} is a leaf, which no op made, so it has no rule to stop at; its consumers are {consumers}"
    return f"no op is called {wanted!r}; there are names such as {', '.join(names_like(wanted, names))}"
