"""gradcheck: an op's rule against finite differences."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minigrad.arrays import as_array
from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class GradcheckError(AssertionError):
    """A gradient that is not the slope of the function."""


class GradcheckReport(NamedTuple):
    """What was compared, and the entries at which there is no one slope to compare with.

    `kinks` are (input, index) pairs at which the slopes to the left and to the right differ.
    """

    compared: int
    kinks: list[tuple[int, tuple[int, ...]]]

    def __bool__(self) -> bool:
        return True


def gradcheck(
    function: Callable[..., Tensor],
    *inputs: TensorLike,
    step: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    seed: int = 0,
) -> GradcheckReport:
    """Compare the gradient of a function, or of an op of your own, with central differences, entry by entry.

    The result y is weighted with random numbers w of both signs, because a plain sum hides errors: softmax and layer
    norm have slope 0 under it. With L = sum(w y), each entry must satisfy

        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h,    h = step * max(1, |x_i|).

    At a kink (relu at 0) the slopes to both sides differ. Any gradient between them is right; the report lists such
    entries, which are no errors, and entries at the edge of where the function is defined (sqrt at 0). A gradient
    outside of the two slopes is an error. Before it says so it looks again with smaller steps.

    Args:
        function: takes tensors, returns one tensor; or an op, as in ``gradcheck(Softplus(), x)``.
        inputs: tensors, arrays, lists or numbers, float64. They are not changed. Integers are passed on unchecked.
        step, rtol, atol: step width and tolerances; a slope smaller than atol is not told from 0.
        seed: of the random weights.

    Returns:
        A `GradcheckReport`, which is true.

    Raises:
        GradcheckError: names the op, the input, the index, the gradient that came, and the slope that was measured.
        TypeError: a float32 input, in which a finite difference has no correct digits to speak of; no input at all
            that could have a gradient; a function that does not return a tensor.
        ValueError: a function that gives another result when it is called again, one that is not finite here, or one
            whose results are so large that a finite difference of them drowns in rounding.

    >>> bool(gradcheck(lambda x: x.softmax(), Tensor([0.1, 0.2, 0.3])))
    True
    >>> gradcheck(lambda x: x.relu(), [-1.0, 0.0, 2.0])
    GradcheckReport(compared=2, kinks=[(0, (1,))])
    """
    arrays = [x.data if isinstance(x, Tensor) else as_array(x) for x in inputs]  # type: ignore[arg-type]
    checked = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    refuse_what_cannot_be_checked(arrays, checked)
    if isinstance(function, Op):
        function = NewOpEachTime(function)

    y, grads, weights = weighted_gradients(function, arrays, checked, seed)
    name = subject(function, y)
    refuse_what_changes(name, function, arrays, checked, seed, y, grads)

    compared, kinks, wrong = 0, [], []
    for i in checked:
        for index in np.ndindex(arrays[i].shape):
            grad = grads[i][index]
            verdict, slope = judge(grad, function, arrays, i, index, weights, step, rtol, atol)
            if verdict == "kink":
                kinks.append((i, index))
            elif verdict == "right":
                refuse_what_drowns(name, i, index, grad, slope.noise)
                compared += 1
            else:
                refuse_what_drowns(name, i, index, grad, rounding(y.data, step * max(1.0, abs(arrays[i][index]))))
                wrong.append((i, index, grad, slope))
    if wrong:
        raise GradcheckError(error_message(name, wrong, compared + len(kinks) + len(wrong)))
    return GradcheckReport(compared, kinks)


class NewOpEachTime:
    """An op as a function that can be called again: one op is one node of a graph."""

    def __init__(self, op):
        self.op = op
        self.__name__ = op.name

    def __call__(self, *tensors):
        return copy.copy(self.op)(*tensors)


def refuse_what_cannot_be_checked(arrays, checked):
    for i in checked:
        if arrays[i].dtype != np.float64:
            raise TypeError(
                f"gradcheck: input {i} is {arrays[i].dtype}, in which a difference of 1e-6 drowns in rounding; "
                f"pass it as float64, as in x.astype(np.float64)"
            )
    if not checked:
        raise TypeError("gradcheck: none of the inputs is of a floating type, so there is no gradient to check")


def weighted_gradients(function, arrays, checked, seed):
    """The result, the gradients of sum(w y) by input, and the random weights w."""
    tensors = [Tensor(array, requires_grad=i in checked) for i, array in enumerate(arrays)]
    y = function(*tensors)
    if not isinstance(y, Tensor):
        raise TypeError(f"gradcheck: the function must return one tensor; got {type(y).__name__}")
    if not np.isfinite(y.data).all():
        raise ValueError(f"gradcheck: the result is not finite at these inputs, so it has no slope: {y.data}")
    if not y.requires_grad:
        raise GradcheckError("gradcheck: the result was made without recording, so no gradient reaches the inputs")
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, y.shape) * rng.choice([-1.0, 1.0], y.shape)
    y.backward(weights)
    grads = {i: np.zeros_like(arrays[i]) if tensors[i].grad is None else tensors[i].grad for i in checked}
    return y, grads, weights


def refuse_what_changes(name, function, arrays, checked, seed, y, grads):
    again, grads_again, _ = weighted_gradients(function, arrays, checked, seed)
    if not np.array_equal(y.data, again.data):
        raise ValueError(
            f"gradcheck: {name}: two calls with the same inputs gave different results; "
            f"make it the same each time, as in dropout(x, rng=0), and check it then"
        )
    if not all(np.array_equal(grads[i], grads_again[i], equal_nan=True) for i in checked):
        raise ValueError(f"gradcheck: {name}: two backward passes from the same inputs gave different gradients")


def refuse_what_drowns(name, i, index, grad, noise):
    if noise > max(1e-2 * abs(grad), 1e-3):
        raise ValueError(
            f"gradcheck: {name}: input {i}, index {index}: the result is so large that what a step changes drowns in "
            f"its rounding: the slope is known to within {noise:.2g} only; check the function at smaller numbers"
        )


class Slope(NamedTuple):
    """The slope of L = sum(w y) along one entry of an input, by differences to the left and right of its value.

    `noise` is how far the rounding of y may have moved them.
    """

    left: float
    right: float
    noise: float

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def is_smooth(self) -> bool:
        """False if both sides are further apart than a smooth curve bends between them, or if one is not finite."""
        bend = max(1e-3 * max(abs(self.left), abs(self.right)), 1e-6, self.noise)
        return bool(abs(self.right - self.left) <= bend)


def judge(grad, function, arrays, i, index, weights, step, rtol, atol):
    """Compare a gradient with the slope that is measured at its entry: ("right", "wrong" or "kink", the slope).

    If they disagree it looks again with smaller steps. At a kink every gradient between both sides is right; the edge
    of where a function is defined (sqrt at 0) counts as a kink.
    """
    for width in (step, step / 100, step * min(1.0, abs(arrays[i][index])) or step):
        slope = measure_slope(function, arrays, i, index, weights, width)
        if slope.is_smooth and is_close(grad, slope.middle, rtol, atol + slope.noise):
            return "right", slope
    at_an_edge = not np.isfinite(slope.middle)
    is_between = min(slope.left, slope.right) - atol <= grad <= max(slope.left, slope.right) + atol
    return "kink" if at_an_edge or (not slope.is_smooth and is_between) else "wrong", slope


def measure_slope(function, arrays, i, index, weights, step):
    """The slope along `arrays[i][index]`; the differences are over step * max(1, |its value|)."""
    width = step * max(1.0, abs(arrays[i][index]))
    values = []
    with np.errstate(all="ignore"):  # beside its edge a function may be NaN
        for offset in (-width, 0.0, width):
            moved = list(arrays)
            moved[i] = np.array(arrays[i])
            moved[i][index] += offset
            values.append(function(*(Tensor(array) for array in moved)).data)
        lower, middle, upper = values  # subtracted before they are summed, so that what stays the same adds no rounding
        left, right = ((middle - lower) * weights).sum() / width, ((upper - middle) * weights).sum() / width
    return Slope(left, right, rounding(middle[lower != upper], width))


def rounding(y, width):
    """How far the rounding of y can move a slope that is measured over `width`."""
    return 8 * np.finfo(np.float64).eps * np.abs(y).max(initial=0) / width


def is_close(grad, slope, rtol, atol):
    return np.isfinite(grad) and abs(grad - slope) <= atol + rtol * max(abs(grad), abs(slope))


def error_message(name, wrong, total):
    i, index, grad, slope = wrong[0]
    return (
        f"gradcheck: {name}: input {i}, index {index}: got gradient {grad:.10g}, "
        f"expected {slope.middle:.10g} from finite differences "
        f"({slope.left:.10g} to the left, {slope.right:.10g} to the right); {len(wrong)} of {total} entries are wrong"
    )


def subject(function, y):
    """What messages call the thing that is checked: the op, or the function and the op that made its result."""
    last = y.op.name if y.op is not None else "a leaf"
    name = getattr(function, "__name__", type(function).__name__)
    return last if name in ("<lambda>", last) else f"{name} (its result is from {last})"
