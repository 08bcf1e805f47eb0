"""Arrays in a node: as numbers, as a heat map of coloured cells, or as statistics."""

import numpy as np

from minigrad.drawing.markup import cell, row, small, table
from minigrad.drawing.style import NOT_FINITE, QUIET, shade
from minigrad.drawing.words import norm, number_text

MAX_NUMBERS = 16
MAX_SIDE = 32


def form_of(array, values):
    """Which form an array takes: "auto" decides by its size, and every form falls back to one that has room."""
    rows = as_rows(array)
    if array.size == 1 or (array.size <= MAX_NUMBERS and values in ("auto", "numbers")):
        return "numbers"
    if values == "numbers" and array.size <= MAX_SIDE * 8:
        return "numbers"
    if values != "statistics" and array.size > 0 and max(rows.shape) <= MAX_SIDE:
        return "heatmap"
    return "statistics"


def as_rows(array):
    """The array as a matrix: its last axis along the rows, all others one under the other."""
    return array.reshape(-1, array.shape[-1]) if array.ndim and array.size else array.reshape(1, -1)


def array_cell(heading, array, values):
    """A table cell that shows an array under a heading."""
    form = form_of(array, values)
    if form == "statistics":
        lines = [f"{heading}:", *statistics(array)]
        return cell(
            '<BR ALIGN="LEFT"/>'.join(small(line) for line in lines) + '<BR ALIGN="LEFT"/>', ALIGN="LEFT", BALIGN="LEFT"
        )
    rows = as_rows(array)
    finite = np.abs(rows[np.isfinite(rows)], dtype=np.float64)
    bound = float(finite.max()) if finite.size else 0.0
    draw_cell = number_cell if form == "numbers" else heat_cell
    grid = table(*(row(*(draw_cell(value, bound) for value in line)) for line in rows.tolist()), CELLSPACING="1")
    caption = heading if form == "numbers" else f"{heading}  ±{number_text(bound)}"
    return cell(table(row(cell(small(caption, QUIET))), row(cell(grid))))


def number_cell(value, bound):
    """A number on its colour."""
    if not np.isfinite(value):
        return cell(small(number_text(value), "#ffffff"), BGCOLOR=NOT_FINITE)
    dark = bound > 0 and abs(value) > 0.7 * bound
    return cell(small(number_text(value), "#ffffff" if dark and value < 0 else "#000000"), BGCOLOR=shade(value, bound))


def heat_cell(value, bound):
    """A colour alone, and a minus for the negative ones: in grey print both ends look the same."""
    size = {"WIDTH": "9", "HEIGHT": "9", "FIXEDSIZE": "TRUE", "CELLPADDING": "0"}
    if not np.isfinite(value):
        return cell("", BGCOLOR=NOT_FINITE, **size)
    return cell("", BGCOLOR=shade(value, bound), **size)


def statistics(array):
    """The numbers of an array in a few lines; what is not finite is counted, not averaged."""
    if not array.size:
        return ["empty"]
    finite = array[np.isfinite(array)].astype(np.float64)
    lines = []
    if finite.size < array.size:
        lines.append(f"{array.size - finite.size:,} of {array.size:,} NaN or inf")
    if finite.size:
        lines += [
            f"mean {number_text(finite.mean())}, std {number_text(finite.std())}",
            f"{number_text(finite.min())} to {number_text(finite.max())}",
            f"norm {number_text(norm(finite))}",
        ]
    return lines
