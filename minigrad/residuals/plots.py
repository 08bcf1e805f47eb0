"""Plots with matplotlib: the gradient from residual to residual, its path lengths, what was written into the stream.

They are made without pyplot, so they need no display and leave no figure open. In a notebook, a figure that is returned
shows itself after `%matplotlib inline`.
"""

import io
import re
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from minigrad.drawing.colors import BRANCH, LIGHT, NEGATIVE, POSITIVE, SERIES, SKIP, TOTAL
from minigrad.files import check_place, write_whole
from minigrad.precision import norm
from minigrad.residuals.tables import GradientPaths, ResidualGradients, ResidualStream, share, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_TICKS = 24
MOST_NAMES = 8  # up to so many residuals are named in full on the axis; with more their blocks are numbered


def plot_residual_gradients(residuals: ResidualGradients, path: str | Path | None = None, by: str = "norm") -> "Figure":
    """The gradient's norm at the input of each residual, with skip and branch apart; or their shares, as bars.

    Args:
        residuals: from `residual_gradients`.
        by: "norm" for the norms as lines, "share" for a bar of skip and branch for each residual, which sum to 100%.
        path: a file to write; the suffix decides the format (png, svg, pdf). None writes nothing.

    Returns:
        matplotlib.figure.Figure

    Raises:
        ImportError: matplotlib is not installed; the message says how to install it.
        TypeError: `residuals` does not come from `residual_gradients`.
        ValueError: there is no residual to plot; `by` is another word.
    """
    check_type(residuals, ResidualGradients, "residual_gradients(loss, x)")
    if not residuals:
        raise ValueError("plot_residual_gradients: there is no residual between the loss and x, so nothing to plot")
    if by not in ("norm", "share"):
        raise ValueError(f'plot_residual_gradients: by is "norm" or "share"; got {by!r}')
    figure, (axes,) = new_figure(1)
    places = np.arange(1, len(residuals) + 1)
    if by == "share":
        plot_shares(axes, places, residuals)
        caption(
            figure,
            "Each bar is one residual h + f(h): how far what came to h over its skip, and through its branch f, goes "
            "along the whole gradient there. Both sum to 100 percent; a part that opposes the other is below 0.",
        )
        return saved(figure, path)
    for label, color, style, norms in (
        ("total", TOTAL, "-o", [norm(residual.total) for residual in residuals]),
        ("over the skip", SKIP, "--s", [norm(residual.skip) for residual in residuals]),
        ("through the branch", BRANCH, ":^", [norm(residual.branch) for residual in residuals]),
    ):
        axes.plot(places, norms, style, color=color, label=label, markersize=5)
    parts = np.array([(norm(residual.skip), norm(residual.branch)) for residual in residuals])
    if parts.min() > 0 and parts.max() > 20 * parts.min():
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_title("Gradient at the input of each residual")
    axes.set_ylabel("gradient norm |dL/dh|\n(loss per unit of h)")
    name_depths(axes, places, [residual.name for residual in residuals])
    axes.legend(frameon=False, ncols=3, loc="lower left", bbox_to_anchor=(0, 1.08))  # clear of the lines
    caption(
        figure,
        "Each place on the axis is one residual h + f(h): the norm of what came to h over its skip, through its branch "
        "f, and in total. Norms do not add up where skip and branch point in different directions.",
    )
    return saved(figure, path)


def plot_shares(axes, places, residuals):
    """For each residual the share of its skip, and on top of it that of its branch; what is negative hangs below 0."""
    skip = 100 * np.array([residual.skip_share for residual in residuals])
    branch = 100 * np.array([residual.branch_share for residual in residuals])
    start = np.where(np.sign(branch) == np.sign(skip), skip, 0)
    for label, color, shares, bottom in (("skip", SKIP, skip, 0), ("branch", BRANCH, branch, start)):
        axes.bar(places, shares, bottom=bottom, color=color, label=label, width=0.75)
    axes.axhline(0, color=TOTAL, linewidth=0.8)
    axes.set_title("Share of skip and branch in the gradient at each residual's input")
    axes.set_ylabel("share of the whole\n(percent)")
    name_depths(axes, places, [residual.name for residual in residuals])
    axes.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1.08))


