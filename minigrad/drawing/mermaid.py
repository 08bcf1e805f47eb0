"""A view as Mermaid text, which Markdown pages on many sites show as a picture."""

from minigrad.arrays import norm
from minigrad.drawing.arrows import share_text
from minigrad.drawing.style import KINDS, SKIP, kind_of
from minigrad.drawing.words import clean, details_of, gradient_text, number_text, title_of

SAFE = frozenset(" .,_-+=()/±…")


def mermaid_text(view, look):
    """A view as a Mermaid flowchart: names, shapes and the size of gradients, without arrays.

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
    for event, thing in view.walk():
        if event == "enter":
            lines.append(f'{indent}subgraph {thing.id}["{quoted(clean(thing.name))}"]')
            indent += "  "
        elif event == "leave":
            indent = indent[2:]
            lines.append(f"{indent}end")
        else:
            lines.append(f'{indent}{thing.id}["{item_text(view, look, thing)}"]:::{kind_of(thing)}')
    lines += [f"  {arrow_text(look, arrow)}" for arrow in view.arrows]
    skips = [str(number) for number, arrow in enumerate(view.arrows) if arrow.is_skip]
    if skips:
        lines.append(f"  linkStyle {','.join(skips)} stroke:{SKIP}")
    shown = {kind_of(item) for item in view.items}
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
    """Thick for a skip, dotted where no gradient is wanted; the number is the size of the gradient delivered."""
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
    return f"classDef {name} fill:{kind.fill},stroke:{kind.border},color:#222222{dash}"
