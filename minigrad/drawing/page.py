"""What the step-through page knows of a graph, as plain lists and dicts for its JSON.

Nodes, edges and boxes are found by the ids of `minigrad.Graph`; arrays, rules and pictures by their place in a list.
"""

import inspect
import math
import textwrap
from pathlib import Path

import numpy as np

from minigrad.arrays import norm
from minigrad.drawing.arrows import strength
from minigrad.drawing.collapse import View
from minigrad.drawing.formulas import rule_of
from minigrad.drawing.layout import layouts
from minigrad.drawing.page_arrays import PageArrays, grain_for
from minigrad.drawing.passes import gradient_steps
from minigrad.drawing.renderer import RendererError
from minigrad.drawing.spoiled import spoiled_tensors
from minigrad.drawing.style import kind_of
from minigrad.drawing.words import clean, details_of, place_text, shape_text, title_of
from minigrad.graph import Graph
from minigrad.ops.residual import WAYS

MOST_NODES = 5_000


def page_data(output, title=None):
    """All that a page shows of the way from the leaves to `output` and back.

    Raises:
        ValueError: more nodes than a person steps through.
    """
    graph = Graph(output)
    if len(graph.nodes) > MOST_NODES:
        raise ValueError(
            f"write_stepper: this graph has {len(graph.nodes):,} nodes, and a page to step through has at most "
            f"{MOST_NODES:,}: write it for a tensor nearer to the inputs, or draw(tensor, depth=1) the whole"
        )
    walked = list(gradient_steps(output))
    tensors = [node.tensor.data for node in graph.nodes]
    gradients = [array for step in walked for array in (step.grad_output, *step.grad_inputs) if array is not None]
    arrays = PageArrays(*grain_for(tensors + gradients))
    numbers = numbers_behind(graph)
    try:
        (pictures, n_levels, picture_of), no_picture = layouts(graph, numbers), None
    except RendererError as error:
        (pictures, n_levels, picture_of), no_picture = ([], 0, {}), clean(error, 300)
    rules = PageRules()
    return {
        "title": clean(title or f"Backprop of {graph.node_of[output].path}", 200),
        "nodes": nodes_data(graph, arrays, rules, numbers),
        "edges": edges_data(graph, walked),
        "boxes": boxes_data(graph, picture_of),
        "steps": forward_data(graph) + [backward_data(graph, step, arrays) for step in walked],
        "rules": rules.entries,
        "pictures": pictures,
        "levels": n_levels,
        "noPicture": no_picture,
        "arrays": arrays.entries,
    }


def nodes_data(graph, arrays, rules, numbers):
    view = View(graph)
    spoiled = spoiled_tensors(graph)
    return {
        node.id: {
            "title": title_of(node) + numbers[node],
            "details": [line for line in details_of(view, node) if line],
            "path": label_of(node) + numbers[node],
            "kind": kind_of(node),
            "shape": shape_text(node.tensor.shape),
            "dtype": str(node.tensor.dtype),
            "box": node.box.id if node.box else None,
            "value": arrays.add(node.tensor.data, given_inf=has_given_inf(node.tensor, spoiled)),
            "wantsGradient": node.tensor.requires_grad,
            "cut": cut_text(node.tensor.cut),
            "rule": rules.add(node.op) if node.op else None,
            "place": clean(place_text(node.op), 200) if node.op else None,
        }
        for node in graph.nodes
    }


def has_given_inf(tensor, spoiled):
    return tensor not in spoiled and not np.isfinite(tensor.data).all()


def cut_text(cut):
    """What cut a constant off its past, and where; None if nothing did.

    >>> x = Tensor(2.0, requires_grad=True, name="x")
    >>> cut_text(x.detach().cut)
    'detach() of x, at ...'
    """
    if cut is None:
        return None
    what = f"{cut.by} of {cut.label}" if cut.label else cut.by
    where = f", at {'/'.join(Path(cut.location).parts[-2:])}"
    return clean(what + where, 200)


def label_of(node):
    """A name with the scopes in front of it, as the picture's title says it."""
    if node.kind == "constant":
        return clean(title_of(node), 200)
    return clean(".".join((*node.op.scope, str(node.name))) if node.op else node.path, 200)


def numbers_behind(graph):
    """What stands behind the name of each node: nothing, or a number where nodes before it have the same.

    >>> x = Tensor([1.0], requires_grad=True, name="x")
    >>> numbers_behind(Graph(x.exp().exp())).values()
    dict_values(['', '', ' #2'])
    """
    numbers, times = {}, {}
    for node in graph.nodes:
        label = label_of(node)
        times[label] = times.get(label, 0) + 1
        numbers[node] = "" if times[label] == 1 else f" #{times[label]}"
    return numbers


def edges_data(graph, walked):
    """The edges, with the size of what each delivered: 1 for the largest, None for nothing."""
    sizes = {
        (step.tensor.op, i): norm(grad)
        for step in walked
        for i, grad in enumerate(step.grad_inputs)
        if grad is not None
    }
    most = max((size for size in sizes.values() if math.isfinite(size)), default=0.0)
    strengths = {arrow: strength(size, most) for arrow, size in sizes.items()}
    return {
        edge.id: {
            "source": edge.source.id,
            "target": edge.target.id,
            "way": WAYS[edge.index] if edge.target.is_residual else None,
            "strength": strengths.get((edge.target.op, edge.index)),
        }
        for edge in graph.edges
    }


def boxes_data(graph, picture_of):
    """The boxes, with the picture in which each is open."""
    return {
        box.id: {
            "title": clean(box.name),
            "path": clean(box.path, 200),
            "parent": box.parent.id if box.parent else None,
            "picture": picture_of.get(box.path),
        }
        for box in graph.boxes
    }


def forward_data(graph):
    return [{"phase": "forward", "node": node.id} for node in graph.nodes]


def backward_data(graph, step, arrays):
    """One step back, with what it adds to the gradients of its inputs."""

    def place(array):
        return None if array is None else arrays.add(array)

    return {
        "phase": "backward",
        "node": graph.node_of[step.tensor].id,
        "gradient": place(step.grad_output),
        "delivered": [place(grad) for grad in step.grad_inputs],
        "soFar": [place(grad) for grad in step.so_far],
    }


class PageRules:
    """What is said of each class of ops, once: the mathematics of its docstring, and the source of its `backward`."""

    def __init__(self):
        self.entries = []
        self.places = {}

    def add(self, op):
        kind = type(op)
        if kind not in self.places:
            self.places[kind] = len(self.entries)
            formulas, notes = rule_of(kind.__doc__)
            self.entries.append(
                {"name": kind.__name__, "formulas": formulas, "notes": notes, "source": source_of(kind)}
            )
        return self.places[kind]


def source_of(kind):
    """The lines of an op's `backward`; None where Python does not know them, as in a console."""
    try:
        return textwrap.dedent(inspect.getsource(kind.backward))
    except (OSError, TypeError):
        return None
