"""What a notebook shows of a tensor: one line about it, and its numbers, as a table or as a heat map."""

import math
from html import escape

from minigrad.drawing.colors import NOT_FINITE, QUIET, TEXT, shade
from minigrad.drawing.diagram.tables import aligned, form_of
from minigrad.drawing.values import as_matrix, color_bound, statistics

SIDE = 12  # pixels of a cell without a number


def tensor_html(tensor):
    """A tensor as HTML that needs no script and no style sheet.

    >>> from minigrad import Tensor
    >>> "background:#ffffff" in tensor_html(Tensor([0.0, 1.0]))
    True
    """
    arrays = [("value", tensor.data)] + ([] if tensor.grad is None else [("gradient", tensor.grad)])
    cells = "".join(f'<td style="vertical-align:top">{array_html(*array)}</td>' for array in arrays)
    return f"<div><code>{escape(repr(tensor))}</code><table><tr>{cells}</tr></table></div>"


def array_html(heading, array):
    form = form_of(array, "auto")
    heading = f'<div style="color:{QUIET}">{heading}</div>'
    if form == "statistics":
        return heading + "<br>".join(map(escape, statistics(array)))
    rows = as_matrix(array)
    bound = color_bound(rows)
    lines = ("".join(cell_html(value, bound, form) for value in line) for line in rows.tolist())
    grid = "".join(f"<tr>{line}</tr>" for line in lines)
    facts = f'<div style="color:{QUIET}">{escape(", ".join(statistics(array)))}</div>' if form == "heatmap" else ""
    return f'{heading}<table style="border-collapse:collapse">{grid}</table>{facts}'


def cell_html(value, bound, form):
    """A number on its colour, or the colour alone with the number as its title."""
    is_finite = math.isfinite(value)
    color = shade(value, bound) if is_finite else NOT_FINITE
    ink = "#ffffff" if not is_finite or value < -0.6 * bound else TEXT
    if form == "heatmap":
        return f'<td title="{value}" style="background:{color};padding:0;width:{SIDE}px;height:{SIDE}px"></td>'
    return f'<td style="background:{color};color:{ink};text-align:right">{aligned(value, bound)}</td>'
