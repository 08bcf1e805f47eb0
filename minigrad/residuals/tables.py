"""The records that the split of a gradient and the search for faults return, and how they print."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from minigrad.arrays import norm, scaled


class ResidualGradient(NamedTuple):
    """The gradient at the input of one residual, in its two parts. Arrays of that tensor's shape.

    `total` = `skip` + `branch`: over the skip came dL/dy as it is, through the branch came f'(x)^T dL/dy.
    """

    name: str
    skip: np.ndarray
    branch: np.ndarray

    @property
    def total(self) -> np.ndarray:
        return self.skip + self.branch

    @property
    def skip_share(self) -> float:
        """The skip's component along the total, as a fraction of the total; the two shares sum to 1."""
        return share(self.skip, self.total)

    @property
    def branch_share(self) -> float:
        """The branch's component along the total, as a fraction; negative if the branch opposes the skip."""
        return share(self.branch, self.total)

    @property
    def cosine(self) -> float:
        """Of the angle between skip and branch: 1 in the same direction, -1 in opposite ones; NaN if one is 0."""
        return cosine(self.skip, self.branch)

    def __repr__(self):
        return f"<residual {self.name}: |skip|={norm(self.skip):.4g}, |branch|={norm(self.branch):.4g}>"


class Printed:
    """IPython shows a record of this kind as `print()` does."""

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))


class ResidualGradients(Printed, list[ResidualGradient]):
    """A list of `ResidualGradient` in order from the input; `print()` gives a table."""

    def __init__(self, residuals: Iterable[ResidualGradient] = ()):
        super().__init__(residuals)

    def __str__(self):
        if not self:
            return "There is no residual between the two: the whole gradient came through the ops between them."
        rows = [
            (
                residual.name,
                f"{norm(residual.total):.4g}",
                f"{norm(residual.skip):.4g}",
                f"{norm(residual.branch):.4g}",
                or_dash(residual.skip_share, ".0%"),
                or_dash(residual.branch_share, ".0%"),
                or_dash(residual.cosine, "+.2f"),
                relation(residual),
            )
            for residual in self
        ]
        header = ("residual", "|total|", "|skip|", "|branch|", "skip share", "branch share", "cosine", "together")
        return (
            "Gradient at the input of each residual, from the input to the output\n\n"
            + table(header, rows)
            + "\n\ntotal = skip + branch, and |.| is the norm over all elements. A share is part . total / |total|^2,"
            "\nhow far the part goes along the total: the two sum to 100%, and one that opposes the other is negative."
            "\nCosine: of the angle between skip and branch."
        )


class GradientPaths(Printed, dict[Any, np.ndarray]):
    """A dict of the parts of a gradient, by route, length or residual; `print()` gives a table.

    Attributes:
        by: "route", "length" or "residual".
        residuals: the names of the residuals, in order from the input.
    """

    def __init__(self, parts: Mapping[Any, np.ndarray], by: str, residuals: list[str]):
        super().__init__(parts)
        self.by = by
        self.residuals = residuals

    def __str__(self):
        whole = sum(self.values())
        additive = self.by != "residual"
        rows = []
        for key, part in self.items():
            name = " ".join(f"{way:6}" for way in key) if self.by == "route" else str(key)
            shares = (or_dash(share(part, whole), ".1%"),) if additive else ()
            rows.append((name or "(no residual)", f"{norm(part):.4g}", *shares))
        if additive:
            rows.append(("sum", f"{norm(whole):.4g}", f"{1:.1%}"))
        header = (KEYS[self.by], "|part|")
        lines = [TITLES[self.by], "", table((*header, "share") if additive else header, rows)]
        if self.by == "route":
            lines += ["", "A route names what it took at each residual, from the input to the output:"]
            lines += ["  " + ", ".join(self.residuals)]
        return "\n".join(lines)


class GradientFault(NamedTuple):
    """One fault: its kind in a word or two, where it is, and what was measured."""

    kind: str
    where: str
    text: str

    def __repr__(self):
        return f"<{self.kind}: {self.where}>"


class GradientFaults(Printed, list[GradientFault]):
    """A list of `GradientFault`, empty if none was found; `print()` gives a report.

    Attributes:
        checked: what was looked at, in words.
    """

    def __init__(self, faults: list[GradientFault], checked: str):
        super().__init__(faults)
        self.checked = checked

    def __str__(self):
        if not self:
            return f"Nothing odd about the gradient.\nLooked at: {self.checked}."
        lines = [f"{len(self)} odd thing{'s' if len(self) > 1 else ''} about the gradient"]
        for i, fault in enumerate(self, start=1):
            lines += ["", f"{i}. {fault.kind}: {fault.where}", *(f"   {line}" for line in fault.text.splitlines())]
        return "\n".join([*lines, "", f"Looked at: {self.checked}."])


KEYS = {"route": "route", "length": "branches passed", "residual": "passed the branch of"}
TITLES = {
    "route": "Gradient at the input, by the route it took",
    "length": "Gradient at the input, by the number of branches it passed",
    "residual": "The part of the input's gradient that passed each residual's branch (these parts overlap)",
}


def share(part, whole):
    """The component of `part` along `whole`, as a fraction of it; NaN if the whole is 0."""
    whole, exponent = scaled(whole)
    square = np.vdot(whole, whole)
    return float(np.vdot(np.ldexp(part, -exponent, dtype=np.float64), whole) / square) if square else float("nan")


def cosine(a, b):
    (a, _), (b, _) = scaled(a), scaled(b)
    lengths = norm(a) * norm(b)
    return float(np.vdot(a, b) / lengths) if lengths else float("nan")


def relation(residual):
    """How skip and branch act together, in a few words."""
    if not residual.skip.any() and not residual.branch.any():
        return "nothing arrives"
    if not residual.skip.any() or not residual.branch.any():
        return "branch alone" if residual.branch.any() else "skip alone"
    if abs(residual.cosine) <= 0.3:
        return "nearly at right angles"
    return "they add up" if residual.cosine > 0 else "they oppose each other"


def or_dash(value, form):
    """A number as text, or a dash in place of NaN."""
    return "-" if np.isnan(value) else format(value, form)


def table(header, rows):
    """Rows of text in columns: the first one left-aligned, the others right-aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
