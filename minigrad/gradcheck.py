"""gradcheck: an op's rule against finite differences, which are held to be true only as far as they can be."""

import copy
import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from minigrad.arrays import as_array
from minigrad.backprop import topological_order
from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike

RTOL, ATOL = 1e-5, 1e-8
REPEATS = 20  # calls that must all give the same result: a random one escapes with probability 2^-20 or so


class GradcheckError(AssertionError):
    """A gradient that is not the slope of the function."""


class GradcheckReport(NamedTuple):
    """What was compared, and what could not be. It is true unless there were entries and none of them was compared.

    Attributes:
        compared: the number of entries whose gradient is the slope, within the tolerance.
        kinks: (input, index) where the slopes to the left and to the right differ, so that no one slope is right.
        unmeasured: (input, index, error) where a difference is known to within this error only, which is too much.
    """

    compared: int
    kinks: list[tuple[int, tuple[int, ...]]]
    unmeasured: list[tuple[int, tuple[int, ...], float]]

    def __bool__(self) -> bool:
        return self.compared > 0 or not (self.kinks or self.unmeasured)


def gradcheck(
    function: Callable[..., Tensor], *inputs: TensorLike, rtol: float = RTOL, atol: float = ATOL, seed: int = 0
) -> GradcheckReport:
    """Compare the gradient of a function, or of an op of your own, with central differences, entry by entry.

    The result y is weighted with random numbers w of both signs, because a plain sum hides errors: softmax and layer
    norm have slope 0 under it. With L = sum(w y), each entry passes only if

        |dL/dx_i - slope| + error  <=  rtol * max(|dL/dx_i|, |slope|) + atol * min(1, max |y| / |x_i|)

    where the slope is measured by differences over two steps, and `error` says how far it may be off: by the rounding
    of y, and by how much the two steps disagree. The steps go from 1e-3 * max(1, |x_i|) to where the error is least.
    What cannot be measured as well as the tolerance asks is never passed: the report lists it as unmeasured.

    At a kink (relu at 0) the slopes to both sides differ. Any gradient between them is right; the report lists such
    entries, which are no errors, and entries at the edge of where the function is defined (sqrt at 0). A gradient
    outside of the two slopes is an error, and so is NaN, and inf where the slope is finite.

    Args:
        function: takes tensors, returns one tensor; or an op, as in ``gradcheck(Softplus(), x)``.
        inputs: tensors, arrays, lists or numbers, float64. They are not changed. Integers are passed on unchecked.
        rtol, atol: the tolerances above. `atol` shrinks with the scale of y / x: tiny slopes of tiny results count.
        seed: of the random weights.

    Returns:
        A `GradcheckReport`, which is true if anything was compared.

    Raises:
        GradcheckError: names the op, the input, the index, the gradient that came, and the slope that was measured; or
            a rule that changes what forward saved, so that a second pass of the same graph gives something else, or
            that is not linear in the gradient that it is given.
        TypeError: a float32 input, in which a finite difference has no correct digits to speak of; no input at all
            that could have a gradient; a function that does not return a tensor.
        ValueError: a function that is not deterministic; one that is not finite here; or one of which no entry could
            be measured, since its results are so large that differences drown in rounding.

    >>> bool(gradcheck(lambda x: x.softmax(), Tensor([0.1, 0.2, 0.3])))
    True
    >>> gradcheck(lambda x: x.relu(), [-1.0, 0.0, 2.0])
    GradcheckReport(compared=2, kinks=[(0, (1,))], unmeasured=[])
    """
    arrays = [x.data if isinstance(x, Tensor) else as_array(x) for x in inputs]  # type: ignore[arg-type]
    checked = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    refuse_what_cannot_be_checked(arrays, checked)
    if isinstance(function, Op):
        function = NewOpEachTime(function)

    y, grads, weights = weighted_gradients(function, arrays, checked, seed)
    name = subject(function, y)
    refuse_what_is_random(name, function, arrays, y)
    refuse_what_changes(name, function, arrays, checked, seed, y, grads)

    report, wrong = GradcheckReport(0, [], []), []
    for i in checked:
        for index in np.ndindex(arrays[i].shape):
            grad = grads[i][index]
            verdict, slope = judge(grad, function, arrays, i, index, weights, y.data, rtol, atol)
            if verdict == "right":
                report = report._replace(compared=report.compared + 1)
            elif verdict == "kink":
                report.kinks.append((i, index))
            elif verdict == "unmeasured":
                report.unmeasured.append((i, index, slope.error))
            else:
                wrong.append((i, index, grad, slope))
    if wrong:
        total = report.compared + len(report.kinks) + len(report.unmeasured) + len(wrong)
        raise GradcheckError(error_message(name, wrong, total))
    if report.unmeasured and not report.compared:
        raise nothing_measured(name, report.unmeasured[0])
    return report


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
    return y, {i: grad for i, grad in enumerate(gradients_of(y, tensors, weights)) if i in checked}, weights


