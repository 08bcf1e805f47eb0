"""Of which numbers each entry of a gradient is made: found by asking the rule, so it holds for any op.

A NaN in one entry of dL/dy, or of an array that the op saved, makes NaN of just those entries of dL/dx that read it.
"""

import copy

import numpy as np

from minigrad.backprop import delivered
from minigrad.op import Op

MOST_ENTRIES = 256  # of an array that is looked at
MOST_PROBES = 30_000  # for a whole page


def saved_arrays(op):
    """What an op saved for its rule, by the names that the rule uses: arrays, also those in a list.

    >>> from minigrad import Tensor
    >>> saved_arrays(Tensor([1.0, 2.0], requires_grad=True).softmax().op)
    {'y': array([0.26894142, 0.73105858])}
    """
    found = {}
    for name, value in vars(op).items() if op else ():
        if name in Op.__annotations__:
            continue
        if isinstance(value, np.ndarray):
            found[name] = value
        elif isinstance(value, (list, tuple)) and value and all(isinstance(item, np.ndarray) for item in value):
            found |= {f"{name}[{i}]": item for i, item in enumerate(value)}
    return {name: array for name, array in found.items() if array.dtype.kind in "biuf"}


class Sources:
    """What the entries of each delivered gradient were made of, in one page; `patterns` has each pattern once.

    >>> from minigrad import Tensor
    >>> x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> sources, op = Sources(), x.softmax().op
    >>> sources.of(op, np.ones((2, 2)))
    [{None: 0, 'y': 0}]
    >>> sources.patterns
    [[[0, 1], [0, 1], [2, 3], [2, 3]]]
    """

    def __init__(self):
        self.patterns, self.places = [], {}
        self.left = MOST_PROBES

    def of(self, op, grad_y):
        """For each input the patterns by the name of the array that they lead to, None for dL/dy."""
        arrays = {None: grad_y, **saved_arrays(op)}
        found = [{} for _ in op.inputs]
        with np.errstate(all="ignore"):
            for name, array in arrays.items():
                readers = self.readers(op, grad_y, name, array)
                for i, entries in enumerate(readers or ()):
                    if entries is not None and any(entries):
                        found[i][name] = self.place(entries)
        return found

    def readers(self, op, grad_y, name, array):
        """For each input, for each entry of its gradient, the entries of `array` that it is made of."""
        is_asked = array.dtype.kind == "f" and 0 < array.size <= MOST_ENTRIES and np.isfinite(array).all()
        if not is_asked or array.size > self.left or (name is not None and name not in vars(op)):
            return None
        readers = [
            [[] for _ in range(x.size)] if x.requires_grad and x.size <= MOST_ENTRIES else None for x in op.inputs
        ]
        for place in range(array.size):
            self.left -= 1
            twin, poisoned = copy.copy(op), array.copy()
            poisoned.flat[place] = np.nan
            if name is not None:
                setattr(twin, name, poisoned)
            try:
                grads = delivered(twin, twin.backward(poisoned if name is None else grad_y))
            except Exception:  # a rule of the user's that refuses a NaN
                return None
            for entries, grad in zip(readers, grads, strict=True):
                if entries is not None and grad is not None:
                    for entry in np.flatnonzero(np.isnan(grad)):
                        entries[entry].append(place)
        return readers

    def place(self, entries):
        key = str(entries)
        if key not in self.places:
            self.places[key] = len(self.patterns)
            self.patterns.append(entries)
        return self.places[key]
