"""The one backward loop: order, steps, fan-out, and what it leaves behind."""

import contextlib
import copy
import gc
import sys
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import Op, Parameter, Tensor
from minigrad.backprop import topological_order
from minigrad.optim import SGD


def test_every_reader_comes_before_what_it_reads():
    x, w = Tensor([1.0, 2.0], requires_grad=True), Tensor([3.0, 4.0], requires_grad=True)
    a = x * w
    b = a + x
    c = b * a
    loss = (c + w).sum()
    order = topological_order(loss)
    place = {tensor: i for i, tensor in enumerate(order)}
    assert len(place) == len(order) and order[0] is loss
    for tensor in order:
        if tensor.op is not None:
            assert all(place[tensor] < place[read] for read in tensor.op.inputs)


def test_steps_show_what_was_delivered():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    y = x * x
    loss = y.sum()
    steps = list(loss.backprop())
    assert [step.op.name for step in steps] == ["sum", "multiply"]
    assert steps[0].tensor is loss and steps[1].tensor is y and steps[1].op is y.op
    assert (steps[1].grad_output == [1, 1]).all()
    assert [grad.tolist() for grad in steps[1].grad_inputs] == [[1, 2], [1, 2]]
    assert "multiply" in repr(steps[1])


def test_leaves_fill_as_the_pass_goes_on():
    x, w = Tensor(2.0, requires_grad=True), Tensor(3.0, requires_grad=True)
    steps = (x.exp() * w).backprop()
    next(steps)
    assert w.grad is None or w.grad == np.exp(2)
    assert x.grad is None
    assert list(steps) and x.grad == 3 * np.exp(2)


def test_every_edge_knows_what_it_delivered():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y, z = x * 3, x * 4
    s = y + z
    s.sum().backward()
    assert (y.op.grad_inputs[0] == 3).all() and (z.op.grad_inputs[0] == 4).all()
    assert (x.grad == y.op.grad_inputs[0] + z.op.grad_inputs[0]).all()
    assert y.op.grad_inputs[1] is None  # a constant


def test_gradients_of_a_graph_without_retaining():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    loss = y.sum()
    loss.backward(retain_grads=False)
    assert (x.grad == [2, 4]).all() and y.grad is None and y.op.grad_inputs is None and loss.grad is None


@pytest.mark.parametrize("n_readers", [1, 2, 3, 10])
def test_fan_out_adds_up(n_readers):
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * 2
    total = sum(h * k for k in range(1, n_readers + 1))
    total.sum().backward()
    assert (h.grad == sum(range(1, n_readers + 1))).all() and (x.grad == 2 * h.grad).all()


def test_shared_nodes_are_walked_once():
    """y = y + y forty times has 2^40 paths and forty nodes."""
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(40):
        y = y + y
    assert len(list(y.backprop())) == 40
    assert x.grad == 2.0**40
    assert copy.deepcopy(y).item() == 2.0**40


def test_many_uses_of_one_parameter_in_float32():
    p = Parameter(np.ones(2, np.float32))
    (p * p + p).sum().backward()
    assert p.grad.dtype == np.float32 and (p.grad == 3).all()


def test_two_passes_interleaved_with_steps():
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    first, second = loss.backprop(), loss.backprop()
    for _ in zip(first, second, strict=True):
        pass
    list(first), list(second)
    assert (x.grad == [4, 8]).all()


def test_a_rule_that_fails_leaves_the_graph_usable():
    class Fails(Op):
        broken = True

        def forward(self, x):
            return x + 0

        def backward(self, grad_y):
            if self.broken:
                raise RuntimeError("broken")
            return (grad_y,)

    x = Tensor([1.0], requires_grad=True)
    y = Fails()(x)
    with pytest.raises(RuntimeError, match="broken"):
        (y * 2).sum().backward()
    assert x.grad is None
    y.op.broken = False
    (y * 2).sum().backward()
    assert x.grad == 2


# Size and memory


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_chain_of_many_ops_needs_no_recursion(no_collector):
    x = Tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = y + 0.5
    last = weakref.ref(y)
    y.backward(retain_grads=False)
    assert x.grad == 1 and "add" in repr(y) and repr(y.op)
    twin = copy.deepcopy(y)
    assert twin.item() == y.item() == 10_001
    del y, twin
    assert last() is None  # freed at once, without the collector


def test_dropping_the_loss_frees_the_graph(no_collector):
    x = Tensor(np.ones((3, 4)), requires_grad=True)
    h = mg.layer_norm(x @ np.ones((4, 4)), np.ones(4), np.zeros(4)).softmax().relu()
    loss = mg.where(h > 0, h, 0).max(axis=0).sum()
    for step in loss.backprop():
        assert step.grad_output is not None
    inner = [weakref.ref(t) for t in (h, loss)] + [weakref.ref(h.op), weakref.ref(loss.op)]
    del h, loss, step
    assert all(reference() is None for reference in inner)


def test_dropping_after_an_error_frees_the_graph(no_collector):
    x = Tensor(np.ones(3), requires_grad=True)
    y = x * 2
    inner = weakref.ref(y)
    with contextlib.suppress(ValueError):
        y @ np.ones(4)
    del y
    assert inner() is None


def test_training_steps_leave_nothing_behind(no_collector):
    w = Parameter(np.ones((4, 4)))
    optimizer = SGD([w], lr=1e-3, momentum=0.9)
    x = np.ones((2, 4))
    blocks = []
    for step in range(300):
        optimizer.zero_grad()
        (Tensor(x) @ w).tanh().sum().backward(retain_grads=step % 2 == 0)
        optimizer.step()
        if step % 100 == 99:
            blocks.append(sys.getallocatedblocks())
    assert max(blocks) - blocks[0] < 50


def test_retained_gradients_are_those_of_the_last_pass_only(no_collector):
    x = Tensor(np.ones(1000), requires_grad=True)
    loss = (x * 2).sum()
    loss.backward()
    old = weakref.ref(loss.op.inputs[0].grad)
    loss.backward()
    assert old() is None
