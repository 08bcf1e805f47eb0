"""Attention as a picture: a heat map for each head."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from blocks.trace import Trace
from minigrad.drawing.colors import LIGHT, NEGATIVE, POSITIVE
from minigrad.residuals.plots import saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_attention(
    trace: Trace,
    path: str | Path | None = None,
    *,
    labels: Sequence[str] | None = None,
    block: int | None = None,
    sample: int = 0,
) -> Figure:
    """The attention weights of each head as a heat map, query by key; and under them their gradients, if there are any.

    Colours are those of the page: a weight runs from white, 0, to orange, 1. A gradient is orange where more weight
    would raise the loss and blue where it would lower it, on one scale for all heads of a block. A weight that a mask
    holds at 0 has a gradient too, which gets no further than the mask.

    Args:
        trace: from `model.trace(tokens)`; gradients are there after a backward pass.
        path: a file to write; the suffix decides the format (png, svg, pdf). None writes nothing.
        labels: a text for each token, T of them; by default the tokens' numbers.
        block: the number of the block to show; None shows all.
        sample: which sequence of a batch.

    Returns:
        matplotlib.figure.Figure

    Raises:
        ImportError: matplotlib is not installed; the message says how to install it.
        TypeError: `trace` does not come from `model.trace`.
        IndexError: no such block or sequence.
        ValueError: another number of labels than of tokens.
    """
    try:
        from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415  here, so that a trace needs no matplotlib
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    if not isinstance(trace, Trace):
        raise TypeError(f"plot_attention: this plot is made from model.trace(tokens); got {type(trace).__name__}")
    tokens = trace.tokens.reshape(-1, trace.tokens.shape[-1])  # (B, T)
    if not -len(tokens) <= sample < len(tokens):
        raise IndexError(f"plot_attention: there are {len(tokens)} sequences; got sample={sample}")
    labels = [str(token) for token in tokens[sample]] if labels is None else list(labels)
    if len(labels) != tokens.shape[-1]:
        raise ValueError(f"plot_attention: {tokens.shape[-1]} tokens need as many labels; got {len(labels)}")
    rows = chosen_rows(trace, block, sample)
    n_heads = len(rows[0][1])
    figure = Figure(figsize=(1.2 + 2.4 * n_heads, 0.9 + 2.5 * len(rows)), layout="constrained")
    for axes_of_row, (title, heads, kind) in zip(figure.subplots(len(rows), n_heads, squeeze=False), rows, strict=True):
        largest = 1.0 if kind == "weight" else float(np.abs(heads).max()) or 1.0
        least, colors = (
            (0.0, [LIGHT["zero"], POSITIVE]) if kind == "weight" else (-largest, [NEGATIVE, LIGHT["zero"], POSITIVE])
        )
        scale = LinearSegmentedColormap.from_list(kind, colors)
        for i, (axes, head) in enumerate(zip(axes_of_row, heads, strict=True)):
            image = axes.imshow(head, cmap=scale, vmin=least, vmax=largest)
            axes.set_title(f"{title}, head {i}", fontsize=8)
            ticks = range(len(labels))
            axes.set_xticks(ticks, labels, rotation=90, fontsize=7)
            axes.set_yticks(ticks, labels if i == 0 else [], fontsize=7)
        axes_of_row[0].set_ylabel("query", fontsize=8)
        figure.colorbar(image, ax=list(axes_of_row), label="weight" if kind == "weight" else "dL/dweight")
    for axes in figure.axes[(len(rows) - 1) * n_heads : len(rows) * n_heads]:
        axes.set_xlabel("key", fontsize=8)
    return saved(figure, path)


def chosen_rows(trace, block, sample):
    """For each block its weights, and its gradients if there are any: (title, arrays (H, T, T), kind)."""
    names = [name for name in trace if name.endswith(".attention.weights")]
    if block is not None:
        names = [name for name in names if name.startswith(f"blocks.{block}.")]
    if not names:
        raise IndexError(f"plot_attention: the trace has no attention{'' if block is None else f' in block {block}'}")
    rows = []
    for name in names:
        weights = trace[name]
        title = name.removesuffix(".attention.weights")
        for kind, array in (("weight", weights.data), ("gradient", weights.grad)):
            if array is not None:
                rows.append((title, array.reshape(-1, *array.shape[-3:])[sample], kind))
    return rows
