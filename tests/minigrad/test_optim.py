"""Optimizers, against numbers by hand and PyTorch's."""

import numpy as np
import pytest

from blocks import Linear
from minigrad import Parameter, Tensor
from minigrad.optim import SGD, AdamW

# torch 2.13 in float64: p = [1, -2], the gradient of (p * p * [1, 10]).sum() at each of three steps.
MOMENTUM = [0.783216, 1.08]  # SGD, lr 0.02, momentum 0.9
ADAMW = [0.698911183158232, -1.69494451369627]  # AdamW, lr 0.1, weight_decay 0.01


def walk(optimizer, p, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p * [1.0, 10.0]).sum().backward()
        optimizer.step()
    return p.data


def test_sgd_by_hand():
    p = Parameter([1.0, -2.0])
    np.testing.assert_allclose(walk(SGD([p], lr=0.01), p, steps=2), [0.98**2, -2 * 0.8**2])


def test_sgd_with_momentum_against_torch():
    p = Parameter([1.0, -2.0])
    np.testing.assert_allclose(walk(SGD([p], lr=0.02, momentum=0.9), p), MOMENTUM, rtol=1e-12)


def test_adamw_against_torch():
    p = Parameter([1.0, -2.0])
    np.testing.assert_allclose(walk(AdamW([p], lr=0.1, weight_decay=0.01), p), ADAMW, rtol=1e-12)


def test_float32_parameters_stay_float32():
    for lr in (0.1, np.float64(0.1)):
        for make in (SGD, AdamW):
            p = Parameter(np.array([1, -2], np.float32))
            assert walk(make([p], lr=lr), p).dtype == np.float32


def test_a_parameter_without_a_gradient_stays():
    for make in (SGD, AdamW):
        p, q = Parameter([1.0]), Parameter([1.0])
        (p * 2).sum().backward()
        make([p, q], lr=0.1).step()
        assert q.data == 1 and p.data != 1


def test_a_parameter_that_is_listed_twice_moves_once():
    p = Parameter([1.0])
    (p * 2).sum().backward()
    SGD([p, p], lr=0.1).step()
    assert p.data == 0.8


def test_a_step_leaves_old_arrays_and_recorded_graphs_alone():
    p = Parameter([3.0])
    loss = (p * p).sum()
    before = p.data
    loss.backward()
    SGD([p], lr=0.1).step()
    assert before == 3 and not p.data.flags.writeable
    p.zero_grad()
    loss.backward()
    assert p.grad == 6


def test_zero_grad_forgets():
    p = Parameter([1.0])
    (p * 2).sum().backward()
    SGD([p], lr=0.1).zero_grad()
    assert p.grad is None


@pytest.mark.parametrize("wrong", [Parameter([1.0, 2.0]), Linear(2, 2)], ids=["a parameter", "a module"])
def test_what_is_not_a_list(wrong):
    with pytest.raises(TypeError, match=r"takes a list, such as model.parameters\(\)"):
        SGD(wrong, lr=0.1)


@pytest.mark.parametrize("wrong", [Tensor([1.0]), Parameter([1.0]) * 2, np.ones(2), "weight"])
def test_what_cannot_be_moved(wrong):
    with pytest.raises(TypeError, match="leaves that were made with requires_grad=True"):
        AdamW([wrong], lr=0.1)
