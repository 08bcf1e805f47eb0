"""gradcheck: an op's rule against finite differences."""

from typing import NamedTuple

import numpy as np

from minigrad.tensor import Tensor


class GradcheckError(AssertionError):
    """A gradient that is not the slope of the function."""


class GradcheckReport(NamedTuple):
    """What was compared, and the entries at which there is no slope to compare with.

    `kinks` are (input, index) pairs at which the slopes from the left and from the right differ.
    """

    compared: int
    kinks: list[tuple[int, tuple[int, ...]]]

    def __bool__(self):
        return True


def gradcheck(function, *inputs, step=1e-6, rtol=1e-5, atol=1e-7, seed=0):
    """Compare the gradient of a function with central differences, entry by entry.

    The function's result y is weighted with random numbers w, because a plain sum hides errors: softmax and layer
    norm have slope 0 under it. With L = sum(w y), each entry must satisfy

        dL/dx_i  =  (L(x + h e_i) - L(x - h e_i)) / 2h,    h = step * max(1, |x_i|).

    At a kink (relu at 0) the slopes from both sides differ and there is nothing to compare with: such an entry is
    listed in the report, and is no error.

    Args:
        function: takes tensors, returns one tensor. It must give the same result when it is called again.
        inputs: tensors or arrays, float64. They are not changed. Integer inputs are passed on unchecked.
        step, rtol, atol: step width and tolerances.
        seed: of the random weights.

    Returns:
        A `GradcheckReport`, which is true.

    Raises:
        GradcheckError: names the op, the input, the index, the gradient that came, and the slope that was measured.
        TypeError: a float32 input, in which a finite difference has no correct digits to speak of.
        ValueError: a function that gives another result when it is called again.

    >>> bool(gradcheck(lambda x: x.softmax(), Tensor([0.1, 0.2, 0.3])))
    True
    """
    arrays = [np.array(x.data if isinstance(x, Tensor) else x) for x in inputs]
    checked = [i for i, array in enumerate(arrays) if array.dtype.kind == "f"]
    for i in checked:
        if arrays[i].dtype != np.float64:
            raise TypeError(
                f"gradcheck: input {i} is {arrays[i].dtype}, in which a difference of 1e-6 drowns in rounding; "
                f"pass it as float64"
            )

    tensors = [Tensor(array, requires_grad=i in checked) for i, array in enumerate(arrays)]
    y = function(*tensors)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, y.shape)
    again = function(*tensors)
    if not np.array_equal(y.data, again.data, equal_nan=True):
        raise ValueError("gradcheck: two calls with the same inputs gave different results; fix the random seed first")
    if not y.requires_grad:
        raise GradcheckError("gradcheck: the result was made without recording, so no gradient reaches the inputs")
    y.backward(weights)

    compared, kinks = 0, []
    for i in checked:
        grad = np.zeros_like(arrays[i]) if tensors[i].grad is None else tensors[i].grad
        for index in np.ndindex(arrays[i].shape):
            left, right = slopes(function, arrays, i, index, weights, step)
            slope = (left + right) / 2
            if is_close(grad[index], slope, rtol, atol):
                compared += 1
            elif is_kink(function, arrays, i, index, weights, step, left, right):
                kinks.append((i, index))
            else:
                raise GradcheckError(
                    f"gradcheck: {y.op.name}: input {i}, index {index}: "
                    f"got gradient {grad[index]:.10g}, expected {slope:.10g} from finite differences"
                )
    return GradcheckReport(compared, kinks)


def slopes(function, arrays, i, index, weights, step):
    """The slopes of L = sum(w y) along one entry, to the left and to the right of its value."""
    width = step * max(1.0, abs(arrays[i][index]))
    values = []
    for offset in (-width, 0.0, width):
        moved = list(arrays)
        moved[i] = arrays[i].copy()
        moved[i][index] += offset
        values.append(function(*(Tensor(array) for array in moved)).data)
    lower, middle, upper = values  # subtracted before they are summed, so that what stays the same adds no rounding
    return ((middle - lower) * weights).sum() / width, ((upper - middle) * weights).sum() / width


def is_close(grad, slope, rtol, atol):
    return abs(grad - slope) <= atol + rtol * max(abs(grad), abs(slope))


def is_kink(function, arrays, i, index, weights, step, left, right):
    """True if the two slopes stay apart when the step shrinks: on a smooth curve they close up with it."""
    jump = abs(right - left)
    nearer_left, nearer_right = slopes(function, arrays, i, index, weights, step / 10)
    return jump > 1e-3 and abs(nearer_right - nearer_left) > jump / 2
