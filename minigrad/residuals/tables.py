"""The records that the tools for residuals return, and how they print: as text, as HTML in a notebook, as dicts."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from minigrad.precision import norm, scaled

ROWS = 16  # a table shows so many at first
LONGEST_NAME = 36
WORDS_FOR = 6  # up to so many residuals, a route is written in words


class Table:
    """Rows of text under a header, with a title and notes; it shows itself as HTML in a notebook.

    Args:
        title: what the table shows.
        header: one word for each column.
        rows: one text for each column.
        notes: lines under the table.
        total: whether the last row sums up the others.
    """

    def __init__(
        self, title: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]], notes: str = "", total: bool = False
    ):
        self.title, self.header, self.rows, self.notes, self.total = title, header, rows, notes, total

    def __str__(self) -> str:
        widths = [max(len(row[i]) for row in [self.header, *self.rows]) for i in range(len(self.header))]
        lines = [self.title, "", aligned(self.header, widths), "  ".join("-" * width for width in widths)]
        lines += [aligned(row, widths) for row in self.rows]
        return "\n".join(lines + (["", self.notes] if self.notes else []))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(word)}</th>" for word in self.header)
        rows = [
            "".join(f"<td{RIGHT if i else LEFT}>{escape(cell)}</td>" for i, cell in enumerate(row)) for row in self.rows
        ]
        if self.total:
            rows[-1] = rows[-1].replace("<td", "<th").replace("</td", "</th")
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        notes = "".join(f"<p>{escape(line)}</p>" for line in self.notes.split("\n\n") if line)
        return (
            f"<p><b>{escape(self.title)}</b></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"
        )


LEFT = ' style="text-align: left; white-space: pre"'
RIGHT = ' style="text-align: right; padding-left: 1em; white-space: pre"'


def aligned(row, widths):
    """A row of text in columns: the first one left-aligned, the others right-aligned."""
    first, *others = (
        cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()


class Printed:
    """`print()` of it is its table; a notebook shows that as HTML."""

    def table(self, rows: int | None = ROWS) -> Table:
        """The table, with at most `rows` rows, those that matter most; None for all."""
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dicts, one for each record, for further work: numbers, texts and arrays."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))


def largest(sizes, rows):
    """The places of the `rows` largest, in order; of all if rows is None."""
    if rows is None or len(sizes) <= rows:
        return list(range(len(sizes)))
    sizes = np.nan_to_num(np.asarray(sizes, dtype=np.float64), nan=np.inf)
    return sorted(np.argsort(-sizes, kind="stable")[:rows].tolist())


def hidden(n_hidden, what):
    """A note on rows that are left out; empty if there are none."""
    return f"\nThe {n_hidden:,} others {what}; .table(rows=None) shows all." if n_hidden else ""


def short(name):
    """A name with its middle left out if it is long."""
    if len(name) <= LONGEST_NAME:
        return name
    tail = LONGEST_NAME * 2 // 3
    return f"{name[: LONGEST_NAME - tail - 1]}…{name[-tail:]}"


def percent(value, digits=0):
    """A fraction as a percentage, without a sign if it rounds to 0; a dash in place of NaN.

    >>> percent(0.625), percent(-0.001), percent(-0.001, 1), percent(float("nan"))
    ('62%', '0%', '-0.1%', '-')
    """
    if np.isnan(value):
        return "-"
    return f"{round(100 * value, digits) + 0.0:.{digits}f}%"


def cosine_text(value):
    """A cosine with its sign; 0 without one, and a dash in place of NaN."""
    if np.isnan(value):
        return "-"
    return f"{value:+.2f}" if round(value, 2) else "0.00"


def signed(value):
    """A number with its sign and four significant digits; 0 without a sign."""
    return f"{value:+.4g}" if value else "0"


def place(tensor):
    """What to call a tensor: its name, or the path of the op that made it."""
    return tensor.name or (tensor.op.path if tensor.op else "x")


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


class ResidualGradients(Printed, list[ResidualGradient]):
    """A list of `ResidualGradient` in order from the input; `print()` gives a table.

    Attributes:
        note: where something looks like a residual that is not counted as one, in words.
    """

    def __init__(self, residuals: Iterable[ResidualGradient] = (), note: str = ""):
        super().__init__(residuals)
        self.note = note

    def __str__(self) -> str:
        return super().__str__() if self else self.no_residual()

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self else f"<p>{escape(self.no_residual())}</p>"

    def no_residual(self):
        return (
            "Between the two no residual was made with residual_add, or none whose skip leads back: the whole gradient "
            "came\nthrough the ops between them" + (self.note or ".")
        )

    def table(self, rows: int | None = ROWS) -> Table:
        """One row for each residual; if there are more than `rows`, those whose branch brings most of its total."""
        sizes = [norm(residual.branch) / (norm(residual.total) or 1.0) for residual in self]
        shown = largest(sizes, rows)
        cells = [
            (
                short(residual.name),
                f"{norm(residual.total):.4g}",
                f"{norm(residual.skip):.4g}",
                f"{norm(residual.branch):.4g}",
                percent(residual.skip_share),
                percent(residual.branch_share),
                cosine_text(residual.cosine),
                relation(residual),
            )
            for residual in (self[i] for i in shown)
        ]
        header = ("residual", "|total|", "|skip|", "|branch|", "skip share", "branch share", "cosine", "together")
        notes = (
            "total = skip + branch, and |.| is the norm over all elements. A share is part . total / |total|^2,"
            "\nhow far the part goes along the total: the two sum to 100%, and one that goes against the total is"
            "\nnegative. Cosine: of the angle between skip and branch."
        ) + hidden(len(self) - len(shown), "have smaller branches")
        return Table("Gradient at the input of each residual, from the input to the output", header, cells, notes)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One for each residual: name, skip, branch, total, skip_share, branch_share, cosine."""
        names = ("name", "skip", "branch", "total", "skip_share", "branch_share", "cosine")
        return [{name: getattr(residual, name) for name in names} for residual in self]


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

    def table(self, rows: int | None = ROWS) -> Table:
        """One row for each part, the `rows` largest; routes come by size, and the rest is summed in one row."""
        whole = sum(self.values())
        additive = self.by != "residual"
        parts, sizes = list(self.items()), [norm(part) for part in self.values()]
        shown = largest(sizes, rows)
        if self.by == "route":
            shown.sort(key=lambda i: -sizes[i])
        named = [(self.key_in_words(parts[i][0]), parts[i][1]) for i in shown]
        if additive and len(shown) < len(parts):
            rest = sum(parts[i][1] for i in set(range(len(parts))) - set(shown))
            named.append((f"{len(parts) - len(shown):,} others", rest))
        if additive:
            named.append(("sum", whole))
        cells = [
            (name, f"{norm(part):.4g}", *((percent(share(part, whole), 1) if name != "sum" else "100.0%",) * additive))
            for name, part in named
        ]
        notes = "" if additive else hidden(len(parts) - len(shown), "are smaller").strip()
        if self.by == "route":
            notes = self.route_in_words()
        header = (KEYS[self.by], "|part|", *(("share",) * additive))
        return Table(TITLES[self.by], header, cells, notes, total=additive)

    def key_in_words(self, key):
        if self.by != "route":
            return short(str(key))
        if len(self.residuals) > WORDS_FOR:
            return "".join(LETTERS[way] for way in key)
        return " ".join(f"{way:6}" for way in key).rstrip() or "(no residual)"

    def route_in_words(self):
        letters = ", s for the skip, B for the branch" if len(self.residuals) > WORDS_FOR else ""
        lines = [f"A route names what it took at each residual, from the input to the output{letters}:"]
        names = [f"{name}," for name in self.residuals[:-1]] + self.residuals[-1:]
        line = " "
        for name in names:
            if len(line) + len(name) > 110:
                lines.append(line)
                line = " "
            line += f" {name}"
        return "\n".join([*lines, line])

    def to_dicts(self) -> list[dict[str, Any]]:
        """One for each part: the key under the name of what it is by, part, norm, and share where the parts sum up."""
        whole = sum(self.values())
        shares = {} if self.by == "residual" else {key: {"share": share(part, whole)} for key, part in self.items()}
        return [{self.by: key, "part": part, "norm": norm(part), **shares.get(key, {})} for key, part in self.items()]


