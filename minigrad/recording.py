"""What gets recorded, and under which name: gradient mode, scopes, and the user's own line.

The two switches are context variables, so threads and coroutines do not see each other's.
"""

import contextlib
import os
import sys
import weakref
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from glob import glob

NO_GRAD: "ContextVar[Cut | None]" = ContextVar("no_grad", default=None)  # of the innermost block; None: recording
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
        by: what cut the graph, `detach()` or `no_grad()`.
        label: the name, or the op's path, of what was detached.
        location: the user's line that detached, or entered the no_grad block, as `file:line`.
    """

    __slots__ = ("by", "label", "location", "reference")

    def __init__(self, by, label=None, location=None, source=None):
        self.by, self.label, self.location = by, label, location
        self.reference = None if source is None else weakref.ref(source)

    @property
    def source(self):
        """The tensor that was detached, or None if it is gone."""
        return None if self.reference is None else self.reference()

    def __reduce__(self):
        return Cut, (self.by, self.label, self.location)  # a pickle keeps the note alone

    @classmethod
    def by_detach(cls, source):
        label = source.name or (source.op.path if source.op else None)
        return cls("detach()", label, user_location(), source)

    @classmethod
    def by_no_grad(cls):
        """One for a whole block: a tensor made without recording should cost nothing more."""
        return cls("no_grad()", location=user_location())


class no_grad(ContextDecorator):
    """Record nothing inside: results have no op and ask for no gradient.

    >>> from minigrad import Tensor
    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> with no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self) -> None:
        self.tokens: list[Token[Cut | None]] = []

    def _recreate_cm(self) -> "no_grad":
        return no_grad()  # as a decorator: one for each call, since calls may overlap

    def __enter__(self) -> None:
        self.tokens.append(NO_GRAD.set(Cut.by_no_grad()))

    def __exit__(self, *error: object) -> None:
        NO_GRAD.reset(self.tokens.pop())


class ModuleName(str):
    """The scope of one call of a module: for another call it is an equal name, and not the same one."""

    __slots__ = ()


class scope(ContextDecorator):
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
        self.tokens: list[Token[tuple[str, ...]]] = []

    def _recreate_cm(self) -> "scope":
        return scope(self.name)  # as a decorator: one for each call, since calls may overlap

    def __enter__(self) -> None:
        self.tokens.append(SCOPE.set((*SCOPE.get(), self.name)))

    def __exit__(self, *error: object) -> None:
        SCOPE.reset(self.tokens.pop())
