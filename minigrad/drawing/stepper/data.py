"""What the page knows of a graph, as plain lists and dicts for its JSON.

Nodes, edges and boxes are found by the ids of `minigrad.Graph`; arrays, rules and pictures by their place in a list.
"""

import base64
import copy
import hashlib
import inspect
import math
import textwrap
from pathlib import Path

import numpy as np

from minigrad.backprop import Step, first_gradient, total
from minigrad.drawing.diagram.renderer import RendererError
from minigrad.drawing.labels import clean, details_of, number_text, place_text, shape_text, title_of
from minigrad.drawing.stepper.formulas import formulas_and_notes
from minigrad.drawing.stepper.layout import layouts
from minigrad.drawing.stepper.sources import Sources, saved_arrays
from minigrad.drawing.values import as_matrix, color_bound, spoiled_tensors, statistics, strength
from minigrad.drawing.view import View, kind_shown
from minigrad.graph import Graph, kind_of
from minigrad.op import Op
from minigrad.precision import norm
from minigrad.recording import NO_GRAD
from minigrad.watching import unwatched

MOST_NODES = 5_000
BUDGET = 200_000  # numbers in a page; each takes 11 characters
LONGEST = 64  # cells in a row or column
GRAINS = ((32, 1024), (16, 256), (8, 256), (8, 64), (4, 16))  # tiles in a row or column, numbers of a whole array


def page_data(output, title=None, labels=()):
    """All that the page shows of the passes from the leaves to `output`, a tensor or several, and back.

    Raises:
        ValueError: more nodes than a person steps through.
    """
    graph = Graph(output)
    if len(graph.nodes) > MOST_NODES:
        raise ValueError(
            f"write_stepper: this graph has {len(graph.nodes):,} nodes, and a page to step through has at most "
            f"{MOST_NODES:,}: write it for a tensor nearer to the inputs, or draw(tensor, depth=1) the whole"
        )
    walked = backward_steps(graph)
    tensors = [node.tensor.data for node in graph.nodes]
    gradients = [array for step in walked for array in (step.grad_output, *step.grad_inputs) if array is not None]
    arrays = PageArrays(*grain_for(tensors + gradients))
    sources = Sources()
    numbers = numbers_behind(graph)
    try:
        (pictures, n_levels, picture_of), no_picture = layouts(graph, numbers), None
    except RendererError as error:
        (pictures, n_levels, picture_of), no_picture = ([], 0, {}), clean(error, 300)
    rules = PageRules()
    title = title or f"Backprop of {', '.join(graph.node_of[output].path for output in graph.outputs)}"
    return {
        "title": clean(title, 200),
        "nodes": nodes_data(graph, arrays, rules, numbers),
        "edges": edges_data(graph, walked),
        "boxes": boxes_data(graph, picture_of),
        "steps": forward_data(graph) + backward_data(graph, walked, arrays, sources),
        "patterns": sources.patterns,
        "labels": [clean(label, 20) for label in labels],
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
            "kind": kind_shown(node),
            "shape": shape_text(node.tensor.shape),
            "dtype": str(node.tensor.dtype),
            "box": node.box.id if node.box else None,
            "value": arrays.add(node.tensor.data, given_inf=has_given_inf(node.tensor, spoiled)),
            "requiresGrad": node.tensor.requires_grad,
            "cut": cut_text(node.tensor.cut),
            "rule": rules.add(node.op) if node.op else None,
            "place": clean(place_text(node.op), 200) if node.op else None,
        }
        for node in graph.nodes
    }


def has_given_inf(tensor, spoiled):
    return tensor not in spoiled and not np.isfinite(tensor.data).all()


def cut_text(cut):
    """What detached a constant from its past, and where; None if nothing did.

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
    """The title of a node in the picture, with its scopes in front."""
    if node.kind == "constant":
        return clean(title_of(node), 200)
    return clean(".".join((*node.op.scope, str(node.name))) if node.op else node.path, 200)


def numbers_behind(graph):
    """For each node what stands behind its name: nothing, or a number where earlier nodes have the same name.

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
            "way": edge.way,
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


def backward_steps(graph):
    """The steps of a backward pass from the outputs of a graph, those of leaves included (their `op` is None).

    The pass is made on a copy of the graph, so the user's own keeps its gradients. It starts with the gradients of the
    last pass if they were kept, else with 1. No watcher is called, and no hook: where there are hooks, what they made
    of a gradient in the last pass is taken. A parameter comes right after its op, and the inputs come last.
    """
    tensors = [node.tensor for node in graph.nodes]
    twins = {}  # from the id of a tensor to its copy
    for output in graph.outputs:
        copy.deepcopy(output, twins)
    for tensor in tensors:
        twin = twins[id(tensor)]
        twin.hooks = (KeptGradient(tensor.grad),) if tensor.hooks and tensor.op and tensor.grad is not None else ()
        twin.grad = None
    made = {step.tensor: step for step in twin_steps(graph, twins)}

    steps = []
    for tensor in backward_order(tensors):
        twin = twins[id(tensor)]
        if twin in made:
            steps.append(Step(tensor, tensor.op, made[twin].grad_output, made[twin].grad_inputs))
        elif twin.op is None and twin.grad is not None:
            steps.append(Step(tensor, None, twin.grad, ()))
    return steps


