"""Where things stand in a picture: Graphviz lays a view out, and a page draws it.

Only places are taken from Graphviz. So the page can light a node, open a box and change its colours, and one graph
can be in the page in many views, each of them small.
"""

import json
import re

from minigrad.drawing.diagram.dot import dot_text
from minigrad.drawing.diagram.picture import Look
from minigrad.drawing.diagram.renderer import RendererError, render
from minigrad.drawing.labels import details_of
from minigrad.drawing.view import View, outer_depth

MOST_ITEMS = 400  # a picture with more of them is no help, and Graphviz needs long for it
BLANKS = re.compile(r"\s*")


def layouts(graph, numbers):
    """The pictures that a page can show of a graph, in which `numbers` stand behind the names of nodes.

    Returns:
        (pictures, n_levels, picture_of): the first `n_levels` pictures have all boxes open down to some level, the
        most open one last. The others have one box open, with whatever is beside it closed; `picture_of` gives their
        place by the path of that box. A picture that would be too large is left out.

    Raises:
        RendererError: no Graphviz program, or one that failed.
    """
    levels = small([View(graph, depth) for depth in depths(graph)])
    paths = list(dict.fromkeys(box.path for box in graph.boxes))
    opened = {path: View(graph, expand=path) for path in paths}
    paths = [path for path in paths if small([opened[path]])]
    views = levels + [opened[path] for path in paths]

    pictures = drawn(views, numbers) if views else []
    return pictures, len(levels), {path: len(levels) + i for i, path in enumerate(paths)}


def drawn(views, numbers):
    """The layouts of these views, from one run of the program."""
    look = Look(values=False, grads=False, legend=False, tooltips=False, numbers=numbers)
    answer = render("".join(dot_text(view, look) for view in views), "json").decode(errors="replace")
    try:
        return [layout(view, places) for view, places in zip(views, read_all(answer), strict=True)]
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:  # no layout
        raise RendererError(
            f"the program that draws gave no layout of {len(views)} graphs, but {answer[:60]!r}"
        ) from error


def depths(graph):
    """The depths at which a picture of the graph looks different, None for all boxes open."""
    outer = outer_depth(graph)
    deepest = max((box.depth for box in graph.boxes), default=0)
    return [*range(0 if outer else 1, deepest - outer + 1), None]


def small(views):
    return [view for view in views if len(view.items) <= MOST_ITEMS]


def read_all(text):
    """The JSON objects that stand one after the other in a text."""
    text = text.rstrip()
    decoder, found, place = json.JSONDecoder(), [], 0
    while place < len(text):
        value, place = decoder.raw_decode(text, BLANKS.match(text, place).end())
        found.append(value)
    return found


def layout(view, drawn):
    """The places in one picture, in points from its upper left corner.

    Returns:
        size: [width, height]
        items: {id: [x, y, width, height]} of nodes and closed boxes, (x, y) being the centre
        closed: {id: lines of text} of closed boxes
        open: {id: [left, top, width, height]} of open boxes
        arrows: for each its edges, and the points of its curve (Bezier: start, then three for each piece), the tip last
    """
    _, _, width, height = map(float, drawn["bb"].split(","))
    flip = Flip(height)
    items, opened = {}, {}
    for thing in drawn.get("objects", ()):
        if "bb" in thing:
            left, bottom, right, top = map(float, thing["bb"].split(","))
            opened[thing["id"]] = [round(left), flip.y(top), round(right - left), round(top - bottom)]
        else:
            size = [round(72 * float(thing["width"])), round(72 * float(thing["height"]))]
            items[thing["id"]] = [*flip.point(thing["pos"]), *size]
    curves = {edge["id"]: flip.curve(edge["pos"]) for edge in drawn.get("edges", ())}
    arrows = [{"edges": [edge.id for edge in arrow.edges], "curve": curves[arrow.id]} for arrow in view.arrows]
    closed = {box.id: [line for line in details_of(view, box) if line] for box in view.contents}
    return {"size": [round(width), round(height)], "items": items, "closed": closed, "open": opened, "arrows": arrows}


class Flip:
    """From Graphviz's y, which grows upwards, to that of a page."""

    def __init__(self, height):
        self.height = height

    def y(self, y):
        return round(self.height - float(y))

    def point(self, text):
        x, y = text.split(",")[-2:]
        return [round(float(x)), self.y(y)]

    def curve(self, text):
        """Graphviz writes the tip first, behind an `e`."""
        tip, *points = text.split()
        return [coordinate for point in (*points, tip) for coordinate in self.point(point)]
