"""The title of a picture and its legend: what the colours and lines that occur in it mean."""

from minigrad.drawing.markup import cell, font, row, small, table
from minigrad.drawing.style import ARROW, KINDS, NO_GRADIENT, NOT_FINITE, QUIET, SKIP, kind_of, shade
from minigrad.drawing.words import clean

PER_ROW = 4


def caption(view, look):
    """Title and legend as the label of the whole picture."""
    rows = []
    if look.title:
        rows.append(row(cell(font(clean(look.title, 120), 14, bold=True))))
    if view.note:
        rows.append(row(cell(font(view.note, 9, NOT_FINITE))))
    if look.legend:
        entries = [
            table(row(cell(swatch), cell(small(clean(meaning, 80), QUIET)))) for swatch, meaning in legend(view, look)
        ]
        lines = [entries[i : i + PER_ROW] for i in range(0, len(entries), PER_ROW)]
        rows += [
            row(cell(table(row(*(cell(entry, ALIGN="LEFT") for entry in line)), CELLSPACING="2"))) for line in lines
        ]
    return f"<{table(*rows)}>" if rows else ""


def legend(view, look):
    """Pairs of a swatch and its meaning, for what is in the picture."""
    shown = {kind_of(item) for item in view.items}
    entries = [(box_swatch(kind), kind.meaning) for name, kind in KINDS.items() if name in shown]
    if any(arrow.is_skip for arrow in view.arrows):
        entries.append((line_swatch(SKIP, 5), "skip of a residual"))
    if look.grads and any(arrow.gradient is not None for arrow in view.arrows):
        entries.append((line_swatch(ARROW, 3), "number and width: norm of the gradient delivered"))
    if any(not arrow.tensor.requires_grad for arrow in view.arrows):
        entries.append((line_swatch(NO_GRADIENT, 1), "wants no gradient (dashed)"))
    if look.values:
        entries.append((scale_swatch(), "negative, 0, positive"))
    entries += [(cell_swatch(color), meaning) for color, meaning in look.meanings.items()]
    return entries


def box_swatch(kind):
    return table(row(cell("", WIDTH="14", HEIGHT="9", BGCOLOR=kind.fill, COLOR=kind.border, BORDER="1")))


def cell_swatch(color):
    return table(row(cell("", WIDTH="14", HEIGHT="9", BGCOLOR=color)))


def line_swatch(color, width):
    return table(row(cell("", WIDTH="18", HEIGHT=str(width), FIXEDSIZE="TRUE", BGCOLOR=color)))


def scale_swatch():
    colors = [shade(value, 1) for value in (-1, -0.5, 0, 0.5, 1)]
    return table(row(*(cell("", WIDTH="7", HEIGHT="9", FIXEDSIZE="TRUE", BGCOLOR=color) for color in colors)))
