"""A view as text that needs no Graphviz: a Mermaid flowchart, and an indented tree."""

from minigrad.drawing.colors import BRANCH, KINDS, SKIP, TEXT
from minigrad.drawing.diagram.dot import share_text, way_of
from minigrad.drawing.labels import clean, details_of, gradient_text, number_text, title_of
from minigrad.drawing.view import kind_shown
from minigrad.precision import norm

SAFE = frozenset(" .,_-+=()/±…")


def mermaid_text(view, look):
    """A view as a Mermaid flowchart, which many sites draw in Markdown: names, shapes and gradient norms, no arrays.

    >>> from minigrad import draw
    >>> x = Tensor(3.0, requires_grad=True, name="x")
    >>> print(draw(x.exp(), grads=False).mermaid())
    flowchart TB
      n0["x<br>input  scalar"]:::input
      n1["exp<br>scalar"]:::result
      n0 --> n1
      classDef input fill:#dbe9f6,stroke:#2b6ca3,color:#222222
      classDef result fill:#ffffff,stroke:#555555,color:#222222
    """
    lines = [f"flowchart {look.direction}"]
    indent = "  "
    for event, thing in view.outline():
        if event == "enter":
            lines.append(f'{indent}subgraph {thing.id}["{quoted(clean(thing.name))}"]')
            indent += "  "
        elif event == "leave":
            indent = indent[2:]
            lines.append(f"{indent}end")
        else:
            lines.append(f'{indent}{thing.id}["{item_text(view, look, thing)}"]:::{kind_shown(thing)}')
    lines += [f"  {arrow_text(look, arrow)}" for arrow in view.arrows]
    for way, color in (("skip", SKIP), ("branch", BRANCH)):
        numbers = [str(number) for number, arrow in enumerate(view.arrows) if way_of(arrow) == way]
        if numbers:
            lines.append(f"  linkStyle {','.join(numbers)} stroke:{color}")
    shown = {kind_shown(item) for item in view.items}
    lines += [f"  {class_text(name, kind)}" for name, kind in KINDS.items() if name in shown]
    return "\n".join(lines)


def quoted(text):
    """Text between Mermaid's quotes: whatever could be syntax as a numbered entity."""
    return "".join(c if c.isalnum() or c in SAFE else f"#{ord(c)};" for c in text)


def item_text(view, look, item):
    lines = [title_of(item), *details_of(view, item)]
    tensors = view.results(item)
    if look.grads and len(tensors) == 1 and tensors[0].requires_grad:
        lines.append(gradient_text(tensors[0]))
    return "<br>".join(quoted(line) for line in lines if line)


def arrow_text(look, arrow):
    """Thick for a skip, dotted where no gradient is required; the number is the size of the gradient delivered."""
    line = "==>" if arrow.is_skip else "-->" if arrow.tensor.requires_grad else "-.->"
    start, end = arrow.start.id, arrow.end.id
    if look.flow == "backward":
        start, end = end, start
    gradient = arrow.gradient if look.grads else None
    words = [] if gradient is None else [number_text(norm(gradient))]
    words += [] if arrow.share is None else [share_text(arrow)]
    label = f'|"{"<br>".join(quoted(word) for word in words)}"|' if words else ""
    return f"{start} {line}{label} {end}"


def class_text(name, kind):
    dash = ",stroke-dasharray:4" if "dashed" in kind.style else ""
    return f"classDef {name} fill:{kind.fill},stroke:{kind.border},color:{TEXT}{dash}"


def tree_text(view, look):
    """One line for each node or closed box: its name, what it is, what it reads, and its gradient.

    >>> from minigrad import draw
    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> print(draw((x * x).sum()).text())
    n0  x         input  (2,)                no gradient yet
    n1  multiply  (2,)         reads n0, n0  no gradient yet
    n2  sum       scalar       reads n1      no gradient yet
    """
    reads = {item: [] for item in view.items}
    for arrow in view.arrows:
        reads[arrow.end].append(arrow.start.id)
    indent = ""
    lines = []
    for event, thing in view.outline():
        if event == "enter":
            lines.append(["", indent + clean(thing.name), "", "", ""])
            indent += "  "
        elif event == "leave":
            indent = indent[2:]
        else:
            about = ", ".join(line for line in details_of(view, thing) if line)
            lines.append(
                [thing.id, indent + title_of(thing), about, reads_text(reads[thing]), gradients(view, look, thing)]
            )
    widths = [max(len(line[column]) for line in lines) for column in range(5)]
    if view.note:
        lines.append(["", view.note, "", "", ""])
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def reads_text(ids):
    return f"reads {', '.join(ids)}" if ids else ""


def gradients(view, look, item):
    return ", ".join(gradient_text(tensor) for tensor in view.results(item)) if look.grads else ""
