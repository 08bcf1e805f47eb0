"""A view as DOT text, the language of Graphviz."""

import math

from minigrad.arrays import norm
from minigrad.drawing.cells import array_cell, statistics
from minigrad.drawing.collapse import View
from minigrad.drawing.legend import caption
from minigrad.drawing.markup import cell, font, row, small, table, tooltip
from minigrad.drawing.style import ARROW, KINDS, NO_GRADIENT, NOT_FINITE, QUIET, SKIP, Look, color_code, kind_of, tint
from minigrad.drawing.words import clean, details_of, gradient_text, number_text, place_text, shape_text, title_of

MANY = 100  # from so many items on, "auto" leaves the arrays out
HUGE = 500  # and from so many on, the layout is done in haste


def to_dot(graph, depth=None, expand=(), **look):
    """The picture of a graph as DOT text, whatever its size; options as in `minigrad.draw`.

    >>> from minigrad import Graph
    >>> x = Tensor(3.0, requires_grad=True, name="x")
    >>> Graph(x * x).to_dot().count("n0 -> n1")
    2
    """
    return dot_text(View(graph, depth, expand), Look(**look))


def dot_text(view, look):
    """A view as DOT text. Ids are synthetic, and every name goes into a label: nothing a user wrote is syntax."""
    import graphviz  # noqa: PLC0415  here, so that `import minigrad` loads NumPy alone

    dot = graphviz.Digraph("minigrad")
    dot.attr("graph", rankdir=look.direction, ranksep="0.25", nodesep="0.25", bgcolor="white")
    dot.attr("graph", fontname="Helvetica", label=caption(view, look), labelloc="t", tooltip=" ")
    dot.attr("node", shape="box", fontname="Helvetica", fontsize="10", margin="0.08,0.07", height="0.2", width="0.3")
    dot.attr("edge", fontname="Helvetica", fontsize="8", arrowsize="0.7")
    if len(view.items) > HUGE:
        dot.attr("graph", nslimit="1", nslimit1="1")  # straighter lines are not worth minutes
    lit = highlighted(view, look)
    for event, thing in view.walk():
        if event == "enter":
            dot.body.append(f"subgraph cluster_{thing.id} {{\n")
            dot.attr(**box_attributes(thing))
        elif event == "leave":
            dot.body.append("}\n")
        else:
            dot.node(thing.id, **item_attributes(view, look, thing, lit.get(thing)))

    largest = largest_norm(view)
    for arrow in view.arrows:
        ends = (arrow.start.id, arrow.end.id)
        dot.edge(*(ends if look.flow == "forward" else ends[::-1]), **arrow_attributes(look, arrow, largest))
    return dot.source


def highlighted(view, look):
    """The colour of each item that holds a highlighted tensor; the first one counts.

    Raises:
        ValueError: a tensor that is not in the graph.
    """
    lit = {}
    for tensor, color in look.highlight.items():
        node = view.graph.node_of.get(tensor)
        if node is None:
            raise ValueError(f"draw: cannot highlight {tensor!r}, which is not in {view.graph}")
        lit.setdefault(view.item_of(node), color_code(color))
    return lit


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
    shows_arrays = tensor is not None and has_room(view, look, tensor)
    lines = details_of(view, item)
    if look.grads and tensor is not None and tensor.requires_grad and not (shows_arrays and tensor.grad is not None):
        lines.append(gradient_text(tensor))
    rows = [row(cell(font(title_of(item), 10, bold=True)))]
    rows += [row(cell(small(line, QUIET))) for line in lines if line]
    if shows_arrays:
        arrays = [array_cell("value", tensor.data, look.values)]
        if look.grads and tensor.grad is not None:
            arrays.append(array_cell("gradient", tensor.grad, look.values))
        rows.append(row(cell(table(row(*arrays), CELLSPACING="2"))))
    return table(*rows)


def has_room(view, look, tensor):
    """Whether arrays are shown: on demand, or by default in a small picture. A constant number is its own title."""
    if not look.values or (tensor.is_leaf and tensor.size == 1 and not tensor.requires_grad):
        return False
    return look.values != "auto" or len(view.items) <= MANY


def tooltip_lines(view, item):
    """What a mouse over an item tells: full name, shape, statistics, gradient, and the line that made it."""
    lines = [clean(item.path, 200)]
    for tensor in view.results(item):
        lines.append(f"{shape_text(tensor.shape)} {tensor.dtype}: {'; '.join(statistics(tensor.data))}")
        lines.append(gradient_text(tensor))
        if tensor.op is not None:
            lines.append(place_text(tensor.op))
    return lines


def largest_norm(view):
    """The largest gradient that an arrow carries, as a norm; 0 if none carries any."""
    norms = [norm(arrow.gradient) for arrow in view.arrows if arrow.gradient is not None]
    return max((value for value in norms if math.isfinite(value)), default=0.0)


def arrow_attributes(look, arrow, largest):
    """How an arrow looks: a skip is the boldest line, and a larger gradient makes any line wider."""
    gradient = arrow.gradient if look.grads else None
    size = None if gradient is None else norm(gradient)
    width = 1.0 if size is None else 0.75 + 2.25 * strength(size, largest)
    color = arrow_color(arrow, size)
    attributes = {
        "id": arrow.id,
        "class": "skip" if arrow.is_skip else "arrow",
        "tooltip": tooltip(arrow_lines(arrow)),
        "color": color,
        "penwidth": f"{width + 2.75 if arrow.is_skip else width:.2f}",
    }
    lines = [] if size is None else [small(number_text(size), color)]
    if arrow.note:
        lines.append(font(clean(arrow.note), 10, color, bold=True))
    if lines:
        spacer = cell("", WIDTH=8 if arrow.is_skip else 5)  # keeps the words clear of the line
        attributes["label"] = f"<{table(*(row(spacer, cell(line)) for line in lines))}>"
    if not arrow.tensor.requires_grad:
        attributes["style"] = "dashed"
    return attributes


def arrow_color(arrow, size):
    if size is not None and not math.isfinite(size):
        return NOT_FINITE
    if arrow.is_skip:
        return SKIP
    return ARROW if arrow.tensor.requires_grad else NO_GRADIENT


def strength(size, largest):
    """Size on a logarithmic scale: 1 for the largest, 0 from a ten-thousandth on. A NaN or inf counts as largest."""
    if not math.isfinite(size):
        return 1.0
    return max(0.0, 1 + math.log10(size / largest) / 4) if size > 0 else 0.0


def arrow_lines(arrow):
    """What a mouse over an arrow tells."""
    lines = [f"{clean(arrow.start.path, 100)} to {clean(arrow.end.path, 100)}: {shape_text(arrow.tensor.shape)}"]
    if len(arrow.edges) > 1:
        lines.append(f"read {len(arrow.edges)} times there")
    if arrow.gradient is not None:
        lines.append(f"delivered a gradient of norm {number_text(norm(arrow.gradient))}")
    elif arrow.tensor.requires_grad:
        lines.append("no gradient yet")
    return lines
