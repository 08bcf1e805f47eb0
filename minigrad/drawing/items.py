"""How nodes and boxes look: the attributes that Graphviz gets, and the table in each node."""

from minigrad.drawing.cells import array_cell, statistics
from minigrad.drawing.markup import cell, font, row, small, table, tooltip
from minigrad.drawing.style import KINDS, QUIET, kind_of, tint
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


def item_attributes(view, look, item, highlight=None):
    """How a node or closed box looks."""
    kind = KINDS[kind_of(item)]
    return {
        "id": item.id,
        "label": f"<{item_label(view, look, item)}>",
        "tooltip": tooltip(tooltip_lines(view, item)),
        "style": kind.style,
        "fillcolor": tint(highlight) if highlight else kind.fill,
        "color": highlight or kind.border,
        "penwidth": "5" if highlight else str(kind.width),
        "class": kind_of(item),
    }


def item_label(view, look, item):
    """Title, what it is, and its arrays, one under the other."""
    tensors = view.results(item)
    tensor = tensors[0] if len(tensors) == 1 else None
    shows_arrays = tensor is not None and has_room(view, look) and not is_constant_number(item)
    lines = details_of(view, item)
    if look.grads and tensor is not None and tensor.requires_grad and not (shows_arrays and tensor.grad is not None):
        gradient = gradient_text(tensor)
        lines = [*lines[:-1], f"{lines[-1]}  {gradient}"] if isinstance(item, Box) else [*lines, gradient]
    rows = [row(cell(font(title_of(item), 10, bold=True)))]
    rows += [row(cell(small(line, QUIET))) for line in lines if line]
    if shows_arrays:
        arrays = [array_cell("value", tensor.data, look.values)]
        if look.grads and tensor.grad is not None:
            arrays.append(array_cell("gradient", tensor.grad, look.values))
        rows.append(row(cell(table(row(*arrays), CELLSPACING="2"))))
    return table(*rows)


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
