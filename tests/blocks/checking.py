"""All gradients of a module, of its parameters and of its inputs, against differences."""

import numpy as np

from minigrad import Tensor


def assert_all_gradients(module, *inputs, step=1e-6):
    x = [Tensor(array, requires_grad=True) for array in inputs]
    y = module(*x)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, y.shape)
    module.zero_grad()
    y.backward(weights)
    for name, tensor in [*module.named_parameters(), *((f"input {i}", t) for i, t in enumerate(x))]:
        slopes = np.zeros(tensor.shape)
        original = tensor.data
        for index in np.ndindex(tensor.shape):
            ends = []
            for offset in (step, -step):
                tensor.data = original.copy()
                tensor.data[index] += offset
                ends.append((module(*x).data * weights).sum())
            slopes[index] = (ends[0] - ends[1]) / (2 * step)
        tensor.data = original
        np.testing.assert_allclose(tensor.grad, slopes, rtol=1e-5, atol=1e-7, err_msg=name)