def twin_steps(graph, twins):
    """The backward pass of the copy, as one pass from all outputs together."""
    inner = {edge.source.tensor for edge in graph.edges}
    starts = [output for output in graph.outputs if output.requires_grad] or graph.outputs
    grads = tuple(first_gradient(y, y.grad if y.op and (len(starts) == 1 or y not in inner) else None) for y in starts)
    recording = NO_GRAD.set(None)
    try:
        together = Together(grads)(*(twins[id(output)] for output in starts))
    finally:
        NO_GRAD.reset(recording)
    with unwatched():
        return list(together.backprop())[1:]


class Together(Op):
    """y = 0, whatever the outputs;   a pass from it starts at each output with a gradient that was given."""

    def __init__(self, grads):
        self.grads = grads

    def forward(self, *outputs):
        return np.zeros(())

    def backward(self, grad_y):
        return self.grads


def backward_order(tensors):
    """The results youngest first, each parameter or constant behind the oldest op that reads it, the inputs last."""
    order, leaves = [], {}
    for tensor in tensors:  # in the order of the program
        for x in tensor.op.inputs if tensor.op else ():
            if x.op is None and is_parameter(x):
                leaves.setdefault(x, tensor)
    behind = {}
    for x, oldest in leaves.items():
        behind.setdefault(oldest, []).append(x)
    for tensor in reversed(tensors):
        if tensor.op is not None:
            order += [tensor, *behind.get(tensor, ())]
    return order + [tensor for tensor in tensors if tensor.op is None and tensor not in leaves]


def is_parameter(leaf):
    return kind_of(leaf) == "parameter"


class KeptGradient:
    """A hook that stands in for those of a tensor: it gives what they made of the gradient in the last pass."""

    def __init__(self, grad):
        self.grad = grad

    def __call__(self, grad):
        return self.grad


def backward_data(graph, walked, arrays, sources):
    """The steps back, each with what it delivers to the inputs of its op, and their sums by then."""
    arrived = delivered_along(graph, walked)
    return [
        {
            "phase": "backward",
            "node": graph.node_of[step.tensor].id,
            "gradient": arrays.add(step.grad_output),
            "parts": parts_data(step.grad_output, arrived[step.tensor], arrays),
            "saved": [[name, arrays.add(array)] for name, array in saved_arrays(step.op).items()],
            "delivered": places(step.grad_inputs, arrays),
            "soFar": places(so_far, arrays),
            "madeOf": made_of(step, arrays, sources),
            "meets": meeting(step, graph, arrived),
        }
        for step, so_far in zip(walked, sums_so_far(walked), strict=True)
    ]


def places(some, arrays):
    return [None if array is None else arrays.add(array) for array in some]


def delivered_along(graph, walked):
    """For each tensor what arrived at it, as pairs of the edge and the gradient, in the order of the pass."""
    grads = {(step.tensor, i): grad for step in walked for i, grad in enumerate(step.grad_inputs)}
    arrived = {node.tensor: [] for node in graph.nodes}
    for edge in sorted(graph.edges, key=lambda edge: (-edge.target.op.number, edge.index)):
        grad = grads.get((edge.target.tensor, edge.index))
        if grad is not None:
            arrived[edge.source.tensor].append((edge, grad))
    return arrived


def parts_data(whole, arrived, arrays):
    """What came back to a tensor that several ops read, along each edge; a residual's branch in total too."""
    if len(arrived) < 2:
        return []
    parts = [{"edge": edge.id, "way": edge.way, **part_data(grad, whole, arrays)} for edge, grad in arrived]
    branch = [grad for edge, grad in arrived if not edge.is_skip]
    if 1 < len(branch) < len(arrived):
        parts.append({"edge": None, "way": "branch", **part_data(sum(branch[1:], branch[0]), whole, arrays)})
    return parts


def part_data(grad, whole, arrays):
    return {"gradient": arrays.add(np.asarray(grad)), "share": share_of(grad, whole), "norm": number_text(norm(grad))}


def share_of(part, whole):
    """How far a part goes along the whole: `part . whole / |whole|^2`, None if that is no number."""
    part, whole = (np.asarray(array, np.float64).ravel() for array in (part, whole))
    bound = float(np.abs(whole).max(initial=0.0))
    if not (bound and np.isfinite(bound) and np.isfinite(part).all()):
        return None
    whole = whole / bound  # so that no square is too small or too large
    return float(part @ whole / bound / (whole @ whole))


def meeting(step, graph, arrived):
    """Where skip and branch of a residual come together again on the way back, and their shares; None at other ops."""
    node = graph.node_of[step.tensor]
    if not node.is_residual:
        return None
    skip = step.op.inputs[step.op.SKIP]
    parts = {True: [], False: []}
    for edge, grad in arrived[skip]:
        parts[edge.is_skip].append(grad)
    if not (parts[True] and parts[False]):
        return None
    over, through = (sum(some[1:], some[0]) for some in (parts[True], parts[False]))
    whole = over + through
    ways = [{"norm": number_text(norm(part)), "share": share_of(part, whole)} for part in (over, through)]
    return {"node": graph.node_of[skip].id, "skip": ways[0], "branch": ways[1], "norm": number_text(norm(whole))}


