"""Gradients at the door: what a pass may start with, and how zeros behind a selection are kept."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.gradients import total


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


def test_a_selection_reaches_far_behind_itself():
    with np.errstate(all="ignore"):
        x = Tensor([0.0, 4.0], requires_grad=True)
        h = x.sqrt()
        for _ in range(5):
            h = (h * 2 + 1) / 2
        mg.where([False, True], h.reshape(2, 1).T[0], 0).sum().backward()
    assert (x.grad == [0, 0.25]).all()


def test_a_selection_is_forgotten_by_the_next_pass():
    with np.errstate(all="ignore"):
        x = Tensor([0.0, 4.0], requires_grad=True)
        root = x.sqrt()
        selected, squared = mg.where(x > 0, root, 0).sum(), (root * root).sum()
        squared.backward()
        before = x.grad
        x.zero_grad()
        selected.backward()
        assert (x.grad == [0, 0.25]).all()
        x.zero_grad()
        squared.backward()
    np.testing.assert_array_equal(x.grad, before)
    np.testing.assert_array_equal(x.grad, [np.nan, 1])
