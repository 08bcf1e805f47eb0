"""The colours of diagrams, of the page and of plots, and what they mean. It imports nothing of the project."""

import re
from typing import NamedTuple

# For each name its colour on white paper, and on a dark page.
PALETTE = {
    "text": ("#222222", "#e6e6e3"),
    "quiet": ("#5a6068", "#a2a8b0"),
    "paper": ("#ffffff", "#1b1d21"),
    "ground": ("#f5f5f2", "#121316"),
    "line": ("#d5d5cf", "#3a3d43"),
    "focus": ("#0b57d0", "#8ab4f8"),
    "forward": ("#2f6f3e", "#7cc48c"),
    "backward": ("#9a3412", "#f09a6a"),
    # nodes, and the boxes of scopes
    "input": ("#dbe9f6", "#1d3a56"),
    "parameter": ("#fdf0d0", "#4a3a12"),
    "constant": ("#f3f3f3", "#2b2d31"),
    "result": ("#ffffff", "#23262b"),
    "residual": ("#d8f0ec", "#123f3a"),
    "closed": ("#e9ecf1", "#2c3442"),
    "box": ("#475569", "#94a3b8"),
    # arrows
    "arrow": ("#555555", "#a2a8b0"),
    "skip": ("#00796b", "#4db6a6"),
    "branch": ("#7b4fb5", "#b694e6"),
    # numbers; blue and orange are told apart by colour-blind readers too
    "zero": ("#ffffff", "#1b1d21"),
    "negative": ("#2166ac", "#3f8fdf"),
    "positive": ("#e66101", "#d9660f"),
    "not-finite": ("#c000a0", "#d030b0"),
    "given-inf": ("#6b7280", "#6b7280"),
    "spoiled": ("#f6c6ee", "#5c174f"),
}
LIGHT = {name: light for name, (light, _) in PALETTE.items()}

TEXT, QUIET = LIGHT["text"], LIGHT["quiet"]
ARROW, SKIP, BRANCH = LIGHT["arrow"], LIGHT["skip"], LIGHT["branch"]
NEGATIVE, POSITIVE = LIGHT["negative"], LIGHT["positive"]
NOT_FINITE, GIVEN_INF = LIGHT["not-finite"], LIGHT["given-inf"]
NO_GRADIENT = "#aaaaaa"
OPEN_BOX = "#b4bcc9"
TOTAL = "#000000"  # in plots: skip and branch together
SERIES = ("#0072b2", "#d55e00", TOTAL, "#cc79a7")  # and curves that are none of these (Okabe and Ito's colours)
HIGHLIGHTS = {
    "red": "#d7191c",
    "orange": "#f07800",
    "gold": "#e5b700",
    "green": "#2e9e3f",
    "blue": "#2b6ca3",
    "grey": "#8a8a8a",
}


class Kind(NamedTuple):
    """What one kind of node looks like in a diagram; `style` is Graphviz's word for it."""

    meaning: str
    fill: str
    border: str
    style: str = "filled"
    width: float = 1.0


KINDS = {
    "input": Kind("input", LIGHT["input"], "#2b6ca3", "filled,rounded"),
    "parameter": Kind("parameter", LIGHT["parameter"], "#a8760a"),
    "constant": Kind("constant", LIGHT["constant"], "#888888", "filled,dashed"),
    "result": Kind("result of an op", LIGHT["result"], ARROW),
    "residual": Kind("residual addition", LIGHT["residual"], SKIP, "filled,rounded", 2.0),
    "closed": Kind("closed box", LIGHT["closed"], LIGHT["box"], "filled,rounded", 1.5),
}


def color_code(color):
    """A colour for highlighting, as `#rrggbb`.

    Raises:
        ValueError: no such colour.
    """
    code = HIGHLIGHTS.get(color, color) if isinstance(color, str) else ""
    if not re.fullmatch("#[0-9a-fA-F]{6}", code):
        raise ValueError(f"draw: a colour is one of {', '.join(HIGHLIGHTS)}, or like '#d7191c'; got {color!r}")
    return code


def tint(code):
    """A light shade of a colour, to fill what it borders."""
    return faded(code, 0.25)


def shade(value, bound):
    """Colour of a number on a symmetric scale: white at 0, full colour at +-bound."""
    return faded(POSITIVE if value > 0 else NEGATIVE, min(1.0, abs(value) / bound) if bound else 0.0)


def faded(code, strength):
    """A colour mixed with white: white at strength 0, itself at 1."""
    channels = (int(code[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 + strength * (channel - 255)):02x}" for channel in channels)


def css_properties():
    """The palette as custom properties of a page (`--skip: #00796b;` ...), for light and for dark screens."""
    light, dark = ("".join(f"--{name}: {pair[screen]}; " for name, pair in PALETTE.items()) for screen in (0, 1))
    return f":root {{ {light}}}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n"
