"""Which array of a file is which parameter of ours; the same table is read in both directions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from minigrad import Module

MOST_NAMES = 12  # listed of one kind of difference


class Place(NamedTuple):
    """Where one array of a file belongs.

    Attributes:
        ours: the parameter; or several that the file has side by side along the last axis, as query, key and value.
        turned: the file has a matrix as (out, in), and ours is (in, out).
    """

    ours: tuple[str, ...]
    turned: bool = False


Layout = dict[str, Place]  # by the names of the file


def dotted(*names: str) -> str:
    """Names joined with dots; an empty one is left out."""
    return ".".join(name for name in names if name)


def linear(theirs: str, *ours: str, bias: bool = True, turned: bool = True) -> Layout:
    """The places of a linear map, or of several that the file keeps as one."""
    layout = {dotted(theirs, "weight"): Place(tuple(dotted(name, "weight") for name in ours), turned)}
    if bias:
        layout[dotted(theirs, "bias")] = Place(tuple(dotted(name, "bias") for name in ours))
    return layout


def norm(theirs: str, ours: str) -> Layout:
    """The places of a layer norm, whose gain other tools call weight."""
    gain, bias = Place((dotted(ours, "gain"),)), Place((dotted(ours, "bias"),))
    return {dotted(theirs, "weight"): gain, dotted(theirs, "bias"): bias}


def fill(
    module: Module, arrays: Mapping[str, Any], layout: Layout, source: object, ignored: Collection[str] = ()
) -> None:
    """Give a module the arrays of a file; if anything does not fit, nothing is changed.

    Args:
        ignored: names that the file may have, and that no parameter needs.

    Raises:
        ValueError: it lists the arrays that are missing, those that have no place, and those of another shape or dtype.
    """
    parameters = dict(module.named_parameters())
    check_places(module, layout, parameters)
    shapes = {theirs: stored_shape(place, parameters) for theirs, place in layout.items()}
    found = {name: np.asarray(array) for name, array in arrays.items() if name in layout}
    differences = {
        "missing": [f"{name} {shape}" for name, shape in shapes.items() if name not in arrays],
        "not of this model": [name for name in arrays if name not in layout and name not in ignored],
        "of another shape": [
            f"{name} is {array.shape}, should be {shapes[name]}"
            for name, array in found.items()
            if array.shape != shapes[name]
        ],
        "not floating-point numbers": [f"{name} is {a.dtype}" for name, a in found.items() if a.dtype.kind != "f"],
    }
    if any(differences.values()):
        lines = [f"  {kind}: {listed(names)}" for kind, names in differences.items() if names]
        raise ValueError("\n".join([f"{source}: these weights do not fit the {type(module).__name__}:", *lines]))
    for theirs, place in layout.items():
        array = found[theirs].T if place.turned else found[theirs]
        ends = np.cumsum([parameters[name].shape[-1] for name in place.ours])[:-1]
        for name, part in zip(place.ours, np.split(array, ends, axis=-1), strict=True):
            own = np.array(part, dtype=parameters[name].dtype, order="C")
            own.setflags(write=False)
            parameters[name].data = own


def check_places(module, layout, ours):
    """Each parameter of the module has its place in the layout, and each place its parameters."""
    placed = {name for place in layout.values() for name in place.ours}
    if homeless := [name for name in ours if name not in placed]:
        raise ValueError(f"{type(module).__name__}: there is no place in this layout for {listed(homeless)}")
    if missing := sorted(placed.difference(ours)):
        raise ValueError(f"{type(module).__name__}: this layout has {listed(missing)}, which the module has not")


def stored_shape(place, parameters):
    """The shape that the file should have for a place."""
    shapes = [parameters[name].shape for name in place.ours]
    shape = (*shapes[0][:-1], sum(shape[-1] for shape in shapes))
    return shape[::-1] if place.turned else shape


def listed(names):
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def stored(module: Module, layout: Layout) -> dict[str, np.ndarray]:
    """A module's parameters as a file has them; the inverse of `fill`.

    Raises:
        ValueError: the module has parameters that the layout has no place for, or lacks some.
    """
    state = module.state_dict()
    check_places(module, layout, state)
    arrays = {theirs: np.concatenate([state[name] for name in place.ours], -1) for theirs, place in layout.items()}
    return {
        theirs: np.ascontiguousarray(array.T if layout[theirs].turned else array) for theirs, array in arrays.items()
    }
