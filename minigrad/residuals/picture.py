"""Pictures of a block or stack: the share of each skip and branch on its arrows, and what each residual wrote."""

from pathlib import Path
from typing import Any

from minigrad.drawing import Picture, draw
from minigrad.drawing.colors import NEGATIVE, POSITIVE
from minigrad.drawing.diagram.picture import Look
from minigrad.drawing.labels import number_text
from minigrad.drawing.view import View, outer_depth
from minigrad.graph import Graph
from minigrad.ops.residual import ResidualAdd
from minigrad.precision import norm
from minigrad.residuals.split import Between
from minigrad.residuals.stream import residual_stream
from minigrad.residuals.tables import share
from minigrad.tensor import Tensor


def draw_residual_gradients(
    loss: Tensor, x: Tensor | None = None, path: str | Path | None = None, depth: int | None = None, **options: Any
) -> Picture:
    """Draw how `loss` was computed, with the share of the gradient that came over each skip and each branch.

    Call `loss.backward()` before. The shares are written on the arrows that leave a residual's input. A share is the
    component of what its arrow delivered along the sum of all of them, as in `residual_gradients`: they sum to 100%,
    and one that opposes the others is negative. A residual whose skip was scaled or projected on its way parts further
    back, where no arrow is the skip alone; it is drawn without shares.

    Args:
        loss, x: the shares are those of the residuals between these two; x as in `residual_gradients`.
        path: the file to write, see `minigrad.draw`; None writes nothing.
        depth: levels of boxes to open; by default as few as show the residuals.
        options: the others of `minigrad.draw`. By default the arrows follow the gradient, from the loss down to x, and
            arrays are left out.

    Returns:
        A `Picture`, which shows itself in a notebook.

    Raises:
        ValueError: as `minigrad.draw` does, and if there is no residual between the two.
        RuntimeError: no gradients were kept, because `loss.backward()` was not called.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block()
    >>> loss = (block(x) ** 2).sum()
    >>> loss.backward()
    >>> draw_residual_gradients(loss, x)
    <Picture of <Graph of sum: ... nodes, ... edges>, ... shown>
    """
    between = Between(loss, x)
    residuals = between.residuals
    if not residuals:
        raise ValueError(
            "draw_residual_gradients: there is no residual between the loss and x, so there is no share to show"
        )
    graph = Graph(loss)
    for residual, parting in between.partings().items():
        if parting is residual.inputs[ResidualAdd.SKIP]:
            write_shares(graph, parting)
    if depth is None:
        depth = max(len(residual.scope) for residual in residuals) + 1 - outer_depth(graph)
    options = {
        "values": False,
        "flow": "backward",
        "title": "Gradient by skip and branch",
        **options,
    }
    return draw(graph, path, depth, **options)


def draw_residual_stream(
    loss: Tensor,
    x: Tensor | None = None,
    path: str | Path | None = None,
    depth: int | None = None,
    *,
    norm_scale: str = "true",
    **options: Any,
) -> Picture:
    """Draw how `loss` was computed, with what each residual wrote into the stream and the effect of that.

    The residuals where a write raises the loss have an orange border, those where it lowers the loss a blue one.

    Args:
        loss, x, norm_scale: as in `residual_stream`.
        path, depth: as in `draw_residual_gradients`.
        options: title, legend, values, grads, direction and flow of `minigrad.draw`.

    Raises:
        ValueError: as `residual_stream` and `minigrad.draw` do.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block("pre")
    >>> draw_residual_stream((block(x) ** 2).sum())
    <Picture of <Graph of sum: ... nodes, ... edges>, ... shown>
    """
    between = Between(loss, x)
    stream = residual_stream(loss, between.x, norm_scale=norm_scale)
    graph = Graph(loss)
    numbers, highlight = {}, {}
    nodes = {node.op: node for node in graph.nodes if node.op is not None}
    for residual, write in zip(between.residuals, stream, strict=True):
        numbers[nodes[residual]] = f": wrote {number_text(norm(write.written))}, effect {write.effect:+.3g}"
        highlight[nodes[residual].tensor] = POSITIVE if write.effect > 0 else NEGATIVE
    if depth is None:
        depth = max((len(residual.scope) for residual in between.residuals), default=0) + 1 - outer_depth(graph)
    look = {
        "values": False,
        "grads": False,
        "title": "What each residual wrote into the stream, and its effect on the loss",
        "meanings": {POSITIVE: "this write raises the loss", NEGATIVE: "this write lowers the loss"},
        **options,
    }
    picture = Picture(View(graph, depth), Look(numbers=numbers, highlight=highlight, **look))
    if path is not None:
        picture.save(path)
    return picture


def write_shares(graph, tensor):
    """Give each arrow from `tensor` to a consumer its share of the gradient that arrives at `tensor`."""
    arrows = [edge for edge in graph.edges if edge.source.tensor is tensor and tensor.requires_grad]
    if any(edge.gradient is None for edge in arrows if edge.is_skip):
        raise RuntimeError(
            "draw_residual_gradients: no gradients were kept; call loss.backward() before. If it ran with "
            "retain_grads=False, which keeps no gradient but those of leaves, call it again without"
        )
    arrows = [edge for edge in arrows if edge.gradient is not None]
    whole = sum(edge.gradient for edge in arrows)
    for edge in arrows:
        edge.share = share(edge.gradient, whole)
