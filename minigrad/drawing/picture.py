"""The picture that `draw` returns."""

import warnings
from pathlib import Path

from minigrad.drawing.collapse import View
from minigrad.drawing.dot import dot_text
from minigrad.drawing.files import check_place, write_whole
from minigrad.drawing.renderer import NoRendererError, find_renderer, render
from minigrad.drawing.style import Look
from minigrad.graph import Graph

RENDERED = ("svg", "png", "pdf")
WRITTEN = ("dot", "gv")


class Picture:
    """A graph as it was asked for; it shows itself in a notebook.

    Attributes:
        view: what of the graph is seen.
        look: the options.
        path: the file that `draw` wrote; None if none.
    """

    def __init__(self, view, look):
        self.view = view
        self.look = look
        self.path = None

    def dot(self):
        """As DOT text."""
        return dot_text(self.view, self.look)

    def svg(self):
        """As the text of an svg. It keeps to the width of the page that it is put into.

        Raises:
            NoRendererError: no Graphviz program.
        """
        text = render(self.dot(), "svg").decode()
        return text.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)

    def save(self, path):
        """Write it in the format that the suffix names, and return the path.

        Raises:
            ValueError: a suffix that is no format.
            NoRendererError: no Graphviz program, or none that writes this format.
            FileNotFoundError, IsADirectoryError: no such folder, or it is one.
        """
        path = Path(path)
        format = path.suffix[1:].lower()
        check_place(path)
        if format == "svg":
            content = self.svg().encode()
        elif format in RENDERED:
            content = render(self.dot(), format)
        elif format in WRITTEN:
            content = self.dot().encode()
        else:
            raise ValueError(f"draw: {path.name!r} must end in one of .{', .'.join(RENDERED + WRITTEN)}")
        write_whole(path, content)
        self.path = path
        return path

    def _repr_mimebundle_(self, include=None, exclude=None):
        """For notebooks: the svg, and the text for where it cannot be shown."""
        bundle = {"text/plain": repr(self)}
        if find_renderer() is not None:
            bundle["image/svg+xml"] = self.svg()
        return bundle

    def __repr__(self):
        return f"<Picture of {self.view.graph}, {len(self.view.items):,} shown>"


def draw(
    tensor,
    path=None,
    depth=None,
    values="auto",
    grads=True,
    direction="TB",
    *,
    expand=(),
    flow="forward",
    title=None,
    legend=True,
    highlight=None,
    meanings=None,
):
    """Draw how a tensor was made, and the gradients if there are any."""
    graph = tensor if isinstance(tensor, Graph) else Graph(tensor)
    look = Look(values, grads, direction, flow, title, legend, dict(highlight or {}), dict(meanings or {}))
    picture = Picture(View(graph, depth, expand), look)
    if path is None:
        return picture
    try:
        picture.save(path)
    except NoRendererError as error:
        picture.save(Path(path).with_suffix(".dot"))
        warnings.warn(f"{error}. Wrote {picture.path} instead", stacklevel=2)
    return picture
