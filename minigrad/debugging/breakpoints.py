"""break_at: stop in the debugger where it matters, by the name of an op."""

import warnings
from collections.abc import Callable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from minigrad.backprop import Step
from minigrad.op import Op
from minigrad.watching import Watcher


class break_at(Watcher):
    """Call `breakpoint()` right before the rules of some ops, in the frame that calls the rule: one step enters it.

    What stops is what `breakpoint()` means: pdb, the debugger of an editor that is attached, whatever PYTHONBREAKPOINT
    names, or nothing (PYTHONBREAKPOINT=0). It holds while its `with` block lasts, in all threads, and may be nested.

    Args:
        where: which ops.
            A name is an op's path (`blocks.1.attention.softmax`), the end of one (`attention.softmax`, `softmax`),
            or the name that you gave to the op's result (``h.name = "h"``, seen by backward). It may be a glob: with
            `*`, `?` and `[...]` as in file names, and `*` passes dots.
            A class stops at ops of this class.
            A function is a condition: it gets the `Step` of each op of a backward pass just before its rule runs, so
            `grad_output` is known and `grad_inputs` is None, and says whether to stop.
        forward: whether to stop before `forward`. A condition never does, since it looks at a backward step.
        backward: whether to stop before `backward`.

    Raises:
        TypeError: a `where` that is none of these.

    Leaving a block in which a name or class never occurred gives a warning with the names that come closest.

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
                f"break_at takes the name of an op or a glob, an op class, or a condition on a step; got {where!r}"
            )
        self.where = where
        self.is_condition = not isinstance(where, (str, type))
        self.forward, self.backward = forward, backward
        self.is_found = False
        self.paths: set[str] = set()
        self.leaf_readers: set[str] = set()  # the paths of the ops that read a leaf of this name

    def before_forward(self, op):
        return self.forward and not self.is_condition and self.matches(op)

    def before_backward(self, step):
        if not self.backward:
            return False
        return bool(self.where(step)) if self.is_condition else self.matches(step.op, step.tensor.name)

    def matches(self, op, name=None):
        """Whether this op is meant; `name` is the one that the user gave to its result."""
        self.paths.add(op.path)
        if reads_leaf(op, self.where):
            self.leaf_readers.add(op.path)
        is_meant = is_named(op, name, self.where) if isinstance(self.where, str) else isinstance(op, self.where)
        self.is_found = self.is_found or is_meant
        return is_meant

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        super().__exit__(kind, *error)
        if kind is None and self.paths and not self.is_found:
            wanted = self.where if isinstance(self.where, str) else self.where.__name__.lower()
            hint = no_such_op(wanted, self.paths, self.leaf_readers)
            warnings.warn(f"break_at({wanted!r}) stopped nowhere: {hint}", stacklevel=2)


def is_named(op, name, pattern):
    """Whether an op whose result is called `name` is meant by a pattern, see `break_at`."""
    return name == pattern or fnmatchcase(op.path, pattern) or fnmatchcase(op.path, f"*.{pattern}")


def reads_leaf(op, name):
    """Whether this op reads a leaf of this name."""
    return any(x.op is None and x.name == name for x in op.inputs)


def no_such_op(wanted, names, leaf_readers):
    """What to say of a name that no op has: that it is a leaf's, or which names come closest to it."""
    if leaf_readers:
        readers = ", ".join(sorted(leaf_readers))
        return f"{wanted!r} is a leaf, which no op made, so it has no rule to stop at; it is read by {readers}"
    close = get_close_matches(wanted, sorted(names), cutoff=0.3) or sorted(names)[:3]
    return f"no op is called {wanted!r}; there are names such as {', '.join(close)}"
