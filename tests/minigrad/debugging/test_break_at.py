"""break_at: which ops stop, in which frame, and that nothing is left behind."""

import sys

import numpy as np
import pytest

from blocks import Stack
from minigrad import Tensor, add, no_grad, scope
from minigrad.debugging import break_at
from minigrad.ops.activations import Relu
from minigrad.ops.softmax import Softmax
from minigrad.watching import WATCHERS


@pytest.fixture
def stops(monkeypatch):
    """What each stop saw: the function about to call the rule, the op, and whether its rule had run."""
    seen = []

    def hook():
        frame = sys._getframe(1)
        op = frame.f_locals.get("op") or frame.f_locals["self"]
        seen.append((frame.f_code.co_name, op.path, frame))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return seen


def names(stops):
    return [(function, path) for function, path, _ in stops]


def model():
    stack = Stack(2, d_model=4, n_heads=1, d_ff=8, rng=0)
    return stack, Tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True)


def test_stops_at_a_full_name_forward_and_backward(stops):
    stack, x = model()
    with break_at("blocks.1.attention.softmax"):
        (stack(x) * stack(x)).sum().backward()
    assert (
        names(stops)
        == [("__call__", "blocks.1.attention.softmax")] * 2 + [("backprop", "blocks.1.attention.softmax")] * 2
    )


@pytest.mark.parametrize(
    ("where", "paths"),
    [
        ("*.softmax", ["blocks.1.attention.softmax", "blocks.0.attention.softmax"]),
        ("softmax", ["blocks.1.attention.softmax", "blocks.0.attention.softmax"]),
        ("attention.softmax", ["blocks.1.attention.softmax", "blocks.0.attention.softmax"]),
        ("blocks.0.*max", ["blocks.0.attention.softmax"]),
        ("blocks.?.attention.softmax", ["blocks.1.attention.softmax", "blocks.0.attention.softmax"]),
        (Softmax, ["blocks.1.attention.softmax", "blocks.0.attention.softmax"]),
        (Relu, ["blocks.1.feed_forward.relu", "blocks.0.feed_forward.relu"]),
        (
            lambda step: step.op.name == "softmax" and step.grad_inputs is None and step.grad_output.shape == (1, 3, 3),
            ["blocks.1.attention.softmax", "blocks.0.attention.softmax"],
        ),
    ],
)
def test_names_globs_classes_and_conditions(stops, where, paths):
    stack, x = model()
    loss = (stack(x) * 2).norm()
    with break_at(where):
        loss.backward()
    assert names(stops) == [("backprop", path) for path in paths]


def test_brackets_in_the_name_of_a_scope_are_literal(stops):
    """blocks[0] is how a program would write it; brackets mean no choice of characters."""
    x = Tensor([1.0, 2.0], requires_grad=True)
    with scope("blocks[0]"):
        y = x.softmax()
    with scope("blocks0"):
        loss = y.softmax().norm()
    with break_at("blocks[0].softmax"):
        loss.backward()
    assert names(stops) == [("backprop", "blocks[0].softmax")]


def test_a_condition_on_the_size_of_the_gradient(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = ((x.tanh() * 1000.0).sigmoid() * 1e6).sum()
    steps = list(loss.backprop())
    over = [step.op.path for step in steps if np.linalg.norm(step.grad_output) > 1e5]
    with break_at(lambda step: np.linalg.norm(step.grad_output) > 1e5):
        loss.backward()
    assert [path for _, path, _ in stops] == over
    assert over


def test_the_name_of_a_result(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    h.name = "h"
    loss = (h * 3).sum()
    with break_at("h"):
        loss.backward()
    assert names(stops) == [("backprop", "multiply")]


def test_one_direction_alone(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    with break_at("softmax", backward=False):
        loss = x.softmax().norm()
        loss.backward()
    assert names(stops) == [("__call__", "softmax")]
    with break_at("softmax", forward=False):
        loss = x.softmax().norm()
        loss.backward()
    assert names(stops)[1:] == [("backprop", "softmax")]


def test_forward_knows_the_name_and_the_inputs_even_where_nothing_is_recorded(stops):
    x = Tensor([1.0, 2.0], name="x")
    with break_at("block.softmax"), scope("block"), no_grad():
        x.softmax()
    (_, path, frame) = stops[0]
    assert path == "block.softmax"
    assert frame.f_locals["self"].inputs == (x,)


def test_nested_breakpoints_stop_once_at_an_op_that_both_mean(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = x.softmax().norm()
    with break_at("softmax"), break_at(Softmax), break_at("norm"):
        loss.backward()
    assert names(stops) == [("backprop", "norm"), ("backprop", "softmax")]


def test_an_exception_leaves_no_breakpoint_behind(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ZeroDivisionError), break_at("softmax"), break_at(lambda step: 1 / 0):
        x.softmax().norm().backward()
    assert WATCHERS == []
    stops.clear()
    x.softmax().norm().backward()
    assert stops == []


def test_an_error_in_a_condition_is_not_taken_for_one_of_the_op():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"^mine$"), break_at(condition_that_fails):
        x.softmax().norm().backward()


def condition_that_fails(step):
    raise ValueError("mine")


def test_the_same_breakpoint_can_be_used_again(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    at_softmax = break_at("softmax", forward=False)
    for _ in range(2):
        with at_softmax:
            x.softmax().norm().backward()
    assert len(stops) == 2


def test_pythonbreakpoint_zero_means_no_stop(monkeypatch):
    monkeypatch.setattr(sys, "breakpointhook", sys.__breakpointhook__)
    monkeypatch.setenv("PYTHONBREAKPOINT", "0")
    x = Tensor([1.0, 2.0], requires_grad=True)
    with break_at("softmax"):
        x.softmax().norm().backward()
    assert x.grad is not None


def test_a_name_that_never_comes_is_answered_with_those_that_came(stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(UserWarning, match=r"'sofmax'.*stopped nowhere.* softmax") as record, break_at("sofmax"):
        x.softmax().norm().backward()
    assert record[0].filename == __file__
    assert stops == []


def test_the_name_of_a_leaf_is_answered_with_the_ops_that_read_it(stops):
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    with pytest.warns(UserWarning, match=r"'x' is a leaf.* its consumers are multiply, tanh$"), break_at("x"):
        (x.tanh() + x * 2).sum().backward()
    assert stops == []


@pytest.mark.parametrize("where", [3, None, int, Tensor, ["softmax"]])
def test_anything_else_is_refused(where):
    with pytest.raises(TypeError, match="break_at takes the name"):
        break_at(where)


def test_a_function_of_an_op_is_taken_as_a_condition_and_fails_loudly():
    """`add` is no op class: passing it by mistake must not go unnoticed."""
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError), break_at(add):
        x.softmax().norm().backward()


@pytest.mark.parametrize("name", ["blocks[0].softmax", "blocks[0]*", "softmax", "blocks[?].softmax"])
def test_brk_a_brackets_in_a_name_are_no_glob(name, stops):
    x = Tensor([1.0, 2.0], requires_grad=True)
    with scope("blocks[0]"), break_at(name, backward=False):
        x.softmax()
    assert len(stops) == 1
    with pytest.warns(UserWarning, match=r"names such as blocks\[0\]\.softmax"), break_at("blocks[1].softmax"):  # noqa: SIM117
        with scope("blocks[0]"):
            x.softmax()
    assert len(stops) == 1
