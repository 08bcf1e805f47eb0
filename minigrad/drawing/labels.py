"""What pictures write: names, shapes, numbers, and the lines about a node or closed box.

Text that a user wrote is shortened here, and what does not print is made visible.
"""

import os

import numpy as np

from minigrad.graph import Box, arguments
from minigrad.precision import norm

LONGEST = 40
SAID = ("label", "shape")  # the title, and the shape of the result
NO_GRADIENT_REQUIRED = "requires no gradient"


def clean(text, longest=LONGEST):
    """`text` on one line without control characters, its middle left out if it is too long.

    >>> clean("two\\nlines")
    'two\\\\nlines'
    >>> clean("blocks.0.attention.query.weight", 20)
    'blocks….query.weight'
    """
    text = str(text)
    if len(text) > longest:
        head = (longest - 1) // 5 * 2
        text = f"{text[:head]}…{text[head + 1 - longest :]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shape_text(shape):
    """A shape as it is written in Python; a number has none.

    >>> shape_text((3, 4)), shape_text(())
    ('(3, 4)', 'scalar')
    """
    return str(shape) if shape else "scalar"


def number_text(value):
    """A number with three significant digits.

    >>> number_text(0.123456), number_text(-0.0), number_text(1e-9), number_text(True)
    ('0.123', '0', '1e-09', 'True')
    """
    if isinstance(value, float):  # NumPy's float64 too
        return f"{value + 0.0:.3g}"
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    return str(value) if isinstance(value, (int, np.integer)) else f"{value + 0.0:.3g}"


def argument_text(value):
    """An argument of an op, short: arrays by shape, slices as they are written, floats with six digits.

    >>> argument_text(np.zeros((3, 4))), argument_text(slice(1, None)), argument_text(0.123456789)
    ('float64[3, 4]', '1:', '0.123457')
    >>> argument_text(np.float32(1e-5)), argument_text(float(np.float32(1e-5)))
    ('1e-05', '1e-05')
    """
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, slice):
        parts = ["" if part is None else str(part) for part in (value.start, value.stop, value.step)]
        return ":".join(parts if value.step is not None else parts[:2])
    if value is Ellipsis:
        return "..."
    if isinstance(value, (tuple, list)):
        return f"({', '.join(argument_text(part) for part in value)})"
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    return str(value) if isinstance(value, (int, str)) else repr(value)


def op_text(op):
    """The op and its arguments: `sum axis=-1`."""
    return f"{op_name(op)} {arguments_text(op)}".strip()


def op_name(op):
    return clean(op.name.replace("_", " "))


def arguments_text(op):
    """The arguments of an op, as written in a call, without those that are False or are said elsewhere."""
    given = ((name, value) for name, value in arguments(op).items() if name not in SAID and value is not False)
    return clean(" ".join(f"{name}={argument_text(value)}" for name, value in given), 60)


def counted(n, word):
    return f"{n:,} {word}" if n == 1 else f"{n:,} {word}s"


def title_of(item):
    """The name of an item; a constant is called by its value."""
    if isinstance(item, Box):
        return clean(item.name)
    if is_constant_number(item):
        return number_text(item.tensor.data.item())
    return op_name(item.op) if is_nameless(item) else clean(item.name)


def is_constant_number(item):
    """Whether it is a constant with a single number, which is title enough."""
    return not isinstance(item, Box) and item.kind == "constant" and item.tensor.size == 1


def is_nameless(node):
    """Whether it is a result without a name of its own."""
    return node.op is not None and node.name == node.op.name


def content_text(view, box):
    """What is inside of a closed box."""
    nodes = view.contents[box]
    ops = [node for node in nodes if node.op is not None]
    parameters = [node for node in nodes if node.kind == "parameter"]
    parts = [op_text(ops[0].op) if len(ops) == 1 else counted(len(ops), "op")]
    if parameters:
        numbers = sum(node.tensor.size for node in parameters)
        parts.append(f"{counted(len(parameters), 'parameter')} ({counted(numbers, 'number')})")
    return ", ".join(parts)


def details_of(view, item):
    """The lines under the title: what it is, and its shape."""
    shapes = ", ".join(shape_text(tensor.shape) for tensor in view.results(item))
    if isinstance(item, Box):
        return [content_text(view, item), shapes]
    if item.op is None:
        what = item.kind if item.name != item.kind else ""
    else:
        what = arguments_text(item.op) if is_nameless(item) else op_text(item.op)
    return [f"{what}  {shapes}".strip()]


def gradient_text(tensor):
    """The norm of the gradient, or why there is none; never 0 for a gradient that was not computed."""
    if not tensor.requires_grad:
        return NO_GRADIENT_REQUIRED
    if tensor.grad is None:
        return "no gradient yet"
    return f"gradient norm {number_text(norm(tensor.grad))}"


def place_text(op):
    """The user's line: the file with its own folder alone, so that the text is the same wherever the program lies."""
    folder, name = os.path.split(op.filename)
    return f"{os.path.join(os.path.basename(folder), name)}:{op.lineno}"