def gradients_of(y, tensors, weights):
    for tensor in tensors:
        tensor.zero_grad()
    y.backward(weights)
    return [np.zeros_like(tensor.data) if tensor.grad is None else tensor.grad for tensor in tensors]


def refuse_what_changes(name, function, arrays, checked, seed, y, grads):
    """The gradients must be the same for the same inputs, in a second pass too, and change their sign with dL/dy."""
    _, grads_again, weights = weighted_gradients(function, arrays, checked, seed)
    if not all(np.array_equal(grads[i], grads_again[i], equal_nan=True) for i in checked):
        raise ValueError(f"gradcheck: {name}: two backward passes from the same inputs gave different gradients")
    tensors = [Tensor(array, requires_grad=i in checked) for i, array in enumerate(arrays)]
    again = function(*tensors)
    first, second, opposite = (gradients_of(again, tensors, w) for w in (weights, weights, -weights))
    if not all(np.array_equal(first[i], second[i], equal_nan=True) for i in checked):
        raise GradcheckError(
            f"gradcheck: {name}: a second backward pass of the same graph gave different gradients: a rule must leave "
            f"what forward saved as it is"
        )
    for i in checked:
        largest = np.abs(first[i][np.isfinite(first[i])]).max(initial=0)
        if not np.allclose(first[i], -opposite[i], rtol=1e-9, atol=1e-9 * largest, equal_nan=True):
            raise GradcheckError(
                f"gradcheck: {name}: input {i}: with -dL/dy the gradient is not the negative one: a rule must be linear"
            )


def refuse_what_is_random(name, function, arrays, y):
    """A call that draws random numbers leaves its generator elsewhere, even if the numbers happened to be the same."""
    states = []
    for repeat in range(REPEATS):
        again = function(*(Tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays))
        if not np.array_equal(y.data, again.data):
            raise not_deterministic(name, "two calls with the same inputs gave different results")
        if repeat < 2:
            drawn = [t.op.rng.bit_generator.state for t in topological_order(again) if hasattr(t.op, "rng")]
            states.append(repr((drawn, np.random.get_state(), hash(random.getstate()))))
    if states[0] != states[1]:
        raise not_deterministic(name, "two calls with the same inputs draw different random numbers")


def not_deterministic(name, reason):
    return ValueError(
        f"gradcheck: {name} is not deterministic: {reason}; make it the same each time, as in dropout(x, rng=0), and "
        f"check it then"
    )


class Slope(NamedTuple):
    """The slope of L = sum(w y) along one entry of an input, measured over a step and half a step to both sides.

    Attributes:
        left, right: from the left and from the right, where the two steps would meet at 0.
        middle: from both sides.
        bend: by how much the two steps disagree.
        noise: how far the rounding of y may have moved it.
    """

    left: float
    right: float
    middle: float
    bend: float
    noise: float

    @property
    def error(self) -> float:
        return self.bend + self.noise

    @property
    def jump(self) -> float:
        """How far the slope to the right is from that to the left; 0 if that may be rounding."""
        jump = abs(self.right - self.left)
        return jump if not jump <= 4 * self.noise else 0.0

    @property
    def is_finite(self) -> bool:
        return bool(np.isfinite(self.middle))


def judge(grad, function, arrays, i, index, weights, y, rtol=RTOL, atol=ATOL):
    """Compare a gradient with the slope at its entry: ("right", "wrong", "kink" or "unmeasured", the slope).

    The step becomes smaller as long as the function bends more than it rounds, else larger, until one fits. An entry is
    right as soon as one step shows it; wrong if two steps do, so that no coincidence of roundings condemns it.
    """
    x = abs(float(arrays[i][index]))
    scale = max(1.0, x)
    largest_y = np.abs(y).max(initial=0)
    floor = atol * min(1.0, largest_y / x if x else 1.0)
    smallest = max(min(1e-9, 1e-4 * x or 1.0), 64 * np.spacing(x))
    step, factor, slopes, doubts = 1e-3 * scale, None, [], []
    while smallest <= step <= scale:
        slope = measure_slope(function, arrays, i, index, weights, y, step)
        slopes.append(slope)
        tolerance = floor + rtol * abs(slope.middle)
        if slope.is_finite and slope.error <= tolerance and slope.jump <= 10 * tolerance:
            difference = abs(grad - slope.middle)
            allowed = max(tolerance, floor + rtol * abs(grad)) if np.isfinite(grad) else tolerance
            if difference + slope.error <= allowed:
                return "right", slope
            if not difference - slope.error <= allowed:
                if any(abs(slope.middle - other) <= 2 * tolerance for other in doubts):
                    return "wrong", slope
                doubts.append(slope.middle)
        better = 10.0 if slope.is_finite and slope.noise > max(slope.bend, slope.jump) else 0.1
        if factor not in (None, better):
            break
        factor = better
        step *= factor
    return without_a_fitting_step(grad, slopes, floor, rtol)