def plot_path_lengths(paths: GradientPaths, path: str | Path | None = None) -> "Figure":
    """How much of the gradient passed how many branches, as two bar charts over the path length.

    Args:
        paths: from `gradient_paths(loss, x, by="length")`.
        path, returns, raises: as in `plot_residual_gradients`.
    """
    check_type(paths, GradientPaths, 'gradient_paths(loss, x, by="length")')
    if paths.by != "length":
        raise ValueError(f'plot_path_lengths: needs gradient_paths(loss, x, by="length"); got by={paths.by!r}')
    figure, (norms, shares) = new_figure(2)
    whole = sum(paths.values())
    lengths = list(paths)
    norms.bar(lengths, [norm(part) for part in paths.values()], color=SERIES[0], edgecolor=TOTAL, linewidth=0.5)
    norms.set_title("Gradient at the input, by path length")
    norms.set_ylabel("norm of the part\n(loss per unit of x)")
    shares.bar(
        lengths, [100 * share(part, whole) for part in paths.values()], color=SERIES[1], edgecolor=TOTAL, linewidth=0.5
    )
    shares.axhline(0, color=TOTAL, linewidth=0.8)
    shares.set_ylabel("share of the whole\n(percent)")
    shares.set_xlabel("path length: number of branches passed")
    shares.xaxis.get_major_locator().set_params(integer=True)
    caption(
        figure,
        "Each bar is the sum of all routes that pass that number of branches and take the skip at all other residuals. "
        "Above, its norm; below, its component along the whole gradient, which adds up to 100 percent.",
    )
    return saved(figure, path)


def plot_residual_stream(stream: ResidualStream, path: str | Path | None = None, by: str = "residual") -> "Figure":
    """What each residual wrote, as bars along depth: its effect on the loss, direct and through later branches.

    Args:
        stream: from `residual_stream`.
        path, returns, raises: as in `plot_residual_gradients`.
        by: "residual" for bars, with the norms of the stream and of what was written below; "token" for a heat map of
            the effect, residual by token (of the first sequence).
    """
    check_type(stream, ResidualStream, "residual_stream(loss)")
    if by not in ("residual", "token"):
        raise ValueError(f'plot_residual_stream: by is "residual" or "token"; got {by!r}')
    return plot_by_token(stream, path) if by == "token" else plot_by_residual(stream, path)


def plot_by_residual(stream, path):
    writes = [stream.start, *stream]
    places = np.arange(len(writes))
    figure, (effects, norms) = new_figure(2)
    effects.bar(places - 0.2, [write.direct for write in writes], 0.4, color=SKIP, label="direct, over skips alone")
    effects.bar(places + 0.2, [write.indirect for write in writes], 0.4, color=BRANCH, label="through later branches")
    effects.plot(places, [write.effect for write in writes], "_", color=TOTAL, markersize=12, label="sum: the effect")
    effects.axhline(0, color=TOTAL, linewidth=0.8)
    effects.set_title(f"What was written into the stream, and its effect (norm_scale={stream.norm_scale!r})")
    effects.set_ylabel("effect on the loss\nwritten . gradient")
    effects.legend(frameon=False, fontsize=8)
    norms.bar(places, [norm(write.written) for write in writes], 0.6, color=SERIES[0], label="|written|")
    norms.plot(places[1:], [norm(write.stream) for write in stream], "-o", color=TOTAL, markersize=4, label="|stream|")
    norms.set_ylabel("norm of what was written,\nand of the stream before")
    norms.legend(frameon=False, fontsize=8)
    name_depths(norms, places, [write.name for write in writes])
    caption(
        figure,
        "Each place on the axis is one write: above, by how much the loss would grow, to first order, if the write "
        "grew by its own size, and which way that comes about; below, how large the write is beside the stream.",
    )
    return saved(figure, path)


