"""The picture of a block or stack with the share of each skip and branch on its arrows."""

from pathlib import Path
from typing import Any

from blocks.gradient_paths import split_by_residual
from blocks.gradient_tables import number
from minigrad import Graph, Tensor, draw
from minigrad.arrays import TensorLike
from minigrad.drawing import Picture
from minigrad.drawing.collapse import outer_depth
from minigrad.ops.residual import ResidualAdd


def draw_residual_gradients(
    loss: Tensor,
    x: Tensor,
    path: str | Path | None = None,
    depth: int | None = None,
    grad: "TensorLike | None" = None,
    **options: Any,
) -> Picture:
    """Draw how `loss` was made, and write on the two arrows into each residual how much of the gradient came that way.

    A share is that of `residual_gradients`: of the gradient at the residual's input, the part that came over its skip
    or through its branch. The two sum to 100%; one of them is negative if the other outweighs it. As in every picture,
    the other numbers are norms of gradients, and they are there after `loss.backward()`.

    Args:
        loss, x, grad: as in `residual_gradients`.
        path: the file to write, see `minigrad.draw`.
        depth: levels of boxes to open; by default just so many that the residuals can be seen.
        options: the others of `minigrad.draw`; arrays are left out unless `values` asks for them.

    Returns:
        A `Picture`, which shows itself in a notebook.

    Raises:
        ValueError: as `residual_gradients` and `minigrad.draw` do, and if there is no residual between the two.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block()
    >>> draw_residual_gradients((block(x) ** 2).sum(), x)
    <Picture of <Graph of sum: ... nodes, ... edges>, ... shown>
    """
    residuals = split_by_residual(loss, x, grad)
    if not residuals:
        raise ValueError("draw_residual_gradients: there is no residual between the loss and x, so no share to show")
    graph = Graph(loss)
    for edge in graph.edges:
        residual = residuals.get(edge.target.op)
        if residual is not None:
            skips = edge.index == ResidualAdd.SKIP
            share = residual.skip_share if skips else residual.branch_share
            edge.note = f"{'skip' if skips else 'branch'} {number(share, '.0%')}"
    if depth is None:
        depth = max(len(residual.scope) for residual in residuals) + 1 - outer_depth(graph)
    options.setdefault("values", False)
    options.setdefault("title", "Share of the gradient at each residual's input that came over skip and branch")
    return draw(graph, path, depth, **options)
