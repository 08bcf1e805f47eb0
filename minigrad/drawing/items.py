"""How nodes and boxes look: the attributes that Graphviz gets, and the table in each node."""

from minigrad.drawing.cells import array_cell, statistics
from minigrad.drawing.markup import cell, font, row, small, table, tooltip
from minigrad.drawing.style import GIVEN_INF, KINDS, NOT_FINITE, QUIET, kind_of, tint
from minigrad.drawing.words import (
    clean,
    details_of,
    gradient_text,
    is_constant_number,
    place_text,
    shape_text,
    title_of,
)
from minigrad.graph import Box

MANY = 100  # from so many items on, "auto" leaves the arrays out


def box_attributes(box):
    """How an open box looks."""
    name = clean(box.name)
    title = cell(font(name, 10, KINDS["closed"].border, bold=True))
    beside = cell("", WIDTH=7 * len(name))  # so that arrows enter beside the title
    return {
        "id": box.id,
        "label": f"<{table(row(title, beside))}>",
        "tooltip": tooltip([clean(box.path, 200)]),
        "style": "rounded",
        "color": "#b9b3c9",
        "labeljust": "l",
        "margin": "8",
    }


def item_attributes(view, look, item, spoiled, highlight=None):
    """How a node or closed box looks; `spoiled` are the tensors whose NaN or inf are a fault."""
    kind = KINDS[kind_of(item)]
    return {
        "id": item.id,
        "label": f"<{item_label(view, look, item, spoiled)}>",
        "tooltip": tooltip(tooltip_lines(view, item)),
        "style": kind.style,
        "fillcolor": tint(highlight) if highlight else kind.fill,
        "color": highlight or kind.border,
        "penwidth": "5" if highlight else str(kind.width),
        "class": kind_of(item),
    }


def item_label(view, look, item, spoiled):
    """Title, what it is, and its arrays, one under the other."""
    tensors = view.results(item)
    tensor = tensors[0] if len(tensors) == 1 else None
    arrays = shown_arrays(view, look, item, spoiled)
    lines = details_of(view, item)
    if look.grads and tensor is not None and tensor.requires_grad and not (arrays and tensor.grad is not None):
        gradient = gradient_text(tensor)
        lines = [*lines[:-1], f"{lines[-1]}  {gradient}"] if isinstance(item, Box) else [*lines, gradient]
    title = title_of(item) + look.numbers.get(item, "")
    rows = [row(cell(font(title, 10, bold=True)))]
    rows += [row(cell(small(line, QUIET))) for line in lines if line]
    if arrays:
        cells = (array_cell(heading, array, look.values, color) for heading, array, color in arrays)
        rows.append(row(cell(table(row(*cells), CELLSPACING="2"))))
    return table(*rows)


def shown_arrays(view, look, item, spoiled):
    """The arrays that are shown in an item: for each its heading, itself, and the colour of its NaN and inf."""
    tensors = view.results(item)
    if len(tensors) != 1 or not has_room(view, look) or is_constant_number(item):
        return []
    [tensor] = tensors
    arrays = [("value", tensor.data, NOT_FINITE if tensor in spoiled else GIVEN_INF)]
    if look.grads and tensor.grad is not None:
        arrays.append(("gradient", tensor.grad, NOT_FINITE))
    return arrays


def has_room(view, look):
    """Whether arrays are shown: on demand, or by default in a small picture."""
    return len(view.items) <= MANY if look.values == "auto" else bool(look.values)


def tooltip_lines(view, item):
    """What a mouse over an item tells: full name, shape, statistics, gradient, and the line that made it."""
    lines = [clean(item.path, 200)]
    for tensor in view.results(item):
        lines.append(f"{shape_text(tensor.shape)} {tensor.dtype}: {'; '.join(statistics(tensor.data))}")
        lines.append(gradient_text(tensor))
        if tensor.op is not None:
            lines.append(place_text(tensor.op))
    return lines