def plot_by_token(stream, path):
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415  as optional as matplotlib is

    writes = [stream.start, *stream]
    effects = np.stack([write.effect_by_token for write in writes])  # (n, ..., T)
    effects = effects.reshape(len(writes), -1, effects.shape[-1] if effects.ndim > 1 else 1)[:, 0]  # (n, T)
    n, T = effects.shape
    figure, (axes,) = new_figure(1)
    figure.set_size_inches(max(6, 3 + 0.4 * T), max(3.2, 1.8 + 0.28 * n))
    most = np.abs(effects).max() or 1.0
    colors = LinearSegmentedColormap.from_list("effect", [NEGATIVE, LIGHT["zero"], POSITIVE])
    image = axes.imshow(effects, cmap=colors, vmin=-most, vmax=most, aspect="auto")
    axes.grid(visible=False)
    axes.set_xticks(range(T))
    axes.set_yticks(range(n), [short(write.name) for write in writes], fontsize=8)
    axes.set_xlabel("position of the token")
    axes.set_title("Effect of each write on the loss, token by token")
    figure.colorbar(image, label="effect on the loss", pad=0.02)
    caption(
        figure,
        "Written at that token by that residual, times the gradient there: orange raises the loss, blue lowers it.",
    )
    return saved(figure, path)


def name_depths(axes, places, names):
    """Name the places on the axis; where they are many, number the blocks at their first residual, or the residuals."""
    blocks = [re.search(r"\bblocks\.(\d+)\.", name) for name in names]
    if len(names) > MOST_NAMES and all(blocks):
        numbers = [int(block[1]) for block in blocks]
        first = [i for i, number in enumerate(numbers) if i == 0 or number != numbers[i - 1]]
        shown = first[:: -(-len(first) // MOST_TICKS)]
        axes.set_xticks([places[i] for i in shown], [str(numbers[i]) for i in shown])
        axes.set_xlabel(f"number of the residual's block, from input to output{in_each(names)}")
    elif len(names) <= MOST_NAMES:
        axes.set_xticks(places, [short(name) for name in names], rotation=30, ha="right", fontsize=8)
        axes.set_xlabel("residual, from the input (left) to the output (right)")
    else:
        axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)
        axes.set_xlabel("number of the residual, from the input (left) to the output (right)")
        axes.xaxis.get_major_locator().set_params(integer=True)


def in_each(names):
    """The residuals of a block in words, where all blocks have the same.

    >>> in_each(["blocks.0.attention_residual", "blocks.0.feed_forward_residual", "blocks.1.attention_residual"])
    ': in each attention, then feed forward'
    """
    kinds = list(dict.fromkeys(re.sub(r"_residual$", "", name.rpartition(".")[2]).replace("_", " ") for name in names))
    return f": in each {', then '.join(kinds)}" if len(kinds) <= 3 else ""


def check_type(value, wanted, source):
    if not isinstance(value, wanted):
        raise TypeError(f"this plot is made from {source}; got {type(value).__name__}")


def new_figure(n_axes):
    """A figure with plots one below the other, over one horizontal axis."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  here, so that the tables need no matplotlib
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    figure = Figure(figsize=(8, 3.2 + 1.6 * n_axes), layout="constrained")
    axes = np.atleast_1d(figure.subplots(n_axes, sharex=True))
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.grid(axis="y", color="#dddddd")
        each.set_axisbelow(True)
    return figure, axes


def caption(figure, sentence):
    """Write under the figure what it shows."""
    figure.supxlabel(fill(sentence, int(14 * figure.get_figwidth())), fontsize=9, color="#444444")


def saved(figure, path):
    """The figure, after writing it to `path` if there is one: whole or not at all."""
    if path is not None:
        check_place(Path(path))
        content = io.BytesIO()
        figure.savefig(content, format=Path(path).suffix[1:] or "png", dpi=150)
        write_whole(path, content.getvalue())
    return figure
