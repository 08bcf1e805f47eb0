"""What gets recorded, and under which name: gradient mode, scopes, and the user's own line.

The two switches are context variables, so threads and coroutines do not see each other's.
"""

import os
from contextlib import ContextDecorator
from contextvars import ContextVar

RECORDING = ContextVar("recording", default=True)
SCOPE: ContextVar[tuple[str, ...]] = ContextVar("scope", default=())

# Files under these folders are never "the user's line".
LIBRARY_FOLDERS: tuple[str, ...] = (os.path.dirname(__file__) + os.sep,)


def add_library_folder(file):
    """Count the folder of `file` as library code, so that an op is placed at the line that called it."""
    global LIBRARY_FOLDERS
    LIBRARY_FOLDERS += (os.path.dirname(file) + os.sep,)


class no_grad(ContextDecorator):
    """Record nothing inside: results have no op and ask for no gradient.

    >>> from minigrad import Tensor
    >>> x = Tensor([1.0, 2.0], requires_grad=True)
    >>> with no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self):
        self.tokens = []

    def __enter__(self):
        self.tokens.append(RECORDING.set(False))

    def __exit__(self, *error):
        RECORDING.reset(self.tokens.pop())


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

    def __init__(self, name):
        self.name = str(name)
        self.tokens = []

    def __enter__(self):
        self.tokens.append(SCOPE.set((*SCOPE.get(), self.name)))

    def __exit__(self, *error):
        SCOPE.reset(self.tokens.pop())
