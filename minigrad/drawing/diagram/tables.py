"""Graphviz's HTML-like labels: escaped text, tables, and arrays in them as numbers, heat map or statistics."""

import math
from html import escape

import numpy as np

from minigrad.drawing.colors import NOT_FINITE, QUIET, TEXT, shade
from minigrad.drawing.labels import number_text
from minigrad.drawing.values import as_matrix, color_bound, statistics

MAX_NUMBERS = 16
MAX_SIDE = 24
CELL = 10  # points


def text(string):
    """Plain text for a label.

    Backslashes are doubled: Graphviz expands `\\N` to the node's id even in a table. Some versions cannot read a
    text that begins with `]`.
    """
    return escape(string).replace("\\", "\\\\").replace("]", "&#93;")


def tooltip(lines):
    """Plain text for an attribute that Graphviz shows as a tooltip. It reads backslashes twice there."""
    import graphviz  # noqa: PLC0415  here, so that `import minigrad` loads NumPy alone

    return graphviz.escape("\n".join(lines).replace("&", "&amp;").replace("\\", "\\\\"))


def font(string, size, color=TEXT, bold=False):
    """Text in a size and colour."""
    inner = f"<B>{text(string)}</B>" if bold else text(string)
    return f'<FONT POINT-SIZE="{size}" COLOR="{color}">{inner}</FONT>' if string else ""


def small(string, color=TEXT):
    return font(string, 8, color)


def attributes(options):
    return "".join(f' {name}="{value}"' for name, value in options.items())


def cell(content, **options):
    return f"<TD{attributes(options)}>{content}</TD>" if options else f"<TD>{content}</TD>"


def row(*cells):
    return f"<TR>{''.join(cells)}</TR>"


def table(*rows, **options):
    options = {"BORDER": "0", "CELLBORDER": "0", "CELLSPACING": "0", "CELLPADDING": "1"} | options
    return f"<TABLE{attributes(options)}>{''.join(rows)}</TABLE>"


def form_of(array, values):
    """Which form an array takes. "auto" decides by its size; what is too large for a form gets the next smaller one."""
    longest = max(as_matrix(array).shape)
    if array.size == 0 or values == "statistics" or longest > MAX_SIDE:
        return "numbers" if array.size == 1 else "statistics"
    if array.size <= MAX_NUMBERS and values == "auto":
        return "numbers"
    return "numbers" if values == "numbers" or array.size == 1 else "heatmap"


def array_cell(heading, array, values, not_finite=NOT_FINITE):
    """A table cell that shows an array under a heading; `not_finite` is the colour of its NaN and inf."""
    form = form_of(array, values)
    if form == "statistics":
        lines = [row(cell(small(line, QUIET), ALIGN="LEFT")) for line in (heading, *statistics(array))]
        return cell(table(*lines), VALIGN="TOP")
    rows = as_matrix(array)
    bound = color_bound(rows)
    if form == "numbers":
        cells = [row(*(number_cell(value, bound, not_finite) for value in line)) for line in rows.tolist()]
        grid = table(*cells, CELLSPACING="1")
        is_plain = array.size == 1 and np.isfinite(array).all()
        return captioned(heading, small(aligned(array.item(), bound)) if is_plain else grid)
    cells = [row(*(heat_cell(value, bound, not_finite) for value in line)) for line in rows.tolist()]
    height, width = ((CELL + 1) * n + 1 for n in rows.shape)
    grid = table(*cells, CELLSPACING="1", FIXEDSIZE="TRUE", WIDTH=width, HEIGHT=height)
    return captioned(f"{heading} {range_text(array, bound)}", grid)


def range_text(array, bound):
    """How far the colours of an array reach; in words where there is nothing to colour.

    >>> range_text(np.array([1.0, -2.0]), 2.0), range_text(np.zeros(2), 0.0), range_text(np.full(2, np.nan), 0.0)
    ('±2', 'all 0', 'all NaN')
    """
    if bound:
        return f"±{number_text(bound)}"
    if np.isnan(array).all():
        return "all NaN"
    return "0, NaN or inf" if not np.isfinite(array).all() else "all 0"


def captioned(caption, content):
    return cell(table(row(cell(small(caption, QUIET))), row(cell(content))), VALIGN="TOP")


def number_cell(value, bound, not_finite):
    """A number on its colour."""
    if not math.isfinite(value):
        return cell(small(str(value), "#ffffff"), BGCOLOR=not_finite)
    on_blue = value < -0.6 * bound
    return cell(small(aligned(value, bound), "#ffffff" if on_blue else "#000000"), BGCOLOR=shade(value, bound))


def aligned(value, bound):
    """A number with as many decimals as the largest of its array needs for three digits; an exact zero is `0`.

    >>> aligned(0.5, 0.123), aligned(0.5, 12.3), aligned(0.001, 12.3), aligned(0.0, 12.3), aligned(3e-9, 3e-9)
    ('0.500', '0.50', '0.00', '0', '3e-09')
    """
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    before = math.floor(math.log10(bound))  # digits before the point, less one
    if not -3 <= before <= 5:
        return f"{value:.2g}"
    return f"{value:.{max(2 - before, 2 if before < 2 else 0)}f}"


def heat_cell(value, bound, not_finite):
    """A colour alone; the negative ones carry a minus, since in grey print both ends look the same."""
    color = shade(value, bound) if math.isfinite(value) else not_finite
    sign = small("-", "#ffffff" if value < -0.5 * bound else "#000000") if value < 0 else ""
    return cell(sign, BGCOLOR=color, WIDTH=CELL, HEIGHT=CELL, FIXEDSIZE="TRUE", CELLPADDING="0")
