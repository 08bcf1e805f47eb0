"""How arrows look: width and number by the gradient that they delivered, a colour of their own for skips."""

import math

from minigrad.arrays import norm
from minigrad.drawing.markup import cell, font, row, small, table, tooltip
from minigrad.drawing.style import ARROW, NO_GRADIENT, NOT_FINITE, SKIP
from minigrad.drawing.words import clean, number_text, shape_text


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
    if arrow.share is not None:
        lines.append(font(share_text(arrow), 10, color, bold=True))
    if lines:
        spacer = cell("", WIDTH=8 if arrow.is_skip else 5)  # keeps the words clear of the line
        attributes["label"] = f"<{table(*(row(spacer, cell(line), spacer) for line in lines))}>"
    if not arrow.tensor.requires_grad:
        attributes["style"] = "dashed"
    return attributes


def arrow_color(arrow, size):
    if size is not None and not math.isfinite(size):
        return NOT_FINITE
    if arrow.is_skip:
        return SKIP
    return ARROW if arrow.tensor.requires_grad else NO_GRADIENT


def share_text(arrow):
    """The share of the gradient that came along an arrow, and whether it is a skip or part of a branch."""
    share = "-" if math.isnan(arrow.share) else f"{arrow.share:.0%}"
    return f"{'skip' if arrow.is_skip else 'branch'} {share}"


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
