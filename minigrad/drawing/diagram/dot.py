"""A view as DOT text, the language of Graphviz: its nodes and boxes, its arrows, its legend."""

import math

import numpy as np

from minigrad.drawing.colors import (
    ARROW,
    BRANCH,
    GIVEN_INF,
    KINDS,
    NO_GRADIENT,
    NOT_FINITE,
    OPEN_BOX,
    QUIET,
    SKIP,
    color_code,
    shade,
    tint,
)
from minigrad.drawing.diagram.tables import array_cell, cell, font, form_of, heat_cell, row, small, table, tooltip
from minigrad.drawing.labels import (
    NO_GRADIENT_REQUIRED,
    clean,
    details_of,
    gradient_text,
    is_constant_number,
    number_text,
    place_text,
    shape_text,
    title_of,
)
from minigrad.drawing.values import spoiled_tensors, statistics, strength
from minigrad.drawing.view import kind_shown
from minigrad.graph import Box
from minigrad.precision import norm

FONT = "Helvetica"  # the one whose widths every layout program knows
HUGE = 500  # from this many items on, the layout trades looks for speed
MANY = 100  # from this many items on, "auto" leaves the arrays out
PER_ROW = 2  # entries of the legend
SCALE = (-1.0, -0.5, 0.0, 0.5, 1.0)
INFINITIES = {NOT_FINITE: "NaN, or inf that an op made", GIVEN_INF: "inf that was given, as in a mask"}


def dot_text(view, look):
    """A view as DOT text. Ids are synthetic, and every name goes into a label: nothing a user wrote is syntax."""
    import graphviz  # noqa: PLC0415  here, so that `import minigrad` loads NumPy alone

    spoiled = spoiled_tensors(view.graph) if look.values else set()
    dot = graphviz.Digraph("minigrad")
    dot.attr("graph", rankdir=layout_direction(look), ranksep="0.25", nodesep="0.25", bgcolor="white")
    dot.attr("graph", fontname=FONT, label=caption(view, look, spoiled), labelloc="t", tooltip=" ")
    dot.attr("node", shape="box", fontname=FONT, fontsize="10", margin="0.08,0.07", height="0.2", width="0.3")
    dot.attr("node", **USUAL_NODE)
    dot.attr("edge", fontname=FONT, fontsize="8", arrowsize="0.7", **USUAL_ARROW)
    if look.size:
        dot.attr("graph", size=",".join(f"{pixels / 72:.4f}" for pixels in look.size) + "!", dpi="72")
    if len(view.items) > HUGE:
        dot.attr("graph", nslimit="1", nslimit1="1")  # straighter lines are not worth minutes
    lit = highlighted(view, look)
    for event, thing in view.outline():
        if event == "enter":
            dot.body.append(f"subgraph cluster_{thing.id} {{\n")
            dot.attr(**box_attributes(thing))
        elif event == "leave":
            dot.body.append("}\n")
        else:
            attributes = item_attributes(view, look, thing, spoiled, lit.get(thing))
            dot.node(thing.id, **unusual(attributes, USUAL_NODE))

    sizes = gradient_sizes(view) if look.grads else {}
    most = max((size for size in sizes.values() if math.isfinite(size)), default=0.0)
    for arrow in view.arrows:
        ends = (arrow.start.id, arrow.end.id)
        attributes = arrow_attributes(look, arrow, sizes.get(arrow), most)
        dot.edge(*(ends if look.flow == "forward" else ends[::-1]), **unusual(attributes, USUAL_ARROW))
    return dot.source


def layout_direction(look):
    """Where the arrows go; from side to side the data goes as asked, also where arrows follow the gradient."""
    if look.flow == "backward" and look.direction in ("LR", "RL"):
        return look.direction[::-1]
    return look.direction


def unusual(attributes, usual):
    """The attributes that the DOT text has not said already of all nodes, or of all arrows."""
    return {name: value for name, value in attributes.items() if usual.get(name) != value}


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
        "color": OPEN_BOX,
        "labeljust": "l",
        "margin": "8",
    }


def item_attributes(view, look, item, spoiled, highlight=None):
    """How a node or closed box looks; `spoiled` are the tensors whose NaN or inf are faults."""
    gradients = [gradient_text(tensor) for tensor in view.results(item)] if look.grads or look.tooltips else []
    attributes = {
        "id": item.id,
        "label": f"<{item_label(view, look, item, spoiled, gradients)}>",
        **kind_attributes(kind_shown(item)),
    }
    if look.tooltips:
        attributes["tooltip"] = tooltip(tooltip_lines(view, item, gradients))
    if highlight:
        attributes |= {"fillcolor": tint(highlight), "color": highlight, "penwidth": "5"}
    return attributes


