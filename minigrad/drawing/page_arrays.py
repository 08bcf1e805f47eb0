"""Arrays for a page: each once, exact if it is small, else as a coarser grid."""

import base64
import hashlib

import numpy as np

from minigrad.drawing.cells import as_rows, largest, statistics

BUDGET = 200_000  # numbers in a page; each takes 11 characters
LONGEST = 64  # cells in a row or column
GRAINS = ((32, 1024), (16, 256), (8, 256), (8, 64), (4, 16))  # tiles in a row or column, numbers of a whole array


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

        With `given_inf` its inf are as they should be, see `spoiled_tensors`.
        """
        key = (given_inf, array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).digest())
        if key not in self.places:
            self.places[key] = len(self.entries)
            self.entries.append(self.entry(array, given_inf))
        return self.places[key]

    def entry(self, array, given_inf=False):
        rows = as_rows(array).astype(np.float64)
        tile = self.tile(rows)
        cells = farthest_from_zero(rows, *tile) if tile != [1, 1] else rows
        return {
            "shape": list(array.shape),
            "grid": list(cells.shape),
            "tile": tile,
            "bound": largest(cells),
            "facts": statistics(array),
            "isSpoiled": not given_inf and not bool(np.isfinite(array).all()),
            "numbers": base64.b64encode(cells.astype("<f8").tobytes()).decode(),
        }

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
