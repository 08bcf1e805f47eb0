"""What a picture shows of a graph: which boxes are closed, and the arrows between the items that remain visible."""

from collections.abc import Iterable
from numbers import Integral

from minigrad.drawing.labels import clean
from minigrad.graph import Box, Graph, Node, ancestors, common_box

READABLE = 100  # nodes and closed boxes; beyond, one looks for one's node instead of at the picture


class Arrow:
    """One line of the picture: one edge, or all edges by which a tensor enters a closed box.

    Attributes:
        id: that of its first edge.
        start, end: the node or closed box at either end, in the direction of the data.
        edges: what it stands for; all have the same source tensor.
        way: "skip" or "branch" if it leads into a residual addition, else None.
    """

    def __init__(self, start, end, edge):
        self.id = edge.id
        self.start = start
        self.end = end
        self.edges = [edge]
        self.way = edge.way if isinstance(end, Node) else None

    @property
    def is_skip(self):
        return self.way == "skip"

    @property
    def tensor(self):
        return self.edges[0].source.tensor

    @property
    def gradient(self):
        """What came back along it: the sum over its edges; None if nothing was computed."""
        delivered = [edge.gradient for edge in self.edges if edge.gradient is not None]
        return sum(delivered[1:], delivered[0]) if delivered else None

    @property
    def share(self):
        """How much of the gradient at its start came along it: the sum over its edges; None where none was set."""
        shares = [edge.share for edge in self.edges if edge.share is not None]
        return sum(shares) if shares else None

    def __repr__(self):
        return f"<arrow {self.id} {self.start} -> {self.end}>"


class View:
    """A graph with some of its boxes closed.

    Args:
        graph: the whole.
        depth: how many levels of boxes are seen, counted inside the box that holds everything with a scope: 1 shows
            the parts of a block, or the blocks of a stack; 0 closes that box too. A box of one op stays closed, since
            its name says more than the op. None opens all.
        expand: path of a box, or several, to be opened whatever the depth; its end is enough ("attention").

    Attributes:
        items: the nodes and closed boxes that are seen, from the inputs to the output.
        arrows: the lines between them.
        contents: for each closed box, the nodes in it.
        note: a remark to show under the title; None if there is none.

    Raises:
        TypeError: a depth that is not a whole number.
        ValueError: a negative depth, or no box of that path.
    """

    def __init__(self, graph: Graph, depth: int | None = None, expand: str | Iterable[str] = ()) -> None:
        check_count("depth", depth)
        if depth is not None and depth < 0:
            raise ValueError(f"depth is 0 or more, or None for everything; got {depth}")
        expand = [expand] if isinstance(expand, str) else list(expand)
        self.graph = graph
        self.depth = 1 if depth is None and expand else depth
        self.note: str | None = None
        self.contents: dict[Box, list[Node]] = {}
        self.arrows: list[Arrow] = []
        self.closed = self.closed_boxes(expand)
        self.items = self.visible_items()
        self.add_arrows()
        self.box_results = self.results_of_boxes()

    def closed_boxes(self, expand):
        """For each box the outermost closed one around it, or itself; None if it can be seen open."""
        opened = {box for path in expand for found in boxes_at(self.graph, path) for box in ancestors(found)}
        outer = outer_depth(self.graph)
        n_ops = ops_in_boxes(self.graph)
        closed = {None: None}
        for box in self.graph.boxes:
            closes = False
            if self.depth is not None and box not in opened:
                closes = box.depth >= max(1, outer + self.depth) or (n_ops[box] == 1 and box.depth > outer)
            closed[box] = closed[box.parent] or (box if closes else None)
        return closed

    def item_of(self, node):
        """The node itself, or the closed box that hides it."""
        return self.closed[node.box] or node

    def visible_items(self):
        items = {}
        for node in self.graph.nodes:
            item = self.item_of(node)
            items[item] = True
            if isinstance(item, Box):
                self.contents.setdefault(item, []).append(node)
        return list(items)

    def add_arrows(self):
        into_boxes = {}
        for edge in self.graph.edges:
            start, end = self.item_of(edge.source), self.item_of(edge.target)
            if start is end:
                continue
            if isinstance(end, Box) and (edge.source, end) in into_boxes:
                into_boxes[edge.source, end].edges.append(edge)
                continue
            arrow = Arrow(start, end, edge)
            self.arrows.append(arrow)
            if isinstance(end, Box):
                into_boxes[edge.source, end] = arrow

    def results_of_boxes(self):
        results = {box: {} for box in self.contents}
        for arrow in self.arrows:
            if arrow.start in results:
                results[arrow.start][arrow.tensor] = True
        for output in self.graph.outputs:
            item = self.item_of(self.graph.node_of[output])
            if item in results:
                results[item][output] = True
        return {box: list(tensors) for box, tensors in results.items()}

    def results(self, item):
        """The tensors of an item that are seen from outside: read by other items, or the output of the graph."""
        if isinstance(item, Node):
            return [item.tensor]
        return self.box_results[item]

    def outline(self):
        """Enter and leave the open boxes from the outside in; yields ("enter", box), ("item", item), ("leave", box)."""
        children = {None: []}
        for item in self.items:
            inner, outer = item, item.box if isinstance(item, Node) else item.parent
            while outer not in children:
                children[outer] = [inner]
                inner, outer = outer, outer.parent
            children[outer].append(inner)

        entered = [(None, iter(children[None]))]
        while entered:
            box, rest = entered[-1]
            child = next(rest, None)
            if child is None:
                entered.pop()
                if box is not None:
                    yield "leave", box
            elif child in children:
                entered.append((child, iter(children[child])))
                yield "enter", child
            else:
                yield "item", child


