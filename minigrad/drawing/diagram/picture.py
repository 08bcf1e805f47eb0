"""`draw`, its options, and the picture that it returns: one view of a graph, in every format."""

import json
import re
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minigrad.drawing.colors import color_code
from minigrad.drawing.diagram.dot import dot_text
from minigrad.drawing.diagram.plain_text import mermaid_text, tree_text
from minigrad.drawing.diagram.renderer import RENDERED, NoRendererError, RendererError, render
from minigrad.drawing.view import View, view_to_read
from minigrad.files import check_place, write_whole
from minigrad.graph import Graph, Node
from minigrad.tensor import Tensor

TEXTS = {"dot": dot_text, "gv": dot_text, "mmd": mermaid_text, "txt": tree_text}
FORMATS = (*RENDERED, *TEXTS)
FONTS = 'font-family="Helvetica,Arial,sans-serif"'  # a viewer without Helvetica takes one of the same widths
SMALLEST, PLAIN = 8, 10  # points of the smallest text, and of all text in a plain picture
READABLE_PIXELS = 14  # on a slide
VALUES = ("auto", "numbers", "heatmap", "statistics", False)
DIRECTIONS = ("TB", "BT", "LR", "RL")
FLOWS = ("forward", "backward")


@dataclass(frozen=True)
class Look:
    """The options of a picture, see `minigrad.draw`.

    Raises:
        TypeError: `highlight` or `meanings` is not a mapping.
        ValueError: an option outside its possible values.
    """

    values: str | bool = "auto"
    grads: bool = True
    direction: str = "TB"
    flow: str = "forward"
    title: str | None = None
    legend: bool = True
    highlight: Mapping[Any, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    tooltips: bool = True
    size: tuple[float, float] | None = None
    is_plain: bool = False  # nodes say their name alone, arrows one number
    numbers: Mapping[Node, str] = field(default_factory=dict)  # what the stepper puts behind the names of nodes

    def __post_init__(self):
        for name, possible in (("values", VALUES), ("direction", DIRECTIONS), ("flow", FLOWS)):
            if getattr(self, name) not in possible:
                listed = ", ".join(repr(value) for value in possible)
                raise ValueError(f"draw: {name} is one of {listed}; got {getattr(self, name)!r}")
        for name, keys in (("highlight", "{tensor: 'red'}"), ("meanings", "{'red': 'the first NaN'}")):
            if not isinstance(getattr(self, name), Mapping):
                raise TypeError(f"draw: {name} is a dict like {keys}; got {getattr(self, name)!r}")
        if self.size is not None and not is_size(self.size):
            raise ValueError(f"draw: size is (width, height) in pixels, such as (1280, 720); got {self.size!r}")
        for color in (*self.highlight.values(), *self.meanings):
            color_code(color)


class Picture:
    """A view of a graph with a look. It shows itself in a notebook.

    Attributes:
        view: what of the graph is seen.
        look: the options.
        limit: how many items may be laid out; None for any number.
        path: the file that it was last saved to; None if none.
    """

    def __init__(self, view: View, look: Look, limit: int | None = None):
        self.view = view
        self.look = look
        self.limit = limit
        self.path: Path | None = None

    def dot(self) -> str:
        """As DOT text, for Graphviz."""
        return dot_text(self.view, self.look)

    def mermaid(self) -> str:
        """As Mermaid text, for Markdown."""
        return mermaid_text(self.view, self.look)

    def text(self) -> str:
        """As an indented tree, for a terminal."""
        return tree_text(self.view, self.look)

    def svg(self) -> str:
        """As the text of an svg that shrinks with the page it is put into. Nodes have ids n0, n1 ..., arrows e0 ...

        Raises:
            NoRendererError: no Graphviz program.
            RendererError: the program failed.
            ValueError: more items than the limit.
        """
        svg = self.rendered("svg").decode().replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
        if self.look.size:
            svg = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', svg, count=2)
        return re.sub('font-family="[^"]*"', FONTS, svg)

    def rendered(self, format: str) -> bytes:
        if self.is_too_large():
            raise ValueError(
                f"draw: {len(self.view.items):,} nodes even with all boxes closed, more than the limit of "
                f"{self.limit:,}: put ops into scopes, write .dot, .mmd or .txt, or force it with limit=None"
            )
        return render(self.dot(), format)

    def is_too_large(self) -> bool:
        return self.limit is not None and len(self.view.items) > self.limit

    def content(self, format: str) -> bytes:
        """The bytes of a file in this format."""
        if format == "svg":
            return self.svg().encode()
        if format in RENDERED:
            return self.rendered(format)
        return (TEXTS[format](self.view, self.look) + "\n").encode()

    def save(self, path: str | Path) -> None:
        """Write it in the format that the suffix names, see `minigrad.draw`.

        The file is written whole or not at all. Without a program that draws the format, the DOT text is written
        instead, and a warning says how to get one.

        Raises:
            ValueError: another suffix, or more items than the limit.
            RendererError: the program failed; nothing is written.
            FileNotFoundError, IsADirectoryError: no such folder, or the path is one.
        """
        path = Path(path)
        format = path.suffix[1:].lower()
        if format not in FORMATS:
            raise ValueError(f"draw: the name of a picture ends in .{', .'.join(FORMATS)}; got {path.name!r}")
        check_place(path)
        try:
            content = self.content(format)
        except NoRendererError as error:
            path = path.with_suffix(".dot")
            content = self.content("dot")
            warnings.warn(f"{error}. Wrote {path} instead", stacklevel=3)
        write_whole(path, content)
        self.path = path

    def show(self) -> None:
        """Show it from anywhere in a notebook's cell; in a terminal, print it as text."""
        if "IPython" in sys.modules:
            sys.modules["IPython"].display.display(self)
        else:
            print(self.text())

    def _repr_mimebundle_(self, include=None, exclude=None):
        """What a notebook shows: the svg, or the text where it cannot be drawn."""
        if self.is_too_large():
            return {"text/plain": repr(self)}
        try:
            return {"image/svg+xml": self.svg(), "text/plain": self.text()}
        except RendererError as error:
            return {"text/plain": f"{self.text()}\n{error}"}

    def __repr__(self) -> str:
        return f"<Picture of {self.view.graph}, {len(self.view.items):,} shown>"


def draw(
    tensor: Tensor | Sequence[Tensor] | Graph,
    path: str | Path | None = None,
    depth: int | None = None,
    values: str | bool = "auto",
    grads: bool = True,
    direction: str = "TB",
    *,
    expand: str | Iterable[str] = (),
    flow: str = "forward",
    title: str | None = None,
    legend: bool = True,
    highlight: Mapping[Tensor, str] | None = None,
    meanings: Mapping[str, str] | None = None,
    limit: int | None = 1500,
    size: tuple[float, float] | None = None,
) -> Picture:
    """Draw how a tensor was made and, after `backward()`, the gradients that came back.

    Boxes are scopes, the boldest lines are the skips of residuals, and a legend says what everything else means.

    Args:
        tensor: the result whose graph is drawn, several of them (each input is drawn once), or a `Graph`.
        path: where to write it, by suffix: svg, png, pdf, dot, mmd (Mermaid) or txt. None writes nothing.
        depth: levels of boxes to open, counted inside the box that holds everything: 1 shows the parts of a block,
            or the blocks of a stack. None opens all, or of more than 100 nodes as many levels as keep to 100, and the
            picture says so.
        values: how arrays are shown: "numbers", "heatmap", "statistics", False for not at all, or "auto": by size,
            and only in a picture of up to 100 nodes.
        grads: whether gradients are shown, in the nodes and on the arrows.
        direction: where the arrows go: "TB" from top to bottom, "BT", "LR", "RL".
        expand: path of a box to open in addition, such as "blocks.3.attention", or several.
        flow: "forward" for arrows that follow the data, "backward" for arrows that follow the gradient.
        title: a line above the picture.
        legend: whether a legend is shown.
        highlight: colours of some tensors, as in ``{tensor: "red"}``: the border of their node, or of its closed box.
        meanings: what these colours mean, for the legend, as in ``{"red": "the first NaN"}``.
        limit: a picture of more items than this is drawn at the depth that fits, with a warning. None for no limit:
            with ``depth=None`` every op is drawn.

        size: (width, height) in pixels, such as ``(1280, 720)`` for a slide. The picture fills it, and leaves out the
            legend, the arrays, all but the names in nodes, and inner boxes, in this order, until its smallest text has
            14 pixels.

    Returns:
        Picture: it shows itself in a notebook, and has the texts: `svg()`, `dot()`, `mermaid()`, `text()`.

    Raises:
        TypeError: not a tensor; a depth or limit that is not a whole number; highlight or meanings that is not a dict.
        ValueError: an option, suffix, box or colour that does not exist; too many items at every depth.
        RuntimeError: the drawing program failed; nothing is written.
        FileNotFoundError, IsADirectoryError: no such folder, or the path is one.

    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> draw((x * x).sum())
    <Picture of <Graph of sum: 3 nodes, 3 edges>, 3 shown>
    """
    graph = tensor if isinstance(tensor, Graph) else Graph(tensor)
    view = view_to_read(limit, graph, depth, expand)
    if view.note and view.note.startswith("closed"):
        warnings.warn(f"draw: {view.note}", stacklevel=2)
    look = Look(values, grads, direction, flow, title, legend, highlight or {}, meanings or {})
    if size is not None:
        view, look = fitted(view, replace(look, size=size))
    picture = Picture(view, look, limit)
    if path is not None:
        picture.save(path)
    return picture


def is_size(size):
    return isinstance(size, (tuple, list)) and len(size) == 2 and all(0 < pixels < 1e5 for pixels in size)


def fitted(view, look):
    """The view and look with the most in them that can be read at `look.size`; warns if there is none."""
    for closer, plainer in less_and_less(view, look):
        try:
            layout = json.loads(render(dot_text(closer, replace(plainer, size=None, tooltips=False)), "json"))
        except NoRendererError:
            return view, look
        _, _, *natural = map(float, layout["bb"].split(","))
        pixels = (PLAIN if plainer.is_plain else SMALLEST) * min(
            asked / has for asked, has in zip(look.size, natural, strict=True)
        )
        if pixels >= READABLE_PIXELS:
            return closer, plainer
    warnings.warn(
        f"draw: at {look.size[0]:g} x {look.size[1]:g} pixels the smallest text has {pixels:.0f}: draw a part of the "
        f"graph (one block's output), or turn the picture with direction",
        stacklevel=3,
    )
    return closer, plainer


def less_and_less(view, look):
    """The picture as it was asked for, then with less and less in it."""
    yield view, look
    for part in ({"legend": False}, {"values": False}, {"is_plain": True}):
        look = replace(look, **part)
        yield view, look
    deepest = max((box.depth for box in view.graph.boxes), default=0)
    for depth in range(min(deepest, deepest if view.depth is None else view.depth) - 1, 0, -1):
        yield View(view.graph, depth), look


def to_dot(graph, depth=None, expand=(), **look):
    """The picture of a graph as DOT text, whatever its size; options as in `minigrad.draw`.

    >>> from minigrad import Graph
    >>> x = Tensor(3.0, requires_grad=True, name="x")
    >>> Graph(x * x).to_dot().count("n0 -> n1")
    2
    """
    return dot_text(View(graph, depth, expand), Look(**look))