class ResidualWrite(NamedTuple):
    """What one residual wrote into the stream, and the gradient there. Arrays of the stream's shape, (..., T, d).

    `effect` = `direct` + `indirect`: written . gradient, to first order what the loss would gain if the write grew by
    its own size. Direct came back over skips alone, indirect through the branch of a later residual.
    """

    name: str
    stream: np.ndarray  # what was in the stream before
    written: np.ndarray
    direct_gradient: np.ndarray
    indirect_gradient: np.ndarray

    @property
    def gradient(self) -> np.ndarray:
        """dL/d(written), which is that of the stream behind the write."""
        return self.direct_gradient + self.indirect_gradient

    @property
    def effect(self) -> float:
        return inner_product(self.written, self.gradient)

    @property
    def direct(self) -> float:
        return inner_product(self.written, self.direct_gradient)

    @property
    def indirect(self) -> float:
        return inner_product(self.written, self.indirect_gradient)

    @property
    def effect_by_token(self) -> np.ndarray:
        """The effect of what was written at each token, (..., T); they sum to the effect."""
        return by_token(self.written, self.gradient)

    @property
    def direct_by_token(self) -> np.ndarray:
        return by_token(self.written, self.direct_gradient)

    @property
    def indirect_by_token(self) -> np.ndarray:
        return by_token(self.written, self.indirect_gradient)

    @property
    def cosine(self) -> float:
        """Of the angle between the stream and what is written into it; NaN if one is 0."""
        return cosine(self.stream, self.written)

    def __repr__(self):
        return f"<write {self.name}: |written|={norm(self.written):.4g}, effect={self.effect:.4g}>"