def made_of(step, arrays, sources):
    """For each input what its gradient was made of: pairs of a saved array (-1 for dL/dy) and a pattern."""
    if step.op is None:
        return []
    names = [None, *saved_arrays(step.op)]
    return [
        [[names.index(name) - 1, place] for name, place in found.items()]
        if grad is not None and arrays.is_exact(grad)
        else []
        for found, grad in zip(sources.of(step.op, step.grad_output), step.grad_inputs, strict=True)
    ]


def sums_so_far(walked):
    """For each step and each input of its op, the sum of what consumers have delivered to that input by then."""
    grads = {}
    for step in walked:
        sums = []
        for x, grad_x in zip(step.op.inputs if step.op else (), step.grad_inputs, strict=True):
            if grad_x is not None:
                grads[x] = total(grads[x], grad_x) if x in grads else grad_x
            sums.append(None if grad_x is None else grads[x])
        yield sums


class PageRules:
    """Each class of ops once: the mathematics and notes of its docstring, and the source of its `backward`."""

    def __init__(self):
        self.entries = []
        self.places = {}

    def add(self, op):
        kind = type(op)
        if kind not in self.places:
            self.places[kind] = len(self.entries)
            formulas, notes = formulas_and_notes(kind.__doc__)
            self.entries.append(
                {"name": kind.__name__, "formulas": formulas, "notes": notes, "source": source_of(kind)}
            )
        return self.places[kind]


def source_of(kind):
    """The source of an op's `backward`; None where Python has none, as for a class typed into a console."""
    try:
        return textwrap.dedent(inspect.getsource(kind.backward))
    except (OSError, TypeError):
        return None


class PageArrays:
    """The arrays of a page, in the order in which they were added.

    An array of at most `whole` numbers is there with all of them, to the last bit. A larger one is cut into at most
    `side` x `side` tiles, and each shows the number farthest from 0, so a NaN or a spike is still seen.

    >>> arrays = PageArrays(side=2, whole=4)
    >>> arrays.add(np.ones((2, 2))), arrays.add(np.zeros((2, 2))), arrays.add(np.ones((2, 2)))
    (0, 1, 0)
    >>> arrays.add(np.array([[1.0, -7.0, 2.0, 3.0, 0.0]]))
    2
    >>> numbers(arrays.entries[2]["numbers"])
    array([-7.,  3.])
    """

    def __init__(self, side, whole):
        self.side = side
        self.whole = whole
        self.entries = []
        self.places = {}

    def add(self, array, given_inf=False):
        """The place of an array among `entries`; an equal one that is there already is used again.

        With `given_inf` its inf are no fault, see `spoiled_tensors`.
        """
        key = (given_inf, array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self.places:
            self.places[key] = len(self.entries)
            self.entries.append(self.entry(array, given_inf))
        return self.places[key]

    def entry(self, array, given_inf=False):
        rows = as_matrix(array).astype(np.float64)
        tile = self.tile(rows)
        cells = farthest_from_zero(rows, *tile) if tile != [1, 1] else rows
        return {
            "shape": list(array.shape),
            "grid": list(cells.shape),
            "tile": tile,
            "bound": color_bound(cells),
            "facts": statistics(array),
            "isSpoiled": not given_inf and not bool(np.isfinite(array).all()),
            "numbers": base64.b64encode(cells.astype("<f8").tobytes()).decode(),
        }

    def is_exact(self, array):
        """Whether every number of it is there."""
        return self.tile(as_matrix(array)) == [1, 1]

    def tile(self, rows):
        """Height and width of the tiles; 1 by 1 where every number has a cell of its own."""
        if rows.size <= self.whole and max(rows.shape) <= LONGEST:
            return [1, 1]
        return [-(-length // self.side) for length in rows.shape]


def grain_for(arrays, budget=BUDGET):
    """The finest of `GRAINS` with which all these arrays together keep to the budget.

    >>> grain_for([np.zeros((4, 4))]), grain_for([np.zeros((64, 64))] * 1000)
    ((32, 1024), (8, 256))
    """
    for side, whole in GRAINS:
        if sum(array.size if array.size <= whole else side**2 for array in arrays) <= budget:
            break
    return side, whole


def farthest_from_zero(rows, height, width):
    """For each tile of a matrix its number of largest size; NaN if it has one."""

    def reduce(function):
        by_rows = function.reduceat(rows, np.arange(0, rows.shape[0], height), axis=0)
        return function.reduceat(by_rows, np.arange(0, rows.shape[1], width), axis=1)

    low, high = reduce(np.minimum), reduce(np.maximum)
    return np.where(high >= -low, high, low)


def numbers(text):
    """What stands in an entry's "numbers": float64, little-endian, in base64."""
    return np.frombuffer(base64.b64decode(text), "<f8")
