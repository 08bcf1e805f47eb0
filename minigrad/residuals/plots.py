"""Plots of the gradient with matplotlib: its norm from residual to residual, and its path lengths.

They are made without pyplot, so they need no display and leave no figure open. In a notebook, a figure that is returned
shows itself after `%matplotlib inline`.
"""

import io
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from minigrad.arrays import norm
from minigrad.drawing.colors import BRANCH, SERIES, SKIP, TOTAL
from minigrad.drawing.files import check_place, write_whole
from minigrad.residuals.tables import GradientPaths, ResidualGradients, share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_NAMES = 24  # up to so many residuals are named on the axis; with more they are numbered


def plot_residual_gradients(residuals: ResidualGradients, path: str | Path | None = None) -> "Figure":
    """The gradient's norm at the input of each residual, with skip and branch apart.

    Args:
        residuals: from `residual_gradients`.
        path: a file to write; the suffix decides the format (png, svg, pdf). None writes nothing.

    Returns:
        matplotlib.figure.Figure

    Raises:
        ImportError: matplotlib is not installed; the message says how to install it.
        TypeError: `residuals` does not come from `residual_gradients`.
        ValueError: there is no residual to plot.
    """
    check_type(residuals, ResidualGradients, "residual_gradients(loss, x)")
    if not residuals:
        raise ValueError("plot_residual_gradients: there is no residual between the loss and x, so nothing to plot")
    figure, (axes,) = new_figure(1)
    places = np.arange(1, len(residuals) + 1)
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
    if len(residuals) <= MOST_NAMES:
        axes.set_xticks(places, [residual.name for residual in residuals], rotation=30, ha="right", fontsize=8)
        axes.set_xlabel("residual, from the input (left) to the output (right)")
    else:
        axes.set_xlim(0.5, len(residuals) + 0.5)
        axes.set_xlabel("number of the residual, from the input (left) to the output (right)")
    axes.legend(frameon=False)
    caption(
        figure,
        "Each place on the axis is one residual h + f(h): the norm of what came to h over its skip, through its branch "
        "f, and in total. Norms do not add up where skip and branch point in different directions.",
    )
    return saved(figure, path)


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
    figure.supxlabel(fill(sentence, 112), fontsize=9, color="#444444")


def saved(figure, path):
    """The figure, after writing it to `path` if there is one: whole or not at all."""
    if path is not None:
        check_place(Path(path))
        content = io.BytesIO()
        figure.savefig(content, format=Path(path).suffix[1:] or "png", dpi=150)
        write_whole(path, content.getvalue())
    return figure
