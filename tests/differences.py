"""Slopes by differences of values alone: the truth that a gradient is held against."""

import numpy as np

from minigrad import Tensor


def central_differences(function, arrays, weights, step=1e-6):
    """d sum(weights * function(*arrays)) / d arrays, one element at a time; `function` takes and returns arrays."""
    slopes = []
    for i, array in enumerate(arrays):
        slope = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            ends = []
            for offset in (step, -step):
                moved = [a.copy() for a in arrays]
                moved[i][index] += offset
                ends.append((function(*moved) * weights).sum())
            slope[index] = (ends[0] - ends[1]) / (2 * step)
        slopes.append(slope)
    return slopes


def on_arrays(function):
    """A function of tensors as a function of arrays."""
    return lambda *arrays: function(*(Tensor(array) for array in arrays)).data


def gradients(function, arrays, weights=None):
    """The value of a function of tensors, and what its backward pass leaves in each."""
    tensors = [Tensor(array, requires_grad=True) for array in arrays]
    y = function(*tensors)
    y.backward(np.ones(y.shape, y.dtype) if weights is None else weights)
    return y.data, [tensor.grad for tensor in tensors]


def assert_slopes(function, *arrays, seed=0, rtol=1e-6, atol=1e-8, step=1e-6):
    """The gradients of a function of tensors are its slopes, under random weights of its result."""
    arrays = [np.array(array, dtype=np.float64) for array in arrays]
    y = on_arrays(function)(*arrays)
    weights = np.random.default_rng(seed).uniform(0.5, 1.5, y.shape)
    _, grads = gradients(function, arrays, weights)
    for grad, slope in zip(grads, central_differences(on_arrays(function), arrays, weights, step), strict=True):
        np.testing.assert_allclose(grad, slope, rtol=rtol, atol=atol)
