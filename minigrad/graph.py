"""A read-only view of what was recorded: nodes, the edges between them, and the boxes that scopes put around them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.backprop import topological_order
from minigrad.module import Parameter
from minigrad.op import Op
from minigrad.ops.arithmetic import Add
from minigrad.ops.residual import WAYS, ResidualAdd
from minigrad.recording import ModuleName
from minigrad.tensor import Tensor


class Box:
    """One pass through a scope: what was recorded between entering and leaving it.

    A module that is called again has another, also right behind the first.

    Attributes:
        id: `b0`, `b1`, ... in the order of entering.
        name: of the scope, such as `attention`.
        parent: the box around it; None for an outermost one.
        depth: 1 for an outermost one.
    """

    def __init__(self, id: str, name: str, parent: "Box | None"):
        self.id = id
        self.name = name
        self.parent = parent
        self.depth: int = 1 if parent is None else parent.depth + 1

    @property
    def path(self) -> str:
        """Its name behind those of the boxes around it: `blocks.0.attention`."""
        return ".".join(box.name for box in reversed(ancestors(self)))

    def __repr__(self):
        return f"<box {self.id} {self.path}>"


class Node:
    """One tensor of the graph, together with the op that made it.

    Attributes:
        id: `n0`, `n1`, ... from the inputs to the output.
        tensor: what it stands for.
        box: the innermost box that it is in; None if it is in no scope.
        kind: "result" of an op, "parameter", "input" (a leaf with a gradient or a name) or "constant".
    """

    def __init__(self, id: str, tensor: Tensor):
        self.id = id
        self.tensor = tensor
        self.box: Box | None = None
        self.kind: str = kind_of(tensor)

    @property
    def op(self) -> Op | None:
        return self.tensor.op

    @property
    def name(self) -> str:
        """What the user called it, or else what it is."""
        return self.tensor.name or getattr(self.op, "label", None) or (self.op.name if self.op else self.kind)

    @property
    def path(self) -> str:
        """The name that tells it from others: `blocks.0.attention.softmax`, `blocks.0.attention.query.weight`."""
        return self.op.path if self.op else self.name

    @property
    def is_residual(self) -> bool:
        return isinstance(self.op, ResidualAdd)

    def __repr__(self):
        return f"<node {self.id} {self.kind} {self.path} {self.tensor.shape}>"


class Edge:
    """One arrow: `target`'s op reads `source` as its input number `index`.

    Attributes:
        id: `e0`, `e1`, ... in the order in which the ops read their inputs.
        share: how much of the gradient that arrives at `source` came along it, as a fraction; yours to set. A picture
            writes it on the arrow.
    """

    share: float | None = None

    def __init__(self, id: str, source: Node, target: Node, index: int):
        self.id = id
        self.source = source
        self.target = target
        self.index = index

    @property
    def way(self) -> str | None:
        """Which way through a residual it is, "skip" or "branch"; None if it leads into no residual addition."""
        return WAYS[self.index] if self.target.is_residual else None

    @property
    def is_skip(self) -> bool:
        """Whether it is the skip of a residual."""
        return self.way == "skip"

    @property
    def gradient(self) -> np.ndarray | None:
        """What the last backward pass delivered along it; None if there was none, or nothing was to be delivered."""
        delivered = self.target.op.grad_inputs  # type: ignore[union-attr]  # an arrow leads to an op
        return None if delivered is None else delivered[self.index]

    def __repr__(self):
        return f"<edge {self.id} {self.source.path} -> {self.target.path}[{self.index}]>"


class Graph:
    """What was recorded on the way to a tensor.

    It is a view: values and gradients are read from the tensors when asked for, so it can be made before
    `backward()` and looked at afterwards. Time and memory grow linearly with the number of nodes, which may be large.

    Args:
        output: the tensor to look back from, or several; a leaf makes a graph of one node.

    Attributes:
        outputs: the tensors that were looked back from, each once.
        nodes: every tensor once, each behind those it was made from.
        edges: one for each input of each op, so `x * x` has two.
        boxes: one for each time that a scope was entered, the outer before the inner ones.

    Raises:
        TypeError: `output` is no Tensor, and no list of them.
        ValueError: an empty list.

    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> graph = Graph((x * x).sum())
    >>> graph.nodes
    [<node n0 input x (2,)>, <node n1 result multiply (2,)>, <node n2 result sum ()>]
    >>> graph.edges
    [<edge e0 x -> multiply[0]>, <edge e1 x -> multiply[1]>, <edge e2 multiply -> sum[0]>]
    """

    to_dot: Callable[..., str]  # bound by minigrad.drawing, the floor above

    def __init__(self, output: Tensor | Sequence[Tensor]) -> None:
        self.outputs: tuple[Tensor, ...] = outputs_of(output)
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.boxes: list[Box] = []
        self.node_of: dict[Tensor, Node] = {}
        self.add_nodes()
        self.add_boxes()

    def add_nodes(self):
        for tensor in results_behind(self.outputs):
            sources = [self.add_node(x) for x in tensor.op.inputs]
            target = self.add_node(tensor)
            for index, source in enumerate(sources):
                self.edges.append(Edge(f"e{len(self.edges)}", source, target, index))
        for output in self.outputs:
            self.add_node(output)  # a leaf that nothing read

    def add_node(self, tensor):
        node = self.node_of.get(tensor)
        if node is None:
            node = self.node_of[tensor] = Node(f"n{len(self.nodes)}", tensor)
            self.nodes.append(node)
        return node

    def add_boxes(self):
        """Enter and leave scopes as the program did: nodes come in its order.

        A box is a stretch of that order, so no path leaves a box and enters it again, however a model reuses a layer.
        """
        entered = []
        for node in self.nodes:
            if node.op is None:
                continue
            scope = node.op.scope
            shared = n_shared([box.name for box in entered], scope)
            del entered[shared:]
            for name in scope[shared:]:
                entered.append(Box(f"b{len(self.boxes)}", name, entered[-1] if entered else None))
                self.boxes.append(entered[-1])
            node.box = entered[-1] if entered else None

        consumers = {}
        for edge in self.edges:
            consumers.setdefault(edge.source, []).append(edge.target)
        for node in self.nodes:
            if node.kind in ("parameter", "constant") and node in consumers:
                node.box = common_box([consumer.box for consumer in consumers[node]])

    @property
    def output(self) -> Tensor:
        """The tensor that was looked back from, the first if there are several."""
        return self.outputs[0]

    def __repr__(self):
        of = ", ".join(self.node_of[output].path for output in self.outputs)
        return f"<Graph of {of}: {len(self.nodes):,} nodes, {len(self.edges):,} edges>"


def outputs_of(output):
    """One tensor or several, as a tuple in which each is once."""
    several = output if isinstance(output, (list, tuple)) else [output]
    for each in several:
        if not isinstance(each, Tensor):
            raise TypeError(
                f"a graph is made from a Tensor, the result to look back from, or from a list of them; "
                f"got {type(each).__name__}"
            )
    if not several:
        raise ValueError("a graph is made from one or more tensors; got an empty list")
    return tuple(dict.fromkeys(several))


def results_behind(outputs):
    """The tensors that ops made on the way to these, in the order in which the program made them."""
    made = {tensor for output in outputs for tensor in topological_order(output) if tensor.op is not None}
    return sorted(made, key=lambda tensor: tensor.op.number)


def kind_of(tensor):
    """What a node is, as a word."""
    if tensor.op is not None:
        return "result"
    if isinstance(tensor, Parameter):
        return "parameter"
    return "input" if tensor.requires_grad or tensor.name else "constant"


def arguments(op: Op) -> dict[str, Any]:
    """What an op was told besides its tensors, by name: the attributes that its `__init__` takes and sets.

    >>> arguments(Tensor([1.0], requires_grad=True).softmax(axis=0).op)
    {'axis': 0}
    """
    if type(op).__init__ is object.__init__:
        return {}
    names = list(inspect.signature(type(op).__init__).parameters)[1:]
    plain = (bool, int, float, str, tuple, list, slice, type(Ellipsis), np.ndarray)
    return {name: getattr(op, name) for name in names if isinstance(getattr(op, name, None), plain)}


def ancestors(box):
    """The box and all around it, from the inside out."""
    found = []
    while box is not None:
        found.append(box)
        box = box.parent
    return found


def common_box(boxes):
    """The innermost box around all of these; None if there is none."""
    common = boxes[0]
    for box in boxes[1:]:
        common = box_around_both(common, box)
    return common


def box_around_both(a, b):
    while a is not b:
        if a is None or b is None:
            return None
        if a.depth >= b.depth:
            a = a.parent
        else:
            b = b.parent
    return a


def n_shared(names, others):
    """With how many entered scopes the two begin."""
    count = 0
    for name, other in zip(names, others, strict=False):
        if name != other or (isinstance(name, ModuleName) and name is not other):
            break
        count += 1
    return count


def stream_start(loss: Tensor, plain_sums: bool = False) -> Tensor:
    """Where the residual stream of a model begins: the tensor that the skip and the branch of every residual came from.

    Walking back from the loss, it is the first tensor that the gradient of every residual reaches. In a language model
    that is the sum of the embeddings. A weight is passed by, unless it is a residual's own input. Where the branches
    have no such tensor in common (one was detached, or reads another model), it is that of the skips alone.

    Raises:
        ValueError: there is no residual; it begins with a constant; nothing lies before all residuals.

    >>> from blocks import lesson_block
    >>> block, x = lesson_block()
    >>> stream_start((block(x) ** 2).sum()) is x
    True
    """
    order = topological_order(loss)
    residuals = residuals_among(order, plain_sums)
    if not residuals:
        raise ValueError(
            f"no residual was made with residual_add on the way to {loss}, so where its stream begins is unknown: "
            f"pass the tensor x to look at{plain_sums_in_words(order)}"
        )
    skips = [residual.inputs[skip] for residual, skip in residuals.items()]
    if not skips[0].requires_grad and skips[0].cut is None:
        raise ValueError(
            f"the stream begins with a constant, the input {skips[0].shape} of {next(iter(residuals)).path}: make it "
            f"with requires_grad=True, or pass the tensor x to look at"
        )
    inputs = [x for residual in residuals for x in residual.inputs]
    start = first_before_all(order, inputs, skips)
    if start is None:
        start = first_before_all(order, skips, skips)
    if start is None:
        raise ValueError(f"no tensor lies before all {len(residuals)} residuals: pass the tensor x to look at")
    return start


def first_before_all(order, ends, skips):
    """Walking back, the first tensor that all of `ends` were made from; None if there is none."""
    ends, skips = dict.fromkeys(end for end in ends if end.requires_grad), set(skips)
    for tensor, found in made_from(order, ends):
        if len(ends) == found.bit_count() and (not isinstance(tensor, Parameter) or tensor in skips):
            return tensor
    return None


def residuals_among(order, plain_sums=False):
    """The residual additions among tensors, oldest first: each op, and which of its inputs is the skip.

    With `plain_sums` an addition of two tensors, one of which was made from the other, is one too: in x + f(x) the skip
    is x. That is all that the structure says: x + 2 x is one as well.
    """
    ops = [tensor.op for tensor in reversed(order) if tensor.op is not None]
    found = {op: ResidualAdd.SKIP for op in ops if isinstance(op, ResidualAdd)}
    sums = [op for op in ops if plain_sums and type(op) is Add and op.inputs[0].shape == op.inputs[1].shape]
    first, second = (are_made_from(order, [(op.inputs[i], op.inputs[1 - i]) for op in sums]) for i in (0, 1))
    for op, skips_first, skips_second in zip(sums, first, second, strict=True):
        if skips_first != skips_second:  # both: it is twice the same tensor
            found[op] = int(skips_second)
    return {op: found[op] for op in ops if op in found}


def are_made_from(order, pairs):
    """For each pair (x, y) of tensors whether y is x, or was made from it."""
    bit_of = {y: i for i, y in enumerate(dict.fromkeys(y for _, y in pairs))}
    asked = {}
    for x, y in pairs:
        asked.setdefault(x, []).append(y)
    found = set()
    for tensor, bits in made_from(order, bit_of) if pairs else ():
        found.update((tensor, y) for y in asked.get(tensor, ()) if bits >> bit_of[y] & 1)
    return [pair in found for pair in pairs]


def made_from(order, ends):
    """Walking back, each tensor with a bit for each of `ends` that is the tensor itself or was made from it."""
    waiting = {end: 1 << i for i, end in enumerate(ends)}
    for tensor in order:
        bits = waiting.pop(tensor, 0)
        if not bits:
            continue
        yield tensor, bits
        for x in tensor.op.inputs if tensor.op is not None else ():
            if x.requires_grad:
                waiting[x] = waiting.get(x, 0) | bits


def plain_sums_in_words(order):
    """Where an addition looks like a residual that was not made with residual_add; empty if none does."""
    sums = [op for op in residuals_among(order, plain_sums=True) if not isinstance(op, ResidualAdd)]
    if not sums:
        return ""
    more = f", and {len(sums) - 1} more" if len(sums) > 1 else ""
    return (
        f".\nThe plain sum at {sums[0].location}{more} looks like one, x + f(x):\n"
        f"plain_sums=True counts such sums, and residual_add(x, f(x)) marks them."
    )
