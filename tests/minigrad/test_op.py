"""Op: the contract between an op and the engine, kept and broken."""

import sys
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import Op, Tensor, no_grad, scope


class Twice(Op):
    """y = 2 x;   dL/dx = 2 dL/dy."""

    def forward(self, x):
        return 2 * x

    def backward(self, grad_y):
        return (2 * grad_y,)


class Returns(Op):
    """y = x + 0;   its backward returns what it was told to."""

    def __init__(self, result):
        self.result = result

    def forward(self, x):
        return x + 0

    def backward(self, grad_y):
        return self.result


@pytest.fixture
def x():
    return Tensor([[1.0, 2.0, 3.0]], requires_grad=True, name="x")


def test_an_op_is_a_node(x):
    y = Twice()(x)
    assert y.op.inputs == (x,) and y.op.name == "twice" and y.op.grad_inputs is None
    assert repr(y.op) == "<op twice((1, 3))>"
    y.sum().backward()
    assert (y.op.grad_inputs[0] == [[2, 2, 2]]).all() and (x.grad == 2).all()


def test_names_of_ops(x):
    names = (x.layer_norm().op, x.log_softmax().op, x.logsumexp().op, mg.mse_loss(x, x).op, mg.residual_add(x, x).op)
    assert [op.name for op in names] == ["layer_norm", "log_softmax", "logsumexp", "mse_loss", "residual_add"]


def test_scopes_and_paths(x):
    with scope("block"), scope(2):
        y = Twice()(x)
    assert y.op.scope == ("block", "2") and y.op.path == "block.2.twice"
    assert Twice()(x).op.path == "twice"
    assert "block.2.twice" in repr(y.op)


def test_numbers_grow(x):
    y = x * 2
    z = y + x
    assert y.op.number < z.op.number


def test_the_users_line(x):
    y, line = Twice()(x), sys._getframe().f_lineno
    assert (y.op.filename, y.op.lineno) == (__file__, line)
    assert y.op.location == f"{__file__}:{line}"
    z, line = x.layer_norm().softmax() @ np.ones((3, 1)), sys._getframe().f_lineno
    assert z.op.lineno == z.op.inputs[0].op.lineno == line
    assert Twice().location == "an unknown line"


def test_an_op_is_used_once(x):
    op = Twice()
    op(x)
    with pytest.raises(
        RuntimeError, match="twice was used already, and an op is one node of the graph: make a new one"
    ):
        op(x)


def test_arrays_numbers_and_lists_are_constants(x):
    for other in (np.ones(3), 1, 1.0, [1, 1, 1], (1.0, 1.0, 1.0), np.float64(1), True):
        y = mg.add(x, other)
        assert isinstance(y.op.inputs[1], Tensor) and not y.op.inputs[1].requires_grad
        assert (y.data == [[2, 3, 4]]).all()


def test_nothing_is_recorded_without_need(x):
    assert Twice()(x.detach()).op is None
    assert Twice()(np.ones(3)).op is None
    with no_grad():
        assert Twice()(x).op is None
    assert Twice()(x).op is not None


def test_forward_may_return_a_number_or_a_view(x):
    class Size(Op):
        def forward(self, x):
            return 3

        def backward(self, grad_y):
            return (np.zeros((1, 3)),)

    assert Size()(x).data == 3 and Size()(x).shape == ()
    assert x.reshape(3).data.base is not None and not x.reshape(3).data.flags.writeable


def test_forward_cannot_write_into_its_inputs(x):
    class Greedy(Op):
        def forward(self, x):
            x += 1
            return x

    with pytest.raises(ValueError, match=r"greedy\(float64\[1, 3\]\): .*read-only"):
        Greedy()(x)
    assert (x.data == [[1, 2, 3]]).all()


def test_backward_cannot_write_into_its_gradient(x):
    class Greedy(Twice):
        def backward(self, grad_y):
            grad_y *= 2
            return (grad_y,)

    with pytest.raises(ValueError, match="read-only"):
        Greedy()(x).sum().backward()


def test_missing_methods(x):
    class Nothing(Op):
        pass

    with pytest.raises(NotImplementedError, match=r"Nothing has no forward\(self, x, ...\) yet"):
        Nothing()(x)

    class OnlyForward(Op):
        def forward(self, x):
            return x + 0

    with pytest.raises(NotImplementedError, match=r"OnlyForward has no backward\(self, grad_output\) yet"):
        OnlyForward()(x).sum().backward()