def without_a_fitting_step(grad, slopes, floor, rtol):
    """The verdict where no step shows a slope as well as the tolerance asks: a kink, an edge, or plainly wrong."""
    last = slopes[-1]
    if not last.is_finite:
        return at_an_edge(grad, slopes), last
    best = min((slope for slope in slopes if slope.is_finite), key=lambda slope: slope.error + slope.jump)
    tolerance = floor + rtol * max(abs(last.left), abs(last.right))
    if last.jump > 10 * tolerance:
        low, high = sorted((last.left, last.right))
        margin = tolerance + last.noise
        return ("kink" if low - margin <= grad <= high + margin else "wrong"), last
    if not abs(grad - best.middle) <= tolerance + 3 * (best.error + best.jump):
        return "wrong", best
    return ("kink" if any(slope.jump > 0.5 * abs(slope.middle) for slope in slopes) else "unmeasured"), best


def at_an_edge(grad, slopes):
    """The verdict where the function is not finite on one side: the slope to the other side, as far as it is known."""
    (before, slope) = slopes[-2:] if len(slopes) > 1 else slopes * 2
    sides = [(a, b) for a, b in ((before.left, slope.left), (before.right, slope.right)) if np.isfinite([a, b]).all()]
    if np.isnan(grad) or not sides:
        return "wrong"
    for far, near in sides:
        if np.isinf(grad):
            if abs(near) > 1.5 * abs(far) and np.sign(near) == np.sign(grad):
                return "kink"  # it grows with each smaller step
        elif abs(grad - near) <= 10 * abs(near - far) + 1e-3 * abs(near):
            return "kink"
    return "wrong"


def measure_slope(function, arrays, i, index, weights, y, step):
    """The slope of sum(w y) along `arrays[i][index]`, over `step` and half of it to both sides.

    A difference over h is off by c h^2 + ..., so (4 D(h/2) - D(h)) / 3 lacks that term (Richardson 1911); one-sided
    ones are off by c h + ..., so 2 D(h/2) - D(h).
    """
    x = arrays[i][index]
    half = (x + step / 2) - x  # a step that x + half really makes
    with np.errstate(all="ignore"):  # beside its edge a function may be NaN
        far_left, left, right, far_right = (
            value_at(function, arrays, i, index, x + offset) for offset in (-2 * half, -half, half, 2 * half)
        )
        left_half, left_whole = ((y - left) * weights).sum() / half, ((y - far_left) * weights).sum() / (2 * half)
        right_half, right_whole = ((right - y) * weights).sum() / half, ((far_right - y) * weights).sum() / (2 * half)
        from_half, from_whole = (left_half + right_half) / 2, (left_whole + right_whole) / 2
        middle = (4 * from_half - from_whole) / 3
        noise = rounding(weights * y, weights * far_left, weights * far_right) / (2 * half)
    left, right = 2 * left_half - left_whole, 2 * right_half - right_whole
    return Slope(*map(float, (left, right, middle, abs(middle - from_half), noise)))


def value_at(function, arrays, i, index, value):
    moved = list(arrays)
    moved[i] = np.array(arrays[i])
    moved[i][index] = value
    return function(*(Tensor(array) for array in moved)).data


def rounding(y, lower, upper):
    """How far rounding may move the sum of a difference of y: all that changed, and the largest that did not."""
    size = np.maximum(np.abs(y), np.maximum(np.abs(lower), np.abs(upper)))
    changed = lower != upper
    return np.finfo(np.float64).eps * (4 * size[changed].sum() + size[~changed].max(initial=0) / 2)


def nothing_measured(name, entry):
    i, index, error = entry
    return ValueError(
        f"gradcheck: {name}: no entry could be compared. At input {i}, index {index}, what a step changes drowns in "
        f"its rounding: the slope can't be measured to better than {error:.2g}; check the function at smaller numbers"
    )


def error_message(name, wrong, total):
    i, index, grad, slope = wrong[0]
    return (
        f"gradcheck: {name}: input {i}, index {index}: got gradient {grad:.10g}, "
        f"expected {slope.middle:.8g} from finite differences "
        f"({slope.left:.8g} to the left, {slope.right:.8g} to the right); {len(wrong)} of {total} entries are wrong"
    )


def subject(function, y):
    """What messages call the thing that is checked: the op, or the function and the op that made its result."""
    last = y.op.name if y.op is not None else "a leaf"
    name = getattr(function, "__name__", type(function).__name__)
    return last if name in ("<lambda>", last) else f"{name} (its result is from {last})"
