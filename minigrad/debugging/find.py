"""find: a recorded tensor, with its value and its gradient, by its path from a loss."""

from difflib import get_close_matches
from fnmatch import fnmatchcase

from minigrad.backprop import topological_order
from minigrad.debugging.reporting import made_at
from minigrad.tensor import Tensor

SHOWN = 8  # tensors that a message lists one by one


def find(loss: Tensor, name: str) -> Tensor:
    """The one tensor of this name among all that `loss` was computed from.

    A name is the path of the op that made the tensor (`blocks.1.attention.softmax`), the tensor's own name
    (`blocks.1.attention.query.weight`, or ``h.name = "h"``), or the end of either, after a dot (`attention.softmax`).
    `*` stands for any characters, dots included, and `?` for one; all other characters, brackets too, are literal.
    If the name is the whole path of one tensor and the end of another's, the first is meant.

    Args:
        loss: the tensor to look back from.
        name: as above.

    Raises:
        LookupError: no tensor has this name (the message lists similar ones), or several have (it lists them with
            the lines that made them). `find_all` returns them all.
        TypeError: a loss that is no tensor, or a name that is no string.

    >>> from minigrad import scope
    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> with scope("block"):
    ...     loss = (x.softmax() * [1.0, 3.0]).sum()
    >>> loss.backward()
    >>> find(loss, "block.softmax").grad
    array([1., 3.])
    """
    found = find_all(loss, name)
    whole = [tensor for tensor in found if name in names_of(tensor.op, tensor.name)]
    if len(whole or found) == 1:
        return (whole or found)[0]
    if found:
        lines = [f"{len(found):,} tensors are called {name!r}; give more of the path, or take one of find_all:"]
        lines += [f"    [{i}] {described(tensor)}" for i, tensor in enumerate(found[:SHOWN])]
        lines += [f"    and {len(found) - SHOWN:,} more"] * (len(found) > SHOWN)
        raise LookupError("\n".join(lines))
    names = {each for tensor in topological_order(loss) for each in names_of(tensor.op, tensor.name)}
    raise LookupError(f"no tensor is called {name!r}; there are names such as {', '.join(names_like(name, names))}")


def find_all(loss: Tensor, name: str = "*") -> list[Tensor]:
    """All tensors of this name that `loss` was computed from, in the order of the program; names as in `find`.

    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> [tensor.op.path for tensor in find_all((x * x).exp().sum(), "*p*")]
    ['multiply', 'exp']
    """
    if not isinstance(loss, Tensor) or not isinstance(name, str):
        raise TypeError(f"find takes a tensor and a name; got {type(loss).__name__} and {type(name).__name__}")
    return [t for t in reversed(topological_order(loss)) if is_called(t.op, t.name, name)]


def is_called(op, name, pattern):
    """Whether a pattern, as in `find`, means the tensor that `op` (None for a leaf) made and the user called `name`."""
    pattern = pattern.replace("[", "[[]")
    names = names_of(op, name)
    return any(fnmatchcase(each, pattern) or fnmatchcase(each, f"*.{pattern}") for each in names)


def names_of(op, name):
    """The user's name for a tensor, if there is one, and the path of the op that made it, if one did."""
    return ([name] if name else []) + ([op.path] if op is not None else [])


def names_like(wanted, names):
    """A few names that are similar to the one that was wanted, or that contain it."""
    inside = [name for name in sorted(names) if wanted in name]
    return inside[:5] or get_close_matches(wanted, sorted(names), cutoff=0.3) or sorted(names)[:3]


def described(tensor):
    names = f"{' = '.join(names_of(tensor.op, tensor.name))} {tensor.shape}"
    return names if tensor.op is None else f"{names}, made at {made_at(tensor.op)}"
