"""What the reports share: names, lines and numbers in words, and the ways through a graph that they follow."""

import copy
import gc
import inspect
import linecache
from collections import deque

import numpy as np

from minigrad.op import Op
from minigrad.precision import norm

FEW = 6  # numbers that a line has room for


# Numbers


def is_bad(array):
    """Whether it holds a NaN or an inf."""
    return array.dtype.kind == "f" and not np.isfinite(array).all()


def first_index(mask):
    """The index of the first True."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def amount(array):
    """Shape and norm, and the numbers themselves if they are few."""
    if array.ndim == 0:
        return f"() {array.item():.6g}"
    words = f"{array.shape}"
    if 1 <= array.size <= FEW:
        words += f" {np.array2string(array, precision=4, max_line_width=1000)}".replace("\n", "")
    return f"{words} norm {norm(array):.4g}"


def numbers_of(array):
    """Shape, type and range: "(2, 3) float64, from -1 to 2", or the one number; NaN and inf are counted apart."""
    words = f"{array.shape} {array.dtype}"
    finite = array[np.isfinite(array)]
    if finite.size == 1:
        words += f", {finite.item():.4g}"
    elif finite.size:
        words += f", from {finite.min():.4g} to {finite.max():.4g}"
    counts = {"nan": np.isnan(array).sum(), "inf": np.isposinf(array).sum(), "-inf": np.isneginf(array).sum()}
    return words + "".join(f", {count:,} {word}" for word, count in counts.items() if count)


# Names and lines


def name_of(tensor):
    """What a reader would call it: its own name, the path of the op that made it, or what kind of leaf it is."""
    if tensor.name:
        return tensor.name
    if tensor.op is not None:
        return tensor.op.path
    return "a leaf" if tensor.requires_grad else "a constant"


def input_names(op):
    """What the docstring and `forward` call the inputs: ["x", "gain", "bias"]."""
    parameters = inspect.signature(op.forward).parameters.values()
    names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    rest = [p.name for p in parameters if p.kind is p.VAR_POSITIONAL]
    return names + [f"{rest[0]}[{i}]" for i in range(len(op.inputs) - len(names))] if rest else names


def result_name(op):
    """What the docstring calls the result: "y" where `backward` takes `grad_y`."""
    (parameter,) = inspect.signature(op.backward).parameters
    return parameter.removeprefix("grad_")


def docstring_of(op):
    """The docstring of the op's class, which states its mathematics, as a list of lines."""
    return (inspect.getdoc(type(op)) or "(its class has no docstring)").splitlines()


def made_at(op):
    """The user's line that made an op, with its text where the file can be read."""
    return line_at(op.location)


def line_at(location):
    """A location `file:line`, followed by the text of the line where the file can be read."""
    file, _, number = location.rpartition(":")
    text = linecache.getline(file, int(number)).strip() if file else ""
    return f"{location}: {text}" if text else location


# Ways through a graph


def path(tensor, output, over_cuts=False):
    """The tensors on a shortest way from `tensor` to `output`, both included; empty if there is none.

    With `over_cuts` it may also lead over a detach(), from the tensor that was detached to the constant made of it.
    """
    consumer, unread = {output: None}, deque([output])
    while unread and tensor not in consumer:
        y = unread.popleft()
        for x in sources(y, over_cuts):
            if x not in consumer:
                consumer[x] = y
                unread.append(x)
    found = []
    while tensor is not None and tensor in consumer:
        found.append(tensor)
        tensor = consumer[tensor]
    return found


def sources(tensor, over_cuts):
    if tensor.op is not None:
        return tensor.op.inputs
    if over_cuts and tensor.cut is not None and tensor.cut.source is not None:
        return (tensor.cut.source,)
    return ()


def path_text(tensors):
    """A path as one line, without its middle if it is long."""
    names = [f"[{t.cut.by}]" if t.op is None and t.cut is not None else name_of(t) for t in tensors]
    if len(names) > 12:
        names[5:-5] = [f"... {len(names) - 10:,} more ..."]
    return " -> ".join(names)


def descendants(tensor, tensors):
    """Those of `tensors`, given oldest first, that were made from `tensor`; itself first."""
    found = dict.fromkeys([tensor])
    for other in tensors:
        if other.op is not None and any(x in found for x in other.op.inputs):
            found[other] = None
    return list(found)


def consumers(tensor):
    """The ops that have this tensor as an input, oldest first.

    A tensor does not know its consumers, because that would be a reference cycle; so this searches all live ops.
    """
    ops = [o for o in gc.get_objects() if issubclass(type(o), Op) and any(x is tensor for x in o.inputs)]
    return sorted((op for op in ops if hasattr(op, "number")), key=lambda op: op.number)


# Running a rule once more


def twin_of(op):
    """A copy of an op whose rules may be run again: what it saves and draws leaves the op and its generator alone."""
    twin = copy.copy(op)
    if hasattr(twin, "rng"):
        twin.rng = copy.deepcopy(twin.rng)
    return twin
