"""A view as DOT text, the language of Graphviz."""

from minigrad.drawing.arrows import arrow_attributes, largest_norm
from minigrad.drawing.collapse import View
from minigrad.drawing.items import box_attributes, item_attributes
from minigrad.drawing.legend import caption
from minigrad.drawing.spoiled import spoiled_tensors
from minigrad.drawing.style import Look, color_code

HUGE = 500  # from so many items on, the layout is done in haste


def to_dot(graph, depth=None, expand=(), **look):
    """The picture of a graph as DOT text, whatever its size; options as in `minigrad.draw`.

    >>> from minigrad import Graph
    >>> x = Tensor(3.0, requires_grad=True, name="x")
    >>> Graph(x * x).to_dot().count("n0 -> n1")
    2
    """
    return dot_text(View(graph, depth, expand), Look(**look))


def dot_text(view, look):
    """A view as DOT text. Ids are synthetic, and every name goes into a label: nothing a user wrote is syntax."""
    import graphviz  # noqa: PLC0415  here, so that `import minigrad` loads NumPy alone

    spoiled = spoiled_tensors(view.graph) if look.values else set()
    dot = graphviz.Digraph("minigrad")
    dot.attr("graph", rankdir=look.direction, ranksep="0.25", nodesep="0.25", bgcolor="white")
    dot.attr("graph", fontname="Helvetica", label=caption(view, look, spoiled), labelloc="t", tooltip=" ")
    dot.attr("node", shape="box", fontname="Helvetica", fontsize="10", margin="0.08,0.07", height="0.2", width="0.3")
    dot.attr("edge", fontname="Helvetica", fontsize="8", arrowsize="0.7")
    if len(view.items) > HUGE:
        dot.attr("graph", nslimit="1", nslimit1="1")  # straighter lines are not worth minutes
    lit = highlighted(view, look)
    for event, thing in view.walk():
        if event == "enter":
            dot.body.append(f"subgraph cluster_{thing.id} {{\n")
            dot.attr(**box_attributes(thing))
        elif event == "leave":
            dot.body.append("}\n")
        else:
            dot.node(thing.id, **item_attributes(view, look, thing, spoiled, lit.get(thing)))

    largest = largest_norm(view)
    for arrow in view.arrows:
        ends = (arrow.start.id, arrow.end.id)
        dot.edge(*(ends if look.flow == "forward" else ends[::-1]), **arrow_attributes(look, arrow, largest))
    return dot.source


def highlighted(view, look):
    """The colour of each item that holds a highlighted tensor; the first one counts.

    Raises:
        ValueError: a tensor that is not in the graph.
    """
    lit = {}
    for tensor, color in look.highlight.items():
        node = view.graph.node_of.get(tensor)
        if node is None:
            raise ValueError(f"draw: cannot highlight {tensor!r}, which is not in {view.graph}")
        lit.setdefault(view.item_of(node), color_code(color))
    return lit