class ResidualStream(Printed, list[ResidualWrite]):
    """A list of `ResidualWrite` in order from the input; `print()` gives a table.

    Attributes:
        start: what the stream began with, as a `ResidualWrite`.
        biases: by name, the direct effects of what else was added on the way over the skips: biases of norms and of
            the output, constants.
        loss: the loss, or loss . grad.
        norm_scale: "true" or "held", see `residual_stream`.
    """

    def __init__(
        self,
        writes: Iterable[ResidualWrite],
        start: ResidualWrite,
        biases: dict[str, float],
        loss: float,
        norm_scale: str,
    ):
        super().__init__(writes)
        self.start, self.biases, self.loss, self.norm_scale = start, biases, loss, norm_scale

    @property
    def direct_sum(self) -> float:
        """All direct effects: of the start, of each residual, of the biases."""
        return self.start.direct + sum(write.direct for write in self) + sum(self.biases.values())

    def table(self, rows: int | None = ROWS) -> Table:
        """One row for each residual; if there are more than `rows`, those of the largest effects."""
        shown = largest([max(abs(write.direct), abs(write.indirect)) for write in self], rows)
        cells = [
            (
                short(write.name),
                f"{norm(write.stream):.4g}" if write.stream.any() else "-",
                f"{norm(write.written):.4g}",
                cosine_text(write.cosine),
                f"{norm(write.gradient):.4g}",
                signed(write.effect),
                signed(write.direct),
                signed(write.indirect),
            )
            for write in (self.start, *(self[i] for i in shown))
        ]
        others = [self[i] for i in set(range(len(self))) - set(shown)]
        if others:
            sums = (signed(sum(getattr(w, name) for w in others)) for name in ("effect", "direct", "indirect"))
            cells.append((f"{len(others)} others", "", "", "", "", *sums))
        if self.biases:
            cells.append(("biases", "", "", "", "", "", signed(sum(self.biases.values())), ""))
        cells.append(("sum", "", "", "", "", "", signed(self.direct_sum), ""))
        header = ("written by", "|stream|", "|written|", "cosine", "|gradient|", "effect", "direct", "indirect")
        notes = (
            "effect = written . gradient = direct + indirect: over skips alone to the end, and through later branches."
            "\n|stream| is what was there before, cosine of the angle between the two. " + self.sum_in_words()
        )
        title = "What each residual wrote into the stream, and its effect on the loss, from the input to the output"
        return Table(title, header, cells, notes + hidden(len(others), "have smaller effects"), total=True)

    def sum_in_words(self):
        """How the sum of the direct effects stands to the loss."""
        if self.norm_scale == "true":
            return 'norm_scale="true":\nwith a norm at the end, what was written sums to about 0, whatever the loss.'
        if np.isclose(self.direct_sum, self.loss, rtol=1e-6, atol=1e-12):
            return f'norm_scale="held":\nthe direct effects sum to the loss, {self.loss:.4g}.'
        return (
            f'norm_scale="held": the loss, {self.loss:.4g},\nis not linear in the end of the stream, so the direct '
            f"effects are its slopes, not its parts."
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        """The start and each residual: name, norms, cosine, effects whole and by token, and the arrays."""
        names = (
            *("name", "effect", "direct", "indirect", "cosine", "effect_by_token", "direct_by_token"),
            *("indirect_by_token", "stream", "written", "gradient"),
        )
        return [{name: getattr(write, name) for name in names} for write in (self.start, *self)]


class GradientFault(NamedTuple):
    """One fault: its kind in a word or two, where it is, and what was measured."""

    kind: str
    where: str
    text: str

    def __repr__(self):
        return f"<{self.kind}: {self.where}>"


class GradientFaults(list[GradientFault]):
    """A list of `GradientFault`, empty if none was found; `print()` gives a report.

    Attributes:
        checked: what was looked at, in words.
        not_checked: what could not be looked at, and why; empty if all was.
    """

    def __init__(self, faults: list[GradientFault], checked: str, not_checked: str = ""):
        super().__init__(faults)
        self.checked = checked
        self.not_checked = not_checked

    def __str__(self):
        lines = [f"Not looked at: {self.not_checked}", ""] if self.not_checked else []
        if not self:
            lines += ["Nothing odd about the gradient."]
        else:
            lines += [f"{len(self)} odd thing{'s' if len(self) > 1 else ''} about the gradient", ""]
        for i, fault in enumerate(self, start=1):
            lines += [f"{i}. {fault.kind}: {fault.where}", *(f"   {line}" for line in fault.text.splitlines()), ""]
        return "\n".join([*lines, f"Looked at: {self.checked}."])

    def _repr_pretty_(self, printer, cycle):
        printer.text(str(self))

    def to_dicts(self) -> list[dict[str, str]]:
        """One for each fault: kind, where, text."""
        return [fault._asdict() for fault in self]


LETTERS = {"skip": "s", "branch": "B", "-": "-"}
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


def inner_product(a, b):
    """The sum of a * b over all elements, in double precision."""
    return float(np.vdot(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False)))


def by_token(a, b):
    """The sum of a * b over the last axis, in double precision."""
    return np.vecdot(a.astype(np.float64, copy=False), b.astype(np.float64, copy=False))


def relation(residual):
    """How skip and branch act together, in a few words that fit the shares beside them."""
    if not residual.skip.any() and not residual.branch.any():
        return "nothing arrives"
    if not residual.skip.any() or not residual.branch.any():
        return "branch alone" if residual.branch.any() else "skip alone"
    if abs(residual.cosine) <= 0.3:
        return "nearly at right angles"
    if residual.cosine > 0:
        return "they add up"
    if min(residual.skip_share, residual.branch_share) >= 0:
        return "they cancel in part"
    return "the branch opposes" if residual.branch_share < 0 else "the skip opposes"
