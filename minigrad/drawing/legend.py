"""The title of a picture and its legend: what the colours and lines that occur in it mean."""

import numpy as np

from minigrad.drawing.markup import cell, font, row, small, table
from minigrad.drawing.style import ARROW, KINDS, NO_GRADIENT, NOT_FINITE, QUIET, SKIP, color_code, kind_of, shade
from minigrad.drawing.words import clean

PER_ROW = 4


def caption(view, look):
    """Title, note and legend as the label of the whole picture."""
    rows = []
    if look.title:
        rows.append(row(cell(font(clean(look.title, 120), 14, bold=True))))
    if view.note:
        rows.append(row(cell(font(view.note, 9, NOT_FINITE))))
    if look.legend:
        entries = [cell(swatch) + explained(meaning) for swatch, meaning in legend(view, look)]
        lines = [row(*entries[i : i + PER_ROW]) for i in range(0, len(entries), PER_ROW)]
        rows.append(row(cell(table(*lines, CELLSPACING="2"))))
    return f"<{table(*rows)}>" if rows else ""


def explained(meaning):
    """The words beside a swatch, and a gap before the next one."""
    return cell(small(clean(meaning), QUIET), ALIGN="LEFT") + cell("", WIDTH=6)


def legend(view, look):
    """Pairs of a swatch and its meaning, for what is in the picture."""
    shown = {kind_of(item) for item in view.items}
    entries = [(swatch(kind.fill, border=kind.border), kind.meaning) for name, kind in KINDS.items() if name in shown]
    if any(arrow.is_skip for arrow in view.arrows):
        entries.append((swatch(SKIP, height=5), "skip of a residual, always bolder"))
    if look.grads and any(arrow.gradient is not None for arrow in view.arrows):
        entries.append((swatch(ARROW, height=3), "gradient: norm; width on a log scale"))
    if any(not arrow.tensor.requires_grad for arrow in view.arrows):
        entries.append((swatch(NO_GRADIENT, height=1), "wants no gradient"))
    if look.values:
        scale = "".join(
            cell("", WIDTH="6", HEIGHT="9", FIXEDSIZE="TRUE", BGCOLOR=shade(v, 1)) for v in (-1, -0.5, 0, 0.5, 1)
        )
        entries.append((table(row(scale)), "negative, 0, positive"))
    if any(has_holes(tensor, look) for item in view.items for tensor in view.results(item)):
        entries.append((swatch(NOT_FINITE), "NaN or inf"))
    return entries + [(swatch(color_code(color)), meaning) for color, meaning in look.meanings.items()]


def has_holes(tensor, look):
    """Whether a number that is shown is NaN or inf."""
    if look.grads and tensor.grad is not None and not np.isfinite(tensor.grad).all():
        return True
    return look.values is not False and not np.isfinite(tensor.data).all()


def swatch(color, height=9, border=None):
    """A small box of a colour, or a piece of a line."""
    frame = {"BORDER": "1", "COLOR": border} if border else {}
    size = {"WIDTH": "18", "HEIGHT": str(height), "FIXEDSIZE": "TRUE"}
    return table(row(cell("", BGCOLOR=color, **size, **frame)), **size)
