"""Graphviz's HTML-like labels: tables, cells and text, with everything that a user wrote escaped."""

from html import escape

from minigrad.drawing.style import TEXT


def text(string):
    """Plain text for a label.

    Backslashes are doubled: Graphviz expands `\\N` to the node's id even in a table. Some versions cannot read a
    text that begins with `]`.
    """
    return escape(string).replace("\\", "\\\\").replace("]", "&#93;")


def tooltip(lines):
    """Plain text for an attribute that Graphviz shows as a tooltip. It reads backslashes twice there."""
    import graphviz  # noqa: PLC0415  here, so that `import minigrad` loads NumPy alone

    return graphviz.escape("\n".join(lines).replace("&", "&amp;").replace("\\", "\\\\"))


def font(string, size, color=TEXT, bold=False):
    """Text in a size and colour."""
    inner = f"<B>{text(string)}</B>" if bold else text(string)
    return f'<FONT POINT-SIZE="{size}" COLOR="{color}">{inner}</FONT>' if string else ""


def small(string, color=TEXT):
    return font(string, 8, color)


def attributes(options):
    return "".join(f' {name}="{value}"' for name, value in options.items())


def cell(content, **options):
    return f"<TD{attributes(options)}>{content}</TD>"


def row(*cells):
    return f"<TR>{''.join(cells)}</TR>"


def table(*rows, **options):
    options = {"BORDER": "0", "CELLBORDER": "0", "CELLSPACING": "0", "CELLPADDING": "1"} | options
    return f"<TABLE{attributes(options)}>{''.join(rows)}</TABLE>"
