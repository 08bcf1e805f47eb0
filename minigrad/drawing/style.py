"""How a picture looks: its options, its colours, and what the colours mean."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minigrad.graph import Box, Node

VALUES = ("auto", "numbers", "heatmap", "statistics", False)
DIRECTIONS = ("TB", "BT", "LR", "RL")
FLOWS = ("forward", "backward")


@dataclass(frozen=True)
class Look:
    """The options of a picture, see `minigrad.draw`.

    Raises:
        TypeError: `highlight` or `meanings` is no mapping.
        ValueError: an option that is none of those possible.
    """

    values: str | bool = "auto"
    grads: bool = True
    direction: str = "TB"
    flow: str = "forward"
    title: str | None = None
    legend: bool = True
    highlight: Mapping[Any, str] = field(default_factory=dict)
    meanings: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[Node, str] = field(default_factory=dict)  # what a page puts behind the names of nodes

    def __post_init__(self):
        for name, possible in (("values", VALUES), ("direction", DIRECTIONS), ("flow", FLOWS)):
            if getattr(self, name) not in possible:
                listed = ", ".join(repr(value) for value in possible)
                raise ValueError(f"draw: {name} is one of {listed}; got {getattr(self, name)!r}")
        for name, keys in (("highlight", "{tensor: 'red'}"), ("meanings", "{'red': 'the first NaN'}")):
            if not isinstance(getattr(self, name), Mapping):
                raise TypeError(f"draw: {name} is a dict like {keys}; got {getattr(self, name)!r}")
        for color in (*self.highlight.values(), *self.meanings):
            color_code(color)


class Kind(NamedTuple):
    """What one kind of node looks like."""

    meaning: str
    fill: str
    border: str
    style: str = "filled"
    width: float = 1.0


KINDS = {
    "input": Kind("input", "#dbe9f6", "#2b6ca3", "filled,rounded"),
    "parameter": Kind("parameter", "#fdf0d0", "#a8760a"),
    "constant": Kind("constant", "#f3f3f3", "#888888", "filled,dashed"),
    "result": Kind("result of an op", "#ffffff", "#555555"),
    "residual": Kind("residual addition", "#d8f0ec", "#00796b", "filled,rounded", 2.0),
    "closed": Kind("closed box", "#ece8f4", "#6a51a3", "filled,rounded", 1.5),
}

TEXT = "#222222"
QUIET = "#666666"
ARROW = "#555555"
SKIP = KINDS["residual"].border
NO_GRADIENT = "#aaaaaa"
NOT_FINITE = "#c000a0"
GIVEN_INF = "#777777"
HIGHLIGHTS = {
    "red": "#d7191c",
    "orange": "#f07800",
    "gold": "#e5b700",
    "green": "#2e9e3f",
    "blue": "#2b6ca3",
    "grey": "#8a8a8a",
}
NEGATIVE, POSITIVE = (33, 102, 172), (230, 97, 1)  # blue and orange: told apart by colour-blind readers too


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
    """A light shade of a colour, for what is inside of a border."""
    channels = (int(code[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - 0.25 * (255 - channel)):02x}" for channel in channels)


def kind_of(item):
    """The key in KINDS of a node or closed box."""
    if isinstance(item, Box):
        return "closed"
    return "residual" if item.is_residual else item.kind


def shade(value, bound):
    """Colour of a number on a symmetric scale: white at 0, full colour at +-bound."""
    strength = min(1.0, abs(value) / bound) if bound else 0.0
    end = POSITIVE if value > 0 else NEGATIVE
    return "#" + "".join(f"{round(255 + strength * (channel - 255)):02x}" for channel in end)
