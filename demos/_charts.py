"""What the demos draw: a bar chart of text, and a plot if matplotlib is installed."""

from contextlib import suppress
from math import log10

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
