"""Ways through a graph: from a tensor to the loss that was made of it."""

import gc
from collections import deque

from minigrad.debugging.words import name_of
from minigrad.op import Op


def path(tensor, output, over_cuts=False):
    """The tensors on a shortest way from `tensor` to `output`, both included; empty if there is none.

    With `over_cuts` it may also lead over a detach(), from the tensor that was detached to the constant made of it.
    """
    reader, unread = {output: None}, deque([output])
    while unread and tensor not in reader:
        y = unread.popleft()
        for x in sources(y, over_cuts):
            if x not in reader:
                reader[x] = y
                unread.append(x)
    found = []
    while tensor is not None and tensor in reader:
        found.append(tensor)
        tensor = reader[tensor]
    return found


def sources(tensor, over_cuts):
    if tensor.op is not None:
        return tensor.op.inputs
    if over_cuts and tensor.cut is not None and tensor.cut.source is not None:
        return (tensor.cut.source,)
    return ()


def descendants(tensor, tensors):
    """Those of `tensors`, given oldest first, that were made from `tensor`; itself first."""
    found = dict.fromkeys([tensor])
    for other in tensors:
        if other.op is not None and any(x in found for x in other.op.inputs):
            found[other] = None
    return list(found)


def readers(tensor):
    """The ops that read a tensor, oldest first.

    A graph has no arrows to the readers, lest it hold a reference cycle; so this looks through all ops that live.
    """
    ops = [o for o in gc.get_objects() if issubclass(type(o), Op) and any(x is tensor for x in o.inputs)]
    return sorted((op for op in ops if hasattr(op, "number")), key=lambda op: op.number)


def in_words(tensors):
    """A path as one line, without its middle if it is long."""
    names = [f"[{t.cut.by}]" if t.op is None and t.cut is not None else name_of(t) for t in tensors]
    if len(names) > 12:
        names[5:-5] = [f"... {len(names) - 10:,} more ..."]
    return " -> ".join(names)
