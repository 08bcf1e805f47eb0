"""What a debugger shows in a line: shape, op, name, and the numbers in short, whatever the size."""

import numpy as np
import pytest

from blocks import Stack
from minigrad import Parameter, Tensor, concatenate, scope
from minigrad.backprop import Step


def test_a_tensor():
    x = Tensor([[3.0, 4.0]], requires_grad=True, name="x")
    assert repr(x) == "<Tensor 'x', (1, 2), float64, requires_grad, mean=3.5, norm=5>"
    assert repr(x * 2) == "<Tensor (1, 2), float64, op=multiply, mean=7, norm=10>"
    assert repr(Tensor(2.5)) == "<Tensor (), float64, value=2.5>"
    assert repr(Tensor(np.zeros((0, 3)))) == "<Tensor (0, 3), float64, empty>"
    assert repr(Tensor(np.array([1, 2]))) == "<Tensor (2,), int64, mean=1.5, norm=2.236>"
    assert repr(Tensor(np.array([True, False]))) == "<Tensor (2,), bool, mean=0.5, norm=1>"
    assert repr(Parameter([2.0], name="w")) == "<Parameter 'w', (1,), float64, requires_grad, value=2>"


def test_an_op():
    x = Tensor(np.ones((2, 3)), requires_grad=True)
    with scope("block"), scope("attention"):
        y = x @ np.ones((3, 4))
    assert repr(y.op) == "<op block.attention.matmul((2, 3), (3, 4))>"


def test_a_step():
    x = Tensor([3.0, 4.0], requires_grad=True)
    steps = list((x * np.array([0.0, 2.0])).sum().backprop())
    assert repr(steps[0]) == "<step sum, |grad_output|=1, |grad_inputs|=(1.414)>"
    assert repr(steps[1]) == "<step multiply, |grad_output|=1.414, |grad_inputs|=(2, -)>"
    before = Step(steps[0].tensor, steps[0].op, steps[0].grad_output, None)
    assert repr(before) == "<step sum, |grad_output|=1, |grad_inputs|=()>"


def test_a_module():
    stack = Stack(2, d_model=4, n_heads=2, d_ff=8, bias=False, rng=0)
    assert repr(stack.blocks[1].attention.query) == "<Linear query: 16 parameters>"
    assert repr(stack.blocks[0]) == "<TransformerBlock blocks.0: 144 parameters>"
    assert repr(stack) == "<Stack: 288 parameters>"


@pytest.mark.parametrize("shape", [(1,), (1000, 1000), (1,) * 20])
def test_one_short_line_at_any_size(shape):
    x = Tensor(np.ones(shape), requires_grad=True, name="x")
    (step,) = x.exp().backprop(np.ones(shape))
    for thing in (x, step, step.op, step.tensor):
        assert len(repr(thing)) < 150
        assert "\n" not in repr(thing)


def test_one_short_line_for_many_inputs():
    parts = [Tensor([float(i)], requires_grad=True) for i in range(1000)]
    (step,) = concatenate(parts).backprop(np.ones(1000))
    assert repr(step.op) == "<op concatenate((1,), (1,), (1,), (1,), ...)>"
    assert repr(step) == "<step concatenate, |grad_output|=31.62, |grad_inputs|=(1, 1, 1, 1, ...)>"


@pytest.mark.parametrize("numbers", [[np.inf, -np.inf], [np.nan, 1.0], [1e308, 1e308]])
def test_looking_at_strange_numbers_gives_no_warning(numbers):
    x = Tensor(numbers, requires_grad=True)
    assert "norm=" in repr(x)
    (step,) = (-x).backprop(np.array(numbers))
    assert "|grad_output|=" in repr(step)


def test_the_mean_is_taken_in_double_precision():
    x = Tensor(np.full(100_000, 1000.0, np.float16))
    assert repr(x) == "<Tensor (100000,), float16, mean=1000, norm=3.162e+05>"
