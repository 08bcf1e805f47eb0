"""What the demos draw: a bar chart of text, and a plot if matplotlib is installed."""

from contextlib import suppress
from math import log10

from minigrad.drawing.colors import SERIES
from minigrad.residuals.plots import caption, new_figure, saved

WIDTH = 40


def print_bars(title, bars, full=None):
    """One line for each (label, value, text), with a bar as long as the value; a value of `full` fills the line."""
    print(title)
    longest = max(len(str(label)) for label, _, _ in bars)
    full = full or max(value for _, value, _ in bars)
    for label, value, text in bars:
        bar = "#" * round(WIDTH * value / full)
        print(f"  {label!s:>{longest}} {bar:{WIDTH}} {text}")


def print_log_bars(title, bars, low, high):
    """The same on a logarithmic scale, which begins at `low` and ends at `high`."""
    length = log10(high / low)
    print_bars(title, [(label, log10(value / low) / length, text) for label, value, text in bars], 1.0)


def save_plot(plot, path, *arguments):
    """Run `plot(*arguments, path)` if matplotlib is installed, and print where the plot is."""
    with suppress(ImportError):
        plot(*arguments, path)
        print(f"\nPlot: {path}")


def plot_by_depth(title, y_label, sentence, curves, path):
    """Curves over the number of blocks, both axes logarithmic, with one standard error up and down.

    Args:
        curves: (label, depths, values, errors) for each.
    """
    figure, (axes,) = new_figure(1)
    styles = ("-o", "--s", ":^", "-.D")  # which tell the curves apart without colours, too
    for (label, depths, values, errors), style, color in zip(curves, styles, SERIES, strict=False):
        axes.errorbar(depths, values, errors, fmt=style, color=color, label=label, capsize=3, markersize=5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(curves[0][1], [str(depth) for depth in curves[0][1]])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}" if max(axes.get_ylim()) < 30 * min(axes.get_ylim()) else "")
    axes.set_title(title)
    axes.set_xlabel("depth: number of blocks")
    axes.set_ylabel(y_label)
    axes.legend(frameon=False)
    caption(figure, sentence)
    return saved(figure, path)