def kind_attributes(name):
    kind = KINDS[name]
    style = {"style": kind.style, "fillcolor": kind.fill, "color": kind.border, "penwidth": str(kind.width)}
    return {**style, "class": name}


USUAL_NODE = kind_attributes("result")
USUAL_ARROW = {"class": "arrow", "color": ARROW}


def item_label(view, look, item, spoiled, gradients):
    """Title, what it is, and its arrays, one under the other; `gradients` say in words what arrived at its results."""
    tensors = view.results(item)
    tensor = tensors[0] if len(tensors) == 1 else None
    arrays = shown_arrays(view, look, item, spoiled)
    lines = details_of(view, item)
    if look.is_plain:
        return table(*(row(cell(font(line, 10, bold=True))) for line in plain_title(item, look)))
    if look.grads and tensor is not None and tensor.requires_grad and not (arrays and tensor.grad is not None):
        [gradient] = gradients
        lines = [*lines[:-1], f"{lines[-1]}  {gradient}"] if isinstance(item, Box) else [*lines, gradient]
    title = title_of(item) + look.numbers.get(item, "")
    rows = [row(cell(font(title, 10, bold=True)))]
    rows += [row(cell(small(line, QUIET))) for line in lines if line]
    if arrays:
        cells = (array_cell(heading, array, look.values, color) for heading, array, color in arrays)
        rows.append(row(cell(table(row(*cells), CELLSPACING="2"))))
    return table(*rows)


def plain_title(item, look):
    """The title alone; where the picture goes from side to side its words stand one under the other."""
    title = title_of(item)
    return title.replace("_", " ").split() if look.direction in ("LR", "RL") else [title]


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


def tooltip_lines(view, item, gradients):
    """The tooltip of an item: full name, shape, statistics, gradient, and the line that made it."""
    lines = [clean(item.path, 200)]
    for tensor, gradient in zip(view.results(item), gradients, strict=True):
        lines.append(f"{shape_text(tensor.shape)} {tensor.dtype}: {'; '.join(statistics(tensor.data))}")
        lines.append(gradient)
        if tensor.op is not None:
            lines.append(place_text(tensor.op))
    return lines


def gradient_sizes(view):
    """The norm of the gradient that each arrow delivered, for those that delivered one."""
    gradients = ((arrow, arrow.gradient) for arrow in view.arrows)
    return {arrow: norm(gradient) for arrow, gradient in gradients if gradient is not None}


def arrow_attributes(look, arrow, size, most):
    """How an arrow looks: a skip is the boldest line, and a larger gradient makes any line wider.

    `size` is the norm of what it delivered, None if that is not shown, and `most` the largest in the picture.
    """
    width = 1.0 if size is None else 0.75 + 2.25 * strength(size, most)
    color = arrow_color(arrow, size)
    attributes = {
        "id": arrow.id,
        "class": "skip" if arrow.is_skip else "arrow",
        "color": color,
        "penwidth": f"{width + 2.75 if arrow.is_skip else width:.2f}",
    }
    if look.tooltips:
        attributes["tooltip"] = tooltip(arrow_lines(arrow, size))
    lines = [] if size is None else [font(number_text(size), 10 if look.is_plain else 8, color)]
    if arrow.share is not None:
        lines = [] if look.is_plain else lines
        lines.append(font(share_text(arrow), 10, color, bold=True))
    if lines:
        is_beside = look.direction in ("TB", "BT") and (arrow.is_skip or arrow.share is not None)
        spacer = cell("", WIDTH=14 if is_beside else 4)  # clear of the bold lines and their heads
        attributes["label"] = f"<{table(*(row(spacer, cell(line), spacer) for line in lines))}>"
    if not arrow.tensor.requires_grad:
        attributes["style"] = "dashed"
    return attributes


def arrow_color(arrow, size):
    if size is not None and not math.isfinite(size):
        return NOT_FINITE
    if way_of(arrow) is not None:
        return SKIP if arrow.is_skip else BRANCH
    return ARROW if arrow.tensor.requires_grad else NO_GRADIENT


def way_of(arrow):
    """Which way through a residual an arrow is: skip, branch or None. With a share and no skip it begins a branch."""
    return arrow.way or (None if arrow.share is None else "branch")