@pytest.mark.parametrize(
    ("result", "got"),
    [
        ((), "a tuple of 0"),
        ((np.ones((1, 3)),) * 2, "a tuple of 2"),
        (np.ones((1, 3)), "ndarray"),
        ([np.ones((1, 3))], "list"),
        (None, "NoneType"),
    ],
)
def test_a_rule_that_returns_the_wrong_number_of_gradients(x, result, got):
    with pytest.raises(TypeError, match=rf"returns: .*one gradient per input \(1\).*got {got}\. Op made at .*test_op"):
        Returns(result)(x).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("shape", [(2, 3, 1), (4,), (1, 4), (), (3,), (1, 2)])
def test_a_rule_that_returns_the_wrong_shape(x, shape):
    with pytest.raises(ValueError, match=r"returns: backward, gradient 0: it has shape .* but its input has \(1, 3\)"):
        Returns((np.ones(shape),))(x).sum().backward()


@pytest.mark.parametrize("shape", [(1, 3), (5, 1, 3), (4, 3)])
def test_a_rule_that_returns_a_shape_to_be_summed(x, shape):
    Returns((np.ones(shape),))(x).sum().backward()
    assert (x.grad == np.prod(shape) / 3).all()


@pytest.mark.parametrize("value", [1j * np.ones((1, 3)), np.array([["a", "b", "c"]]), [[1, 2, {}]]])
def test_a_rule_that_returns_no_real_numbers(x, value):
    with pytest.raises(TypeError, match="returns: backward, gradient 0"):
        Returns((value,))(x).sum().backward()


def test_a_rule_may_return_integers_and_lists(x):
    Returns((np.ones((1, 3), int),))(x).sum().backward()
    Returns(([[1, 2, 3]],))(x).sum().backward()
    assert x.grad.dtype == np.float64 and (x.grad == [[2, 3, 4]]).all()


def test_a_rule_may_return_none(x):
    class Second(Op):
        def forward(self, x, y):
            return x + y

        def backward(self, grad_z):
            return None, grad_z

    y = Tensor(np.ones((1, 3)), requires_grad=True)
    z = Second()(x, y)
    z.sum().backward()
    assert x.grad is None and (y.grad == 1).all() and z.op.grad_inputs[0] is None


def frames_entered(function):
    """How many Python frames of minigrad are entered while `function` runs."""
    entered = []

    def look(frame, event, argument):
        if event == "call" and "minigrad" in frame.f_code.co_filename and __file__ != frame.f_code.co_filename:
            entered.append(frame.f_code)

    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
    return entered


def test_frames_of_a_multiplication(x):
    entered = frames_entered(lambda: x * x)
    assert len(entered) <= 4, entered
    assert "forward" in [code.co_name for code in entered]


def test_frames_of_one_nodes_backward(x):
    """The pass of n nodes more takes at most 3 n frames more."""
    short, long = x * x, x * x * x * x * x * x
    frames = [len(frames_entered(lambda y=y: y.backward(np.ones((1, 3))))) for y in (short, long)]
    nodes_more = 4
    additions = 4  # x is read again by each of them, and `total` adds up what comes
    assert frames[1] - frames[0] <= 3 * nodes_more + additions


def test_a_product_and_its_backward_are_read_in_one_sitting():
    """Six files, which minigrad/README.md names in order; together at most 650 lines."""
    folder = Path(mg.__file__).parent
    reading = ["tensor.py", "op.py", "backprop.py", "operators.py", "ops/arithmetic.py", "arrays.py"]
    assert sum(len((folder / name).read_text(encoding="utf-8").splitlines()) for name in reading) <= 650

    x, y = (Tensor(np.ones(3), requires_grad=True) for _ in range(2))
    entered = frames_entered(lambda: (x * y).backward(np.ones(3)))
    assert {Path(code.co_filename) for code in entered} <= {folder / name for name in reading}


def test_a_rule_is_near_to_backward(x):
    """From loss.backward() a rule is at most three frames down."""
    depths = []

    class Deep(Twice):
        def backward(self, grad_y):
            frame, depth = sys._getframe(), 0
            while frame.f_code is not test_a_rule_is_near_to_backward.__code__:
                frame, depth = frame.f_back, depth + 1
            depths.append(depth)
            return (2 * grad_y,)

    Deep()(x).sum().backward()
    assert depths == [3]


@pytest.mark.parametrize("several", [lambda x: (x, x), lambda x: [x, x], lambda x: (x, x[0])])
def test_shp_f_a_forward_returns_one_array(x, several):
    class Split(Twice):
        def forward(self, x):
            return several(x)

    with pytest.raises(TypeError, match="split: forward must return one array, not several"):
        Split()(x)
