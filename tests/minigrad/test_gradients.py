"""What a pass may start with, what fan-out adds up, and what a selection gives to what it left out."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.backprop import total


def test_the_first_gradient_is_copied():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    seed = np.array([1.0, 10.0])
    y.backward(seed)
    seed[0] = 100
    assert (y.grad == [1, 10]).all() and seed.flags.writeable
    y.grad[0] = 7  # an inner gradient is the user's to change
    assert (x.grad == [3, 30]).all()


def test_the_first_gradient_takes_the_dtype_of_the_tensor():
    x = Tensor(np.ones(2, np.float32), requires_grad=True)
    y = x * 3
    y.backward(np.ones(2))
    assert x.grad.dtype == y.grad.dtype == np.float32


def test_what_an_integer_result_says():
    class Rounded(mg.Op):
        def forward(self, x):
            return x.astype(int)

        def backward(self, grad_y):
            return (grad_y,)

    with pytest.raises(TypeError, match="dtype int64: only a floating type has a gradient"):
        Rounded()(Tensor([1.0], requires_grad=True)).backward()


def test_total_is_an_array_of_its_own():
    a, b = np.ones(2), np.ones(2)
    t = total(a, b)
    assert (t == 2).all() and not t.flags.writeable and (a == 1).all()
    assert isinstance(total(np.float64(1), np.float64(2)), np.ndarray)


def test_a_selection_gives_exactly_0_and_behind_it_arithmetic_is_arithmetic():
    """As in PyTorch and JAX: 0 at what was left out; times an infinite slope that is NaN; a safe input has neither."""
    x = Tensor([0.0, 4.0], requires_grad=True)
    root = x.sqrt()
    with np.errstate(all="ignore"):
        mg.where(x > 0, root, 0).sum().backward()
    np.testing.assert_array_equal(root.grad, [0, 1])
    np.testing.assert_array_equal(x.grad, [np.nan, 0.25])

    x.zero_grad()
    mg.where(x > 0, mg.where(x > 0, x, 1).sqrt(), 0).sum().backward()
    np.testing.assert_array_equal(x.grad, [0, 0.25])
