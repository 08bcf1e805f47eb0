"""The rule of one op against finite differences, at the point at which it was used."""

import copy

import numpy as np

from minigrad.backprop import delivered
from minigrad.debugging.words import input_names
from minigrad.gradcheck import is_apart, is_close, slopes
from minigrad.tensor import Tensor

ENTRIES = 32  # of each input that are compared


class Check:
    """One rule against finite differences, at the point at which it was used.

    Attributes:
        compared: number of entries that had a slope to compare with.
        skipped: number of entries at a kink, or where something is not finite.
        unseen: number of entries that were not looked at, since only `ENTRIES` of each input are.
        worst: the largest difference between a gradient and its slope.
        wrong: the first entry that disagrees, as (input, index, gradient, slope); None if all agree.
    """

    def __init__(self) -> None:
        self.compared = self.skipped = self.unseen = 0
        self.worst = 0.0
        self.wrong: tuple[str, tuple[int, ...], float, float] | None = None

    def __bool__(self) -> bool:
        return self.wrong is None

    def __str__(self):
        if self.wrong is not None:
            name, index, gradient, slope = self.wrong
            return f"WRONG: dL/d{name} at index {index} is {gradient:.8g}, but the slope is {slope:.8g}"
        words = f"the rule agrees in {self.compared} entries, to within {self.worst:.1g}"
        words += f"; {self.skipped} at a kink or not finite were left out" if self.skipped else ""
        return words + (f"; {self.unseen:,} were not looked at (only {ENTRIES} of an input are)" if self.unseen else "")


class Replay:
    """An op as a function that can be called again and again: each call runs a copy with a state of its own.

    Results that are not finite at the point itself count as 0, so that they do not drown the others.
    """

    def __init__(self, op, arrays):
        self.op = op
        self.finite = True
        self.finite = np.isfinite(self(*map(Tensor, arrays)).data)

    def copy(self):
        twin = copy.copy(self.op)
        if hasattr(twin, "rng"):
            twin.rng = copy.deepcopy(twin.rng)  # the same draw each time, and none from the user's generator
        return twin

    def __call__(self, *tensors):
        y = self.copy().forward(*(x.data for x in tensors))
        return Tensor.from_op(np.where(self.finite, y, 0), None)


def check_rule(op, step=1e-6, rtol=1e-5, atol=1e-7):
    """The op's rule against central differences, in float64, on some entries of each input; see `gradcheck`."""
    with np.errstate(all="ignore"):
        arrays = [x.data.astype(np.float64) if x.dtype.kind == "f" else x.data for x in op.inputs]
        replay = Replay(op, arrays)
        y = replay(*map(Tensor, arrays)).data
        weights = np.where(replay.finite, np.random.default_rng(0).uniform(0.5, 1.5, y.shape), 0)

        twin = replay.copy()
        twin.inputs = tuple(Tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays)
        twin.forward(*arrays)
        grads = delivered(twin, twin.backward(weights))

        check = Check()
        noise = 4 * np.finfo(np.float64).eps * np.abs(y).max(initial=0) / step
        for i, name in enumerate(input_names(op)):
            if grads[i] is not None:
                n_finite, indices = int(np.isfinite(arrays[i]).sum()), some_entries(arrays[i])
                check.skipped += arrays[i].size - n_finite
                check.unseen += n_finite - len(indices)
                for index in indices:
                    gradient = grads[i][index]
                    compare(check, replay, arrays, i, index, weights, step, gradient, name, rtol, atol + noise)
    return check


def some_entries(array):
    """The indices of a few finite entries, all of them if there are few."""
    places = np.flatnonzero(np.isfinite(array))
    if places.size > ENTRIES:
        places = np.random.default_rng(0).choice(places, ENTRIES, replace=False)
    return [tuple(int(n) for n in np.unravel_index(place, array.shape)) for place in places]


def compare(check, replay, arrays, i, index, weights, step, gradient, name, rtol, atol):
    """Compare one entry; if it disagrees, once more with a step in proportion to it, for steep curves near 0."""
    for width in (step, step * abs(arrays[i][index])):
        left, right = slopes(replay, arrays, i, index, weights, width)
        slope = (left + right) / 2
        if is_close(gradient, slope, rtol, atol):
            check.compared += 1
            check.worst = max(check.worst, abs(gradient - slope))
            return
    left, right = slopes(replay, arrays, i, index, weights, step)
    slope = (left + right) / 2
    if (
        not np.isfinite(slope)
        or not np.isfinite(gradient)
        or is_kink(replay, arrays, i, index, weights, step, left, right)
    ):
        check.skipped += 1
    elif check.wrong is None:
        check.wrong = (name, index, float(gradient), float(slope))


def is_kink(function, arrays, i, index, weights, step, left, right):
    """True if the two slopes stay apart when the step shrinks: on a smooth curve they close up with it."""
    nearer_left, nearer_right = slopes(function, arrays, i, index, weights, step / 10)
    return is_apart(left, right) and abs(nearer_right - nearer_left) > abs(right - left) / 2
