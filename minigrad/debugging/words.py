"""Words that the reports share: what a tensor is called, where an op was made, which numbers an array holds."""

import inspect
import linecache

import numpy as np

from minigrad.arrays import norm

FEW = 6  # numbers that a line has room for


def is_bad(array):
    """Whether it holds a NaN or an inf."""
    return array.dtype.kind == "f" and not np.isfinite(array).all()


def first_bad(array):
    """The index of the first NaN or inf."""
    return tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])


def amount(array):
    """Shape and norm, and the numbers themselves if they are few."""
    if array.ndim == 0:
        return f"() {array.item():.6g}"
    words = f"{array.shape}"
    if 1 <= array.size <= FEW:
        words += f" {np.array2string(array, precision=4, max_line_width=1000)}".replace("\n", "")
    return f"{words} norm {norm(array):.4g}"


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


def rule_of(op):
    """The docstring of the op's class, which is its mathematics, as a list of lines."""
    return (inspect.getdoc(type(op)) or "(its class has no docstring)").splitlines()


def made_at(op):
    """The user's line that made an op, with its text where the file can be read."""
    return line_at(op.location)


def line_at(location):
    """A location `file:line`, followed by the text of the line where the file can be read."""
    file, _, number = location.rpartition(":")
    text = linecache.getline(file, int(number)).strip() if file else ""
    return f"{location}: {text}" if text else location


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