def check_count(name, value):
    if value is not None and not isinstance(value, Integral):
        raise TypeError(f"draw: {name} is a whole number, or None for everything; got {value!r}")


def view_to_read(limit, graph, depth=None, expand=()):
    """The view asked for; where none was, and all nodes are too many to be read, as many levels as can be.

    A view of more than `limit` items is closed as `view_within` does it. Without a limit nothing is closed.
    """
    check_count("limit", limit)
    if limit is not None and limit >= READABLE < len(graph.nodes) and depth is None and not expand:
        view = deepest_within(READABLE, graph, View(graph))
        if view.contents and len(view.items) <= READABLE:
            largest = max(view.contents, key=lambda box: len(view.contents[box]))
            view.note = (
                f"depth={view.depth}, since all {len(graph.nodes):,} nodes could not be read: depth={view.depth + 1} "
                f'opens one level more, expand="{clean(largest.path)}" one box, limit=None all'
            )
            return view
    return view_within(limit, graph, depth, expand)


def view_within(limit, graph, depth=None, expand=()):
    """The view asked for or, if that has more than `limit` items, the deepest that has not, with a note.

    If no depth helps, it is the view of depth 0.
    """
    check_count("limit", limit)
    wanted = View(graph, depth, expand)
    if limit is None or len(wanted.items) <= limit:
        return wanted
    view = deepest_within(limit, graph, wanted, expand)
    if len(view.items) < len(wanted.items):
        view.note = (
            f"closed at depth {view.depth}: {len(wanted.items):,} nodes are more than {limit:,}; limit=None draws all"
        )
    return view


def deepest_within(limit, graph, wanted, expand=()):
    """The deepest view of at most `limit` items that opens no more than `wanted`; that of depth 0 if there is none."""
    levels = max((box.depth for box in graph.boxes), default=0) - outer_depth(graph)
    view = View(graph, 0, expand)
    for level in range(1, min(levels, wanted.depth or levels) + 1):
        deeper = View(graph, level, expand)
        if len(deeper.items) > limit:
            break
        view = deeper
    return view


def kind_shown(item):
    """What a node or closed box is shown as: "residual" and "closed" besides the kinds of `Node`."""
    if isinstance(item, Box):
        return "closed"
    return "residual" if item.is_residual else item.kind


def outer_depth(graph):
    """Depth of the innermost box around everything that is in a box; 0 if there is none."""
    boxes = [node.box for node in graph.nodes if node.box is not None]
    common = common_box(boxes) if boxes else None
    return common.depth if common else 0


def ops_in_boxes(graph):
    """How many ops there are in each box and in those inside of it."""
    n_ops = dict.fromkeys(graph.boxes, 0)
    for node in graph.nodes:
        if node.op is not None and node.box is not None:
            n_ops[node.box] += 1
    for box in reversed(graph.boxes):  # the inner before the outer
        if box.parent is not None:
            n_ops[box.parent] += n_ops[box]
    return n_ops


def boxes_at(graph, path):
    """The boxes whose path is `path` or ends in it."""
    found = [box for box in graph.boxes if f".{box.path}".endswith(f".{path}")]
    if not found:
        known = ", ".join(dict.fromkeys(box.path for box in graph.boxes)) or "none: nothing was recorded in a scope"
        raise ValueError(f"expand: no box {path!r} in this graph; its boxes are {known}")
    return found
