"""A view as lines of text, indented by box: for a terminal, a log or a README."""

from minigrad.drawing.words import clean, details_of, gradient_text, title_of


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
    for event, thing in view.walk():
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
