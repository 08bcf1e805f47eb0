"""The title of a picture and its legend: what the colours and lines that occur in it mean."""

import numpy as np

from minigrad.drawing.cells import form_of, heat_cell
from minigrad.drawing.items import shown_arrays
from minigrad.drawing.markup import cell, font, row, small, table
from minigrad.drawing.style import (
    ARROW,
    GIVEN_INF,
    KINDS,
    NO_GRADIENT,
    NOT_FINITE,
    QUIET,
    SKIP,
    color_code,
    kind_of,
    shade,
)
from minigrad.drawing.words import clean

PER_ROW = 2
SCALE = (-1.0, -0.5, 0.0, 0.5, 1.0)
INFINITIES = {NOT_FINITE: "NaN, or inf that an op made", GIVEN_INF: "inf that was given, as in a mask"}


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
    shown = {kind_of(item) for item in view.items}
    entries = [(swatch(kind.fill, border=kind.border), kind.meaning) for name, kind in KINDS.items() if name in shown]
    if any(arrow.is_skip for arrow in view.arrows):
        entries.append((swatch(SKIP, height=5), "skip of a residual, always bolder"))
    if look.grads and any(arrow.gradient is not None for arrow in view.arrows):
        entries.append((swatch(ARROW, height=3), "gradient: norm; width on a log scale"))
    if any(not arrow.tensor.requires_grad for arrow in view.arrows):
        entries.append((swatch(NO_GRADIENT, height=1), "wants no gradient"))
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
