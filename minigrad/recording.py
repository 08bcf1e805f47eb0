"""What gets recorded, and under which name: gradient mode, scopes, and the user's own line.

The two switches are context variables, so threads and coroutines do not see each other's.
"""

import contextlib
import functools
import inspect
import os
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from glob import glob
from typing import Any, TypeVar

NO_GRAD: "ContextVar[tuple[Cut, ...]]" = ContextVar("no_grad", default=())  # one for each block; none: recording
SCOPE: ContextVar[tuple[str, ...]] = ContextVar("scope", default=())

LIBRARY_FILES: set[str] = set()  # no line of these is "the user's line"


def add_library_folder(file):
    """Count all Python files beside `file` and below as library code: an op is placed at the line that called it."""
    LIBRARY_FILES.update(glob(os.path.join(os.path.dirname(file), "**", "*.py"), recursive=True))


add_library_folder(__file__)
LIBRARY_FILES.add(contextlib.__file__)  # it stands between a decorated function and its caller


def user_frame():
    """The frame of the user's own line: the innermost one that is not in a library folder."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in LIBRARY_FILES and frame.f_back is not None:
        frame = frame.f_back
    return frame


def user_location():
    """The user's own line, as `file:line`."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class Cut:
    """Why a tensor with a past is a constant. It is a note for whoever asks, and keeps nothing of that past alive.

    Attributes:
        by: what cut the graph: `detach()`, `no_grad()`, or `float()`, which takes the number out of a tensor.
        label: the name, or the op's path, of what was detached.
        location: the user's line that detached, or entered the no_grad block, as `file:line`.
        number: that of the op whose result float() read; -1 for a leaf.
    """

    __slots__ = ("by", "label", "leaves", "location", "number", "reference")

    def __init__(self, by, label=None, location=None, source=None, leaves=None, number=None):
        self.by, self.label, self.location, self.number = by, label, location, number
        self.reference = None if source is None else weakref.ref(source)
        self.leaves = None if leaves is None else [weakref.ref(leaf) for leaf in leaves]

    @property
    def source(self):
        """The tensor that was detached, or None if it is gone."""
        return None if self.reference is None else self.reference()

    def may_hide(self, leaves):
        """Whether what was cut off may have been made from a tensor that was made from all of these leaves."""
        return self.leaves is None or {id(leaf) for leaf in leaves} <= {id(reference()) for reference in self.leaves}

    def __reduce__(self):
        return Cut, (self.by, self.label, self.location)  # a pickle keeps the note alone

    @classmethod
    def by_detach(cls, source, leaves):
        return cls("detach()", label_of(source), user_location(), source, leaves)

    @classmethod
    def by_float(cls, source, leaves):
        return cls("float()", label_of(source), user_location(), source, leaves, source.op.number if source.op else -1)

    @classmethod
    def by_no_grad(cls):
        """One for a whole block: a tensor made without recording should cost nothing more."""
        return cls("no_grad()", location=user_location())


def label_of(tensor):
    return tensor.name or (tensor.op.path if tensor.op else None)


TAKEN_OUT: "deque[Cut]" = deque(maxlen=256)  # the last numbers that float() took out of tensors, for `why`


def warn_of_number(tensor, leaves):
    """Say that float() or math.exp(t) takes a number out of the graph, at the user's line."""
    if tensor.op is None or tensor.grad is None:  # a result with a gradient is only looked at: its pass is over
        TAKEN_OUT.append(Cut.by_float(tensor, leaves))
    frame = user_frame()
    warnings.warn_explicit(
        f"{label_of(tensor) or 'a tensor'} requires a gradient, and a Python number is a constant: no gradient flows "
        f"through it. Use minigrad's own op, as t.exp() for math.exp(t); if it is only to be looked at, say t.item()",
        UserWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


Function = TypeVar("Function", bound=Callable[..., Any])


class Block(ContextDecorator):
    """What `no_grad` and `scope` share: as a decorator each holds while the function's own code runs.

    A generator function's code runs from one `yield` to the next, and that of a coroutine until it returns; each call
    gets a block of its own, since calls may overlap.
    """

    def _recreate_cm(self) -> "Block":
        raise NotImplementedError

    def __call__(self, function: Function) -> Function:
        if inspect.isasyncgenfunction(function):
            name = type(self).__name__
            raise TypeError(f"@{name} on an asynchronous generator: put `with {name}(...):` into it, around its ops")
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def walk_inside(*args, **kwargs):
                return (yield from step_inside(self, function(*args, **kwargs)))

            return walk_inside  # type: ignore[return-value]
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_inside(*args, **kwargs):
                with self._recreate_cm():
                    return await function(*args, **kwargs)

            return run_inside  # type: ignore[return-value]
        return super().__call__(function)


def step_inside(block, generator):
    """A generator, with each of its steps inside of a block."""
    step, given = generator.send, None
    try:
        while True:
            with block._recreate_cm():
                value = step(given)
            try:
                step, given = generator.send, (yield value)
            except GeneratorExit:
                with block._recreate_cm():
                    generator.close()
                raise
            except BaseException as error:  # the caller's, which is for the generator
                step, given = generator.throw, error
    except StopIteration as end:
        return end.value


class no_grad(Block):
    """Record nothing inside: results have no op and ask for no gradient.

    >>> from minigrad import Tensor
    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> with no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self) -> None:
        self.cuts: list[Cut] = []

    def _recreate_cm(self) -> "no_grad":
        return no_grad()

    def __enter__(self) -> None:
        self.cuts.append(Cut.by_no_grad())
        NO_GRAD.set((*NO_GRAD.get(), self.cuts[-1]))

    def __exit__(self, *error: object) -> None:
        mine = next(cut for cut in reversed(self.cuts) if cut in NO_GRAD.get() or cut is self.cuts[0])
        self.cuts.remove(mine)
        NO_GRAD.set(tuple(cut for cut in NO_GRAD.get() if cut is not mine))  # blocks of generators end in any order


class ModuleName(str):
    """The scope of one call of a module: for another call it is an equal name, and not the same one."""

    __slots__ = ()


class scope(Block):
    """Put the ops made inside into a named box; scopes nest.

    A diagram draws one box per scope, and an op's `path` starts with the names of its boxes.

    >>> from minigrad import Tensor
    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> with scope("block"), scope("attention"):
    ...     y = x.softmax()
    >>> y.op.path
    'block.attention.softmax'
    """

    def __init__(self, name: object) -> None:
        self.name = str(name)

    def _recreate_cm(self) -> "scope":
        return scope(self.name)

    def __enter__(self) -> None:
        SCOPE.set((*SCOPE.get(), self.name))

    def __exit__(self, *error: object) -> None:
        names = list(SCOPE.get())
        if self.name in names:  # the last of this name: blocks of generators end in any order
            del names[len(names) - 1 - names[::-1].index(self.name)]
        SCOPE.set(tuple(names))