def share_text(arrow):
    """The share of the gradient that came along an arrow, and which way of the residual it is."""
    share = "-" if math.isnan(arrow.share) else f"{arrow.share:.0%}"
    return f"{way_of(arrow)} {share}"


def arrow_lines(arrow, size):
    """The tooltip of an arrow that delivered a gradient of this norm, None for none that is shown."""
    lines = [f"{clean(arrow.start.path, 100)} to {clean(arrow.end.path, 100)}: {shape_text(arrow.tensor.shape)}"]
    if len(arrow.edges) > 1:
        lines.append(f"read {len(arrow.edges)} times there")
    if size is not None:
        lines.append(f"delivered a gradient of norm {number_text(size)}")
    elif arrow.tensor.requires_grad and arrow.gradient is None:
        lines.append("no gradient yet")
    return lines


def caption(view, look, spoiled):
    """Title, note and legend as the label of the whole picture."""
    rows = []
    if look.title:
        rows.append(row(cell(font(clean(look.title, 120), 14, bold=True))))
    if view.note:
        rows.append(row(cell(font(view.note, 9, NOT_FINITE))))
    if look.legend:
        entries = [cell(swatch) + explained(meaning) for swatch, meaning in legend(view, look, spoiled)]
        lines = [row(*entries[i : i + PER_ROW]) for i in range(0, len(entries), PER_ROW)]
        rows.append(row(cell(table(*lines, CELLSPACING="2"))))
    return f"<{table(*rows)}>" if rows else ""


def explained(meaning):
    """The words beside a swatch, and a gap before the next one."""
    return cell(small(clean(meaning), QUIET), ALIGN="LEFT") + cell("", WIDTH=6)


def legend(view, look, spoiled):
    """Pairs of a swatch and its meaning, for what is in the picture."""
    shown = {kind_shown(item) for item in view.items}
    entries = [(swatch(kind.fill, border=kind.border), kind.meaning) for name, kind in KINDS.items() if name in shown]
    if any(arrow.is_skip for arrow in view.arrows):
        entries.append((swatch(SKIP, height=5), "skip of a residual, always bolder"))
    if any(way_of(arrow) == "branch" for arrow in view.arrows):
        entries.append((swatch(BRANCH, height=3), "branch of a residual"))
    if look.grads and any(arrow.gradient is not None for arrow in view.arrows):
        entries.append((swatch(ARROW, height=3), "gradient: norm; width on a log scale"))
    if any(not arrow.tensor.requires_grad for arrow in view.arrows):
        entries.append((swatch(NO_GRADIENT, height=1), NO_GRADIENT_REQUIRED))
    arrays = [shown for item in view.items for shown in shown_arrays(view, look, item, spoiled)]
    entries += legend_of_arrays(arrays, look) + legend_of_infinities(view, look, arrays)
    return entries + [(swatch(color_code(color)), meaning) for color, meaning in look.meanings.items()]


def legend_of_arrays(arrays, look):
    """What the colours of numbers mean."""
    forms = {form_of(array, look.values) for _, array, _ in arrays}
    if "heatmap" in forms:
        scale = table(row(*(heat_cell(value, 1.0, NOT_FINITE) for value in SCALE)), CELLSPACING="1")
        end = "where the colours end, array by array"
        return [(scale, "negative (with a -), 0, positive"), (small("±", QUIET), end)]
    if "numbers" in forms:
        scale = (cell("", WIDTH="6", HEIGHT="9", FIXEDSIZE="TRUE", BGCOLOR=shade(value, 1)) for value in SCALE)
        return [(table(row(*scale)), "negative, 0, positive")]
    return []


def legend_of_infinities(view, look, arrays):
    """What the colours of NaN and inf mean, in arrays and on arrows."""
    colors = {color for _, array, color in arrays if not np.isfinite(array).all()}
    gradients = [arrow.gradient for arrow in view.arrows if look.grads and arrow.gradient is not None]
    if not all(np.isfinite(gradient).all() for gradient in gradients):
        colors.add(NOT_FINITE)
    return [(swatch(color), meaning) for color, meaning in INFINITIES.items() if color in colors]


def swatch(color, height=9, border=None):
    """A small box of a colour, or a piece of a line."""
    frame = {"BORDER": "1", "COLOR": border} if border else {}
    size = {"WIDTH": "18", "HEIGHT": str(height), "FIXEDSIZE": "TRUE"}
    return table(row(cell("", BGCOLOR=color, **size, **frame)), **size)
