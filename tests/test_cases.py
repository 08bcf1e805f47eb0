"""Inputs on which comparable tools went wrong, by id, with the right answers of tests/cases.json; and their siblings.

The cases about drawing (VIZ-..., DBG-09) are in tests/minigrad/drawing.
"""

import copy
import gc
import inspect
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from blocks import LayerNorm, Linear, MultiHeadAttention, Stack, TransformerBlock
from minigrad import Module, Op, Parameter, Tensor, gradcheck
from minigrad.optim import SGD
from tests.differences import assert_slopes, gradients

CASES = {
    case["id"]: case for case in json.loads(Path(__file__).with_name("cases.json").read_text(encoding="utf-8"))["cases"]
}


def inputs(name):
    """The case's inputs as arrays; "nan" and "inf" are text in the file."""
    return [np.array(x["data"], dtype=x["dtype"]).reshape(x["shape"]) for x in CASES[name]["inputs"].values()]


def array(nested):
    return np.array(nested, dtype=np.float64)


def leaves(*arrays):
    return [Tensor(x, requires_grad=True) for x in arrays]


def assert_close(got, expected, rtol=1e-12, atol=1e-15):
    expected = array(expected)
    if expected.size == 0:
        assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, strict=True)


def assert_case(name, function, *, value=None, rtol=1e-12, atol=1e-14):
    """`function` takes the inputs as tensors and returns the loss, or (the value in the file, the loss)."""
    tensors = leaves(*inputs(name))
    result = function(*tensors)
    shown, loss = result if isinstance(result, tuple) else (result, result)
    loss.backward()
    assert_close(shown.data, CASES[name]["expected_value"] if value is None else value, rtol, atol)
    for x, expected in zip(tensors, CASES[name]["expected_grads"].values(), strict=True):
        assert_close(x.grad, expected, rtol, atol)
    return tensors


# Gradient checking


def test_chk_02_a_view_that_is_not_contiguous_is_checked():
    (x,) = inputs("CHK-02")
    weights = array([[1, 2], [3, 4], [5, 6]])
    view = np.ascontiguousarray(x.T).T
    assert not view.flags.c_contiguous
    assert_case("CHK-02", lambda x: (x.sigmoid() * weights).sum())
    assert gradcheck(lambda x: x.sigmoid() * weights, view).compared == 6
    np.testing.assert_array_equal(view, x)


@pytest.mark.parametrize(
    "view",
    [np.ones((4, 6))[::2, ::-3], np.broadcast_to(array([[1.0], [2.0]]), (2, 3)), np.arange(24.0).reshape(2, 3, 4).T],
    ids=["strides", "broadcast", "transposed"],
)
def test_chk_02_other_views(view):
    before = view.copy()
    assert gradcheck(lambda x: (x / 10).tanh(), view).compared == view.size
    np.testing.assert_array_equal(view, before)

    class Wrong(Op):
        def forward(self, x):
            return x * x

        def backward(self, grad_y):
            return (0 * grad_y,)

    def wrong(x):
        return Wrong()(x)

    with pytest.raises(AssertionError, match="expected"):
        gradcheck(wrong, view + 1)


def test_chk_04_a_kink_is_no_error():
    (x,) = inputs("CHK-04")
    assert_case("CHK-04", lambda x: x.relu().sum())
    report = gradcheck(mg.relu, x)
    assert report and report.kinks == [(0, (0,))] and report.compared == 1


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (mg.abs, [0.0, 1.0]),
        (lambda x: mg.maximum(x, 0), [0.0, 1.0]),
        (lambda x: mg.minimum(x, 1), [0.0, 1.0]),
        (lambda x: x.clip(0, 5), [0.0, 1.0]),
        (lambda x: x.max(), [1.0, 1.0]),
        (lambda x: x.min(), [1.0, 1.0]),
        (lambda x: x.norm(), [0.0, 0.0]),
        (lambda x: x.std(), [2.0, 2.0]),
    ],
    ids=["abs", "maximum", "minimum", "clip", "max", "min", "norm", "std"],
)
def test_chk_04_other_kinks(function, x):
    assert gradcheck(function, array(x)).kinks


def test_chk_06_a_plain_sum_tests_nothing():
    (x,) = inputs("CHK-06")
    assert_case("CHK-06", lambda x: (x.softmax(), (x.softmax() * array([1, 2, 3])).sum()))
    for function in (mg.softmax, mg.layer_norm):
        _, (grad,) = gradients(lambda x, f=function: f(x).sum(), [x])
        assert np.abs(grad).max() < 1e-15

    class HalfSoftmax(type(mg.softmax(Tensor(x, requires_grad=True)).op)):
        def backward(self, grad_y):
            return (super().backward(grad_y)[0] / 2,)

    def half(x):
        return HalfSoftmax()(x)

    with pytest.raises(AssertionError, match=r"half \(its result is from half_softmax\)"):
        gradcheck(half, x)


# Seeing gradients


def test_dbg_01_gradients_of_inner_values():
    (x,) = leaves(*inputs("DBG-01"))
    y = x + 2
    z = 3 * y * y
    loss = z.mean()
    loss.backward()
    assert_close(y.grad, np.full((2, 2), 4.5))
    assert_close(z.grad, np.full((2, 2), 0.25))
    assert_close(x.grad, CASES["DBG-01"]["expected_grads"]["x"])
    assert loss.item() == 27 and loss.grad == 1


def test_dbg_05_a_zero_of_arithmetic_keeps_its_nan():
    (x,) = leaves(*inputs("DBG-05"))
    with np.errstate(all="ignore"):
        a = x.log()
        b = x * a
        b.sum().backward()
    assert_close(a.data, [-np.inf, 0])
    assert_close(b.data, [np.nan, 0])
    assert_close(x.grad, CASES["DBG-05"]["expected_grads"]["x"])
    assert a.op.name == "log" and b.op.name == "multiply"


@pytest.mark.parametrize(
    "function",
    [lambda x: x.sqrt() ** 2, lambda x: (x.log() * 2).exp(), lambda x: x / x, lambda x: x * (1 / x).tanh()],
    ids=["sqrt squared", "exp of log", "x / x", "x tanh(1 / x)"],
)
def test_dbg_05_other_zeros_of_arithmetic(function):
    """An honest NaN: the chain rule multiplies 0 by inf here, and no finite number would be right in all of these."""
    with np.errstate(all="ignore"):
        _, (grad,) = gradients(function, [array([0.0, 1.0])])
    assert np.isnan(grad[0]) and np.isfinite(grad[1])


def test_dbg_10_an_error_names_the_op_its_inputs_and_the_users_line():
    class Lazy(Op):
        def forward(self, x):
            return 2 * x

        def backward(self, grad_y):
            return (grad_y[:1],)

    x = Tensor([[1.0, 2.0]] * 3, requires_grad=True)
    line = inspect.currentframe().f_lineno + 1
    y = Lazy()(x)
    assert y.op.location == f"{__file__}:{line}"
    with pytest.raises(ValueError, match=r"lazy: backward, gradient 0.*\(1, 2\).*\(3, 2\)") as error:
        y.sum().backward()
    assert f"{__file__}:{line}" in str(error.value)


def test_dbg_10_an_error_of_forward_names_op_and_shapes():
    with pytest.raises(ValueError, match=r"matmul\(float64\[2, 3\], float64\[2, 3\]\)"):
        Tensor(np.ones((2, 3))) @ Tensor(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"add\(float64\[2\], float64\[3\]\)"):
        Tensor(np.ones(2)) + np.ones(3)


def test_dbg_11_finished_graphs_are_freed_at_once():
    gc.collect()
    others = count_tensors()
    gc.disable()
    try:
        block = TransformerBlock(8, 2, 16, rng=0)
        for _ in range(100):
            block.zero_grad()
            block(np.ones((3, 8))).sum().backward()
        assert count_tensors() - others == len(block.parameters())
    finally:
        gc.enable()


def count_tensors():
    return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())


# The engine


def test_eng_02_a_step_shows_final_gradients():
    a, b = leaves(*inputs("ENG-02"))
    c, d = a + b, a * b
    e, f = c + d, c * d
    y = e + f
    shown = {id(step.tensor): float(step.grad_output) for step in y.backprop()}
    assert shown == {id(y): 1, id(e): 1, id(f): 1, id(c): 7, id(d): 6}
    assert (a.grad, b.grad) == (25, 19) and y.item() == 41


def test_eng_03_backward_twice():
    a, b, d = leaves(*inputs("ENG-03"))
    c = a + b
    e = c * d
    e.backward()
    assert [t.grad for t in (a, b, d, c, e)] == [1, 1, 5, 1, 1]
    e.backward()
    assert [t.grad for t in (a, b, d, c, e)] == [2, 2, 10, 1, 1]
    for t in (a, b, d):
        t.zero_grad()
    e.backward()
    assert [t.grad for t in (a, b, d)] == [1, 1, 5]


def test_eng_03_two_losses_on_one_graph():
    (x,) = leaves(array([1.0, 2.0]))
    h = x * x
    h.sum().backward()
    (3 * h).sum().backward()
    assert_close(x.grad, [8, 16])
    assert_close(h.grad, [3, 3])


def test_eng_04_a_long_chain():
    (x,) = leaves(*inputs("ENG-04"))
    y = x
    for _ in range(10_000):
        y = y + x
    y.backward()
    assert y.item() == 10001 and x.grad == 10001
    assert "add" in repr(y)
    assert copy.deepcopy(y).item() == 10001
    del y


def test_eng_08_reflected_operators():
    assert_case("ENG-08", lambda x: sum([x, x]) + (1 - x) * 2 + 6 / x)
    assert_slopes(lambda x: 2**x - 3 / x + (4 - x) * 5 + 6 + x, [3.0, 0.5])


def test_eng_10_an_array_on_the_left():
    assert_case("ENG-10", lambda t: (u := array([1, 2]) * t, u.sum()))
    left = array([1.0, 2.0])
    for function, value, grad in (
        (lambda t: left + t, [4, 6], [1, 1]),
        (lambda t: left - t, [-2, -2], [-1, -1]),
        (lambda t: left / t, [1 / 3, 1 / 2], [-1 / 9, -1 / 8]),
        (lambda t: left**t, [1, 16], [0, 16 * np.log(2)]),
        (lambda t: left @ t, 11, [1, 2]),
        (lambda t: np.float64(2.0) * t, [6, 8], [2, 2]),
        (lambda t: np.float32(2.0) * t, [6, 8], [2, 2]),
        (lambda t: np.int64(2) - t, [-1, -2], [-1, -1]),
        (lambda t: array(2.0) * t, [6, 8], [2, 2]),
    ):
        (t,) = leaves(*inputs("ENG-10"))
        u = function(t)
        assert type(u) is Tensor
        assert_close(u.data, value)
        u.sum().backward()
        assert_close(t.grad, grad)
    assert ((array([1.0, 9.0]) < t) == [True, False]).all()


def test_eng_12_gradients_share_no_memory():
    x, y = leaves(*inputs("ENG-12"))
    z = x + y
    loss = z.sum() + (x * 3).sum()
    loss.backward()
    assert_close(x.grad, [4, 4])
    assert_close(y.grad, [1, 1])
    assert_close(z.grad, [1, 1])
    for first, second in ((x, y), (x, z), (y, z)):
        assert not np.shares_memory(first.grad, second.grad)
    x.grad += 1  # a user may: nothing else changes
    assert_close(y.grad, [1, 1])
    loss.backward()
    assert_close(x.grad, [9, 9])


def test_eng_12_gradients_share_no_memory_through_ops_that_pass_them_on():
    x, y = leaves(np.ones((2, 3)), np.ones((2, 3)))
    inner = [x - y, mg.residual_add(x, y), x.reshape(3, 2), x.T, x.swapaxes(0, 1), x.broadcast_to((2, 2, 3)), x[:1]]
    inner += [mg.concatenate([x, y]), mg.stack([x, y]), x.sum(axis=0), mg.where(True, x, y)]
    outer = [t.sum() for t in inner]
    sum(outer).backward()
    grads = [t.grad for t in (x, y, *inner, *outer)]
    for i, first in enumerate(grads):
        assert all(not np.shares_memory(first, second) for second in grads[i + 1 :])


def test_eng_13_backward_on_a_leaf():
    assert_case("ENG-13", lambda x: x)


def test_eng_14_the_same_input_twice():
    assert_case("ENG-14", lambda a: (a + a) - a * 0.5)
    (a,) = leaves(array([2.0, 3.0]))
    for function in (lambda: a * a, lambda: a / a, lambda: a - a, lambda: a @ a, lambda: mg.maximum(a, a)):
        y = function()
        assert y.op.inputs == (a, a)
    assert_slopes(lambda a: mg.concatenate([a, a * a, a]) ** 2, [2.0, 3.0])
    assert_slopes(lambda a: a @ a + mg.einsum("i,i->", a, a) + mg.mse_loss(a, a * a), [2.0, 3.0])


def test_eng_17_a_comparison_is_a_constant():
    assert_case("ENG-17", lambda t: (t * (t < 0)).sum())
    (t,) = leaves(*inputs("ENG-17"))
    for mask in (t > 0, t >= 0, t <= 0, t == 2, t != 2, t > Tensor(0.0)):
        assert isinstance(mask, np.ndarray) and mask.dtype == bool


def test_eng_18_integers_have_no_gradient():
    integers = np.array([1, 2, 3], dtype=np.int64)
    for data in (integers, integers.astype(np.uint8), integers > 1):
        with pytest.raises(TypeError, match=r"floating first, as in Tensor\(array.astype\(np.float64\)"):
            Tensor(data, requires_grad=True)
        with pytest.raises(TypeError, match="floating"):
            Parameter(data)
    assert Tensor(integers).dtype == np.int64
    assert_case("ENG-18", lambda x: (x * 0.5).sum())
    x = Tensor([1, 2, 3], requires_grad=True)  # Python numbers are float64
    (x * 0.5).sum().backward()
    assert_close(x.grad, [0.5, 0.5, 0.5])
    scale = Tensor(0.5, requires_grad=True)
    (scale * integers).sum().backward()
    assert scale.grad == 6


def test_eng_20_an_inner_name_keeps_its_gradient():
    a0, b = leaves(*inputs("ENG-20"))
    a = a0 * 0.1
    c = a + b
    c.backward()
    assert (a.grad, a0.grad, b.grad, c.grad) == (1, 0.1, 1, 1)
    c.backward(retain_grads=False)
    assert a.grad is None  # None, and not the number of another pass


def test_eng_23_backward_of_many_numbers():
    (x,) = leaves(*inputs("ENG-23"))
    y = x * x
    with pytest.raises(ValueError, match=r"shape \(2,\).*sum.*backward\(grad\)"):
        y.backward()
    for seed in ([1.0], [[1.0, 2.0]], 1.0, [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match=r"this tensor has shape \(2,\)"):
            y.backward(seed)
    for seed in (["1", "2"], [1j, 2], None):
        with pytest.raises((TypeError, ValueError)):
            y.backward(seed)
    assert x.grad is None
    for seed in ([1, 10], array([1, 10]), np.array([1, 10], np.float32), np.array([1, 10]), Tensor([1, 10])):
        x.zero_grad()
        y.backward(seed)
        assert_close(x.grad, CASES["ENG-23"]["expected_grads"]["x"])


def test_eng_27_what_backward_needs_cannot_be_overwritten():
    (a,) = leaves(*inputs("ENG-27"))
    b = a.sigmoid()
    with pytest.raises(TypeError, match="cannot be written into"):
        b[1] = 2
    with pytest.raises(ValueError, match="read-only"):
        b.data[1] = 2
    keep = array([1, 0, 1]) > 0
    mg.where(keep, b, 2).sum().backward()
    assert_close(a.grad, CASES["ENG-27"]["expected_grads"]["a"], atol=1e-14)

    mine = array([3.0])
    x = Tensor(mine, requires_grad=True)
    y = x * x
    mine[0] = 30  # the user's array, of which the tensor has a copy
    y.backward()
    assert_close(x.grad, [6])
    with pytest.raises(ValueError, match="read-only"):
        x.data[0] = 30


def test_eng_27_an_array_that_was_assigned_cannot_change_what_was_recorded():
    mine = array([3.0])
    x = Tensor([0.0], requires_grad=True)
    x.data = mine
    y = x * x
    mine[0] = 30
    y.backward()
    assert_close(x.grad, [6])
    x.data = array([5.0])  # a new array for the leaf: the recorded graph still has the old one
    y.backward()
    assert_close(x.grad, [12])


# Numerics


def assert_zero_times_inf(function, cured, x, value, grad, right):
    """The value is right; 0 * inf makes NaN of the gradient, and `why` tells; the cured form's gradient is right."""
    leaf = Tensor(x, requires_grad=True)
    with np.errstate(all="ignore"):
        y = function(leaf)
        y.backward(np.ones(y.shape))
        cured_value, (cured_grad,) = gradients(cured, [array(x)])
    assert_close(y.data, value)
    assert_close(leaf.grad, grad)
    assert np.isnan(leaf.grad).any()
    assert_close(cured_value, value)
    assert_close(cured_grad, right)
    return mg.why(leaf, y)


def test_num_01_the_branch_that_where_did_not_take():
    """NaN, as in PyTorch and JAX; but sqrt is named, and the zero of where. With a safe input the slope is 1."""
    with np.errstate(invalid="ignore"):
        x = Tensor(*inputs("NUM-01"), requires_grad=True, name="x")
        loss = mg.where(x > 0, x.sqrt(), x).sum()
        loss.backward()
    assert_close(loss.data, -5)
    assert np.isnan(x.grad).all()
    answer = mg.why(x, loss)
    assert (answer.verdict, answer.cause.name) == ("nan", "sqrt")
    assert "0 * nan is NaN: the slope of sqrt is nan there, and the gradient that came is 0" in str(answer)
    assert f"zero from  where, which did not take that element, made at {__file__}:" in str(answer)
    assert "cure       a safe input for sqrt where its result is not taken: sqrt(where(condition, x, 1))" in str(answer)
    assert_case("NUM-01", lambda x: mg.where(x > 0, mg.where(x > 0, x, 1).sqrt(), x).sum())


FIRST = [[True], [False]]  # of two rows


@pytest.mark.parametrize(
    ("function", "cured", "x", "value", "grad", "right", "culprit", "cure"),
    [
        (
            lambda x: mg.where(x > 0, x.sqrt(), x),
            lambda x: mg.where(x > 0, mg.where(x > 0, x, 1).sqrt(), x),
            *([-1, 0, 4], [-1, 0, 2], [np.nan, np.nan, 0.25], [1, 1, 0.25]),
            *("sqrt", "sqrt(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where(x > 0, x.log(), x),
            lambda x: mg.where(x > 0, mg.where(x > 0, x, 1).log(), x),
            *([-1, 0, 4], [-1, 0, np.log(4)], [1, np.nan, 0.25], [1, 1, 0.25]),
            *("log", "log(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where(x > 0, 1 / x, x),
            lambda x: mg.where(x > 0, 1 / mg.where(x > 0, x, 1), x),
            *([-1, 0, 4], [-1, 0, 0.25], [1, np.nan, -1 / 16], [1, 1, -1 / 16]),
            *("divide", "divide(x, where(condition, y, 1))"),
        ),
        (
            lambda x: mg.where(x > 0, x**-0.5, x),
            lambda x: mg.where(x > 0, mg.where(x > 0, x, 1) ** -0.5, x),
            *([-1, 0, 4], [-1, 0, 0.5], [np.nan, np.nan, -1 / 16], [1, 1, -1 / 16]),
            *("power", "power(where(condition, x, 1), p)"),
        ),
        (
            lambda x: mg.where(x > 0, x / 0, 2 * x),
            lambda x: mg.where(x > 0, x / mg.where(x > 0, 0, 1), 2 * x),
            *([-1, 0], [-2, 0], [np.nan, np.nan], [2, 2]),
            *("divide", "divide(x, where(condition, y, 1))"),
        ),
        (
            lambda x: mg.where(x < 900, x.exp(), x),
            lambda x: mg.where(x < 900, mg.where(x < 900, x, 1).exp(), x),
            *([0, 1000], [1, 1000], [1, np.nan], [1, 1]),
            *("exp", "exp(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where(x > 0, x.log().exp().sqrt(), x),
            lambda x: mg.where(x > 0, mg.where(x > 0, x, 1).log().exp().sqrt(), x),
            *([-1, 0, 4], [-1, 0, 2], [np.nan, np.nan, 0.25], [1, 1, 0.25]),
            *("sqrt", "sqrt(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where(x > 0, mg.where(x > 1, (x - 1).sqrt(), x), -x),
            lambda x: mg.where(x > 0, mg.where(x > 1, (mg.where(x > 1, x, 2) - 1).sqrt(), x), -x),
            *([-1, 1, 5], [1, 1, 2], [np.nan, np.nan, 0.25], [-1, 1, 0.25]),
            *("sqrt", "sqrt(where(condition, x, 1))"),
        ),
        (
            lambda x: x.where(x <= 0, x.sqrt()),
            lambda x: x.where(x <= 0, mg.where(x <= 0, 1, x).sqrt()),
            *([-1, 0, 4], [-1, 0, 2], [np.nan, np.nan, 0.25], [1, 1, 0.25]),
            *("sqrt", "sqrt(where(condition, 1, x))"),
        ),
        (
            lambda x: mg.where(x > 0, x.sqrt().T.reshape(3)[::-1][::-1], x),
            lambda x: mg.where(x > 0, mg.where(x > 0, x, 1).sqrt().T.reshape(3)[::-1][::-1], x),
            *([-1, 0, 4], [-1, 0, 2], [np.nan, np.nan, 0.25], [1, 1, 0.25]),
            *("sqrt", "sqrt(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where(x > 0, (x.sqrt() * 3 + 1).exp(), x),
            lambda x: mg.where(x > 0, (mg.where(x > 0, x, 1).sqrt() * 3 + 1).exp(), x),
            *([0, 4], [0, np.exp(7)], [np.nan, np.exp(7) * 0.75], [1, np.exp(7) * 0.75]),
            *("sqrt", "sqrt(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where([False, True], x.sqrt(), 2),
            lambda x: mg.where([False, True], mg.where([False, True], x, 1).sqrt(), 2),
            *([0, 4], [2, 2], [np.nan, 0.25], [0, 0.25]),
            *("sqrt", "sqrt(where(condition, x, 1))"),
        ),
        (
            lambda x: mg.where(FIRST, x / x.norm(axis=-1, keepdims=True), 0),
            lambda x: mg.where(FIRST, x / mg.where(FIRST, x.norm(axis=-1, keepdims=True), 1), 0),
            *([[3, 4], [0, 0]], [[0.6, 0.8], [0, 0]]),
            *([[0.032, -0.024], [np.nan, np.nan]], [[0.032, -0.024], [0, 0]]),
            *("divide", "divide(x, where(condition, y, 1))"),
        ),
    ],
)
def test_num_01_other_slopes(function, cured, x, value, grad, right, culprit, cure):
    answer = assert_zero_times_inf(function, cured, array(x), value, grad, right)
    assert answer.cause.name == culprit
    assert "zero from  where, which did not take that element" in str(answer)
    assert cure in str(answer)


def test_num_01_an_infinite_slope_that_was_taken():
    with np.errstate(over="ignore"):
        y, (grad,) = gradients(lambda x: mg.where(x < 9, x, x.exp()), [array([1, 1000])])
    assert_close(y, [1, np.inf])
    assert_close(grad, [1, np.inf])


ROW_SLOPES = {
    "sum": lambda x: x.sqrt().sum(axis=-1, keepdims=True),
    "mean": lambda x: x.log().mean(axis=-1, keepdims=True),
    "max": lambda x: x.sqrt().max(axis=-1, keepdims=True),
    "prod": lambda x: (1 / x).prod(axis=-1, keepdims=True),
    "var": lambda x: x.log().var(axis=-1, keepdims=True),
    "std": lambda x: x.log().std(axis=-1, keepdims=True),
    "norm": lambda x: x.log().norm(axis=-1, keepdims=True),
    "logsumexp": lambda x: x.log().logsumexp(axis=-1, keepdims=True),
    "cumsum": lambda x: x.sqrt().cumsum(axis=-1),
    "softmax": lambda x: x.sqrt().softmax(),
    "log_softmax": lambda x: x.sqrt().log_softmax(),
    "layer_norm": lambda x: x.log().layer_norm(),
    "rms_norm": lambda x: x.log().rms_norm(),
    "matmul": lambda x: x.log() @ [[1.0, 2.0], [3.0, 4.0]],
    "linear": lambda x: mg.linear(x.log(), [[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]),
    "matmul with a vector": lambda x: (x.log() @ [1.0, 2.0]).reshape(2, 1),
    "divided by its sum": lambda x: x / x.sqrt().sum(axis=-1, keepdims=True),
    "concatenate": lambda x: mg.concatenate([x.log(), x.sqrt()], axis=-1),
    "stack": lambda x: mg.stack([x.log(), x.sqrt()], axis=-1).sum(axis=-1),
}


@pytest.mark.parametrize("name", ROW_SLOPES)
def test_num_01_a_row_that_was_not_taken(name):
    """Another row's gradient is what it is alone, that of the row itself is NaN, and 0 if its input is safe."""
    function = ROW_SLOPES[name]
    x = Tensor([[2.0, 3.0], [-1.0, 0.0]], requires_grad=True)
    with np.errstate(all="ignore"):
        loss = mg.where(FIRST, function(x), 0).tanh().sum()
        loss.backward()
        _, (alone,) = gradients(lambda x: function(x)[:1].tanh(), [np.concatenate([x.data[:1], x.data[:1]])])
    assert_close(x.grad[0], alone[0])
    assert np.isnan(x.grad[1]).any()
    answer = str(mg.why(x, loss))
    assert "the gradient that came is 0" in answer
    assert "zero from  where, which did not take that element" in answer
    _, (cured,) = gradients(lambda x: mg.where(FIRST, function(mg.where(FIRST, x, 1)), 0).tanh(), [x.data])
    assert_close(cured, [alone[0], [0, 0]])


def test_num_01_weights_behind_a_row_that_was_not_taken():
    """A bias is only added, so its gradient is finite; weights and gain are multiplied by the row's NaN."""
    x = array([[2.0, 3.0], [-1.0, 0.0]])

    def product(w, x):
        return mg.where(FIRST, x.log() @ w, 0)

    def norm(gain, bias, x):
        return mg.where(FIRST, mg.layer_norm(x.log(), gain, bias), 0)

    def safe(x):
        return mg.where(FIRST, x, 1)

    w = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="w")
    with np.errstate(all="ignore"):
        loss = product(w, Tensor(x)).sum()
        loss.backward()
        assert np.isnan(w.grad).all()
        answer = mg.why(w, loss)
        _, (gain, bias) = gradients(lambda g, b: norm(g, b, Tensor(x)), [np.ones(2), np.zeros(2)])
        assert np.isnan(gain).all()
        assert_close(bias, [1, 1])
    assert answer.cause.name == "matmul"
    assert "zero from  where, which did not take that element" in str(answer)
    assert "matmul(where(condition, x, 1), y)" in str(answer)

    _, (grad,) = gradients(lambda w: product(w, safe(Tensor(x))), [w.data])
    assert_close(grad, np.log(x[:1]).T @ np.ones((1, 2)))
    _, (gain, bias) = gradients(lambda g, b: norm(g, b, safe(Tensor(x))), [np.ones(2), np.zeros(2)])
    assert np.isfinite(gain).all() and (gain != 0).all()
    assert_close(bias, [1, 1])


@pytest.mark.parametrize(
    ("function", "x", "grad", "zero"),
    [
        (lambda x: mg.where(x >= 0, x.sqrt() ** 2, 0), [0.0, 4.0], [np.nan, 1], "power, which passes 0 on to its x"),
        (lambda x: x.sqrt() * x, [0.0, 4.0], [np.nan, 3], "multiply, which passes 0 on to its x"),
        (lambda x: x.sqrt().relu(), [0.0, 4.0], [np.nan, 0.25], "relu, which passes 0 on to its x"),
    ],
)
def test_num_01_a_zero_that_arithmetic_made_is_not_taken_for_one_of_where(function, x, grad, zero):
    """The slope of sqrt(x)^2 is 1, but 0 * inf on the way there is NaN: anything finite but 1 would be a lie."""
    x = Tensor(x, requires_grad=True)
    with np.errstate(all="ignore"):
        y = function(x)
        y.backward(np.ones(2))
    assert_close(x.grad, grad)
    answer = mg.why(x, y)
    assert answer.cause.name == "sqrt"
    assert "0 * inf is NaN: the slope of sqrt is inf there" in str(answer)
    assert f"zero from  {zero}" in str(answer)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sqrt()[1:],
        lambda x: x.sqrt()[[1]],
        lambda x: x.sqrt()[[False, True]],
        lambda x: (x.sqrt() + 1)[-1] - 1,
        lambda x: mg.stack([x, x.sqrt()])[1, 1],
    ],
    ids=["slice", "list", "mask", "int", "int of a stack"],
)
def test_num_01_an_element_that_an_index_left_out(function):
    answer = assert_zero_times_inf(
        function,
        lambda x: function(mg.where([False, True], x, 1)),
        array([0.0, 4.0]),
        function(Tensor([0.0, 4.0])).data,
        [np.nan, 0.25],
        [0, 0.25],
    )
    assert answer.cause.name == "sqrt"
    assert "zero from  getitem, which did not take that element" in str(answer)
    assert "take the index first: sqrt(x[index])" in str(answer)


def test_num_09_slopes_of_powers_at_0():
    assert_case("NUM-09", lambda x: (y := x ** array([0, 1, 2, 1.5]), y.sum()))
    with np.errstate(divide="ignore"):
        y, (grad,) = gradients(lambda x: x ** array([0.5, -1]), [array([0.0, 0.0])])
    assert_close(y, [0, np.inf])
    assert_close(grad, [np.inf, -np.inf])
    for p in (0, 1, 2, 1.5):
        _, (grad,) = gradients(lambda x, p=p: x**p, [array(0.0)])
        assert grad == (p == 1)


def test_num_09_slopes_in_the_exponent():
    _, (grad,) = gradients(lambda p: 0**p, [array([1.0, 2.0])])
    assert_close(grad, [0, 0])
    _, (grad,) = gradients(lambda x: x**0, [array([np.inf, -2.0, 0.0])])
    assert_close(grad, [0, 0, 0])


def test_num_10_a_negative_base():
    assert_case("NUM-10", lambda x: (x**3).sum())
    for p in (3, 3.0, np.int64(3), np.float64(3), array([3.0, 3.0]), Tensor(3.0)):
        _, (grad,) = gradients(lambda x, p=p: x**p, inputs("NUM-10"))
        assert_close(grad, [12, 27])
    assert_slopes(lambda x: x**-2 + x**2 + x**1 + x**0, [-2.0, -3.0])


def test_num_11_products_with_zeros():
    assert_case("NUM-11", mg.prod)
    for x, expected in (([0, 0, 3], [0, 0, 0]), ([2, 0, 4], [0, 8, 0]), ([0.0], [1]), ([-0.0, 2], [2, 0])):
        _, (grad,) = gradients(mg.prod, [array(x)])
        assert_close(grad, expected)
    x = array([[[0, 2], [3, 0]], [[0, 0], [5, 7]]])
    for axis in (0, 1, -1, (0, 2), (2, 1), None):
        assert_slopes(lambda x, axis=axis: x.prod(axis=axis), x)


def test_num_14_ties_share():
    assert_case("NUM-14", mg.max)
    for function, x, expected in (
        (mg.min, [2, 1, 1], [0, 0.5, 0.5]),
        (lambda x: x.max(axis=0), [[1, 5], [1, 4]], [[0.5, 1], [0.5, 0]]),
        (lambda x: x.min(axis=(0, 1), keepdims=True), [[1, 1], [1, 1]], np.full((2, 2), 0.25)),
        (lambda x: x.max(axis=-1), [[np.inf, np.inf, 0]], [[0.5, 0.5, 0]]),
        (lambda x: mg.maximum(x, 2), [1, 2, 3], [0, 0.5, 1]),
        (lambda x: mg.minimum(x, 2), [1, 2, 3], [1, 0.5, 0]),
        (lambda x: mg.maximum(x, x), [1, 2], [1, 1]),
        (lambda x: mg.minimum(x, x), [1, 2], [1, 1]),
    ):
        _, (grad,) = gradients(function, [array(x)])
        assert_close(grad, expected)


def test_num_15_kinks_at_0():
    assert_case("NUM-15", lambda x: x[0].relu() + mg.maximum(x[1], 0) + abs(x[2]))
    for zero in (0.0, -0.0):
        assert gradients(mg.relu, [array(zero)])[1] == [0]
        assert gradients(mg.abs, [array(zero)])[1] == [0]
        assert gradients(lambda x: mg.minimum(x, 0), [array(zero)])[1] == [0.5]


def test_num_16_clip_at_its_bounds():
    assert_case("NUM-16", lambda x: x.clip(0, 1).sum())
    _, (grad,) = gradients(lambda x: x.clip(low=0), [array([-1.0, 0, 5])])
    assert_close(grad, [0, 1, 1])
    _, (grad,) = gradients(lambda x: x.clip(high=0), [array([-1.0, 0, 5])])
    assert_close(grad, [1, 1, 0])


def test_num_19_layer_norm_of_a_constant_row():
    weights = array([1, 2, 3])
    assert_case("NUM-19", lambda x: (y := x.layer_norm(eps=1e-5), (y * weights).sum()), rtol=1e-12)
    for constant in (0.0, 0.1, 1e-300, -7e9):
        y, (grad,) = gradients(lambda x: x.layer_norm(eps=1e-5), [np.full((2, 3), constant)], np.tile(weights, (2, 1)))
        assert_close(y, np.zeros((2, 3)), atol=1e-9 * abs(constant) + 1e-14)
        assert_close(grad, np.tile([-316.2277660168379, 0, 316.2277660168379], (2, 1)), rtol=1e-9, atol=1e-9)
    _, (grad,) = gradients(lambda x: x.rms_norm(eps=1e-5), [np.zeros(3)], weights)
    assert_close(grad, weights / np.sqrt(1e-5))


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, 1e10 / 7, -1e-300])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_num_19_std_and_norm_of_a_constant(constant, axis):
    """Slope 0, also where the mean of n equal numbers is not that number, as for three times 0.1."""
    x = np.full((3, 7), constant)
    y, (grad,) = gradients(lambda x: x.std(axis=axis).sum(), [x])
    assert y == 0
    assert_close(grad, np.zeros((3, 7)))
    _, (grad,) = gradients(lambda x: x.norm(axis=axis).sum(), [0 * x])
    assert_close(grad, np.zeros((3, 7)))


def test_num_20_a_row_that_may_attend_to_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_case("NUM-20", lambda s, v: (out := s.softmax() @ v, out.sum()))


@pytest.mark.parametrize("axis", [0, -1, (0, 1)])
@pytest.mark.parametrize("function", [mg.softmax, mg.logsumexp, mg.log_softmax])
def test_num_20_other_axes_and_functions(function, axis):
    s = np.full((2, 2, 3), -np.inf)
    s[..., 1] = [[0, 1], [2, 3]]
    s[1, 0] = -np.inf
    with np.errstate(all="raise"):
        _, (grad,) = gradients(lambda s: function(s, axis=axis), [s])
    assert np.isfinite(grad).all()
    everywhere = np.all(s == -np.inf, axis=axis, keepdims=True)
    assert (grad[np.broadcast_to(everywhere, s.shape)] == 0).all()


@pytest.mark.parametrize("causal", [False, True])
def test_num_20_attention_that_may_attend_to_nothing(causal):
    attention = MultiHeadAttention(4, 2, causal=causal, rng=0)
    x = Tensor(np.random.default_rng(1).standard_normal((2, 3, 4)), requires_grad=True)
    mask = np.ones((2, 3, 3), bool)
    mask[0, 0] = False
    y = attention(x, mask)
    y.sum().backward()
    assert (attention.weights[0, :, 0] == 0).all()
    assert_close(y.data[0, 0], attention.output.bias.data)
    assert all(np.isfinite(t.grad).all() for t in (x, *attention.parameters()))


def test_num_21_a_row_that_the_loss_never_uses():
    x = array([[1, 2], [3, 4]])
    hidden = array([[0, 0], [-np.inf, -np.inf]])

    def function(W):
        p = (x @ W + hidden).softmax()
        return p[0], (p[0] * array([1, 3])).sum()

    assert_case("NUM-21", function)


UNUSED_ROW = (
    (lambda W, x: (x @ W).softmax()[0], [1, 3], "getitem"),
    (lambda W, x: (x @ W).log_softmax()[0], [1, 3], "getitem"),
    (lambda W, x: (x @ W).layer_norm()[0], [1, 3], "getitem"),
    (lambda W, x: mg.linear(x, W, np.ones(2)).tanh()[0], [1, 3], "getitem"),
    (lambda W, x: (x @ W)[[0]].sum(axis=-1), [1], "getitem"),
    (lambda W, x: (x @ W).std(axis=-1)[:1], [1], "getitem"),
    (lambda W, x: mg.where(np.arange(len(x))[:, None] < 1, x @ W, 0).sum(axis=0), [1, 3], "where"),
)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("function", "weights", "zeroing"), UNUSED_ROW)
def test_num_21_a_bad_row_that_the_loss_never_uses(function, weights, zeroing, bad):
    """0 times its NaN is NaN in the shared weights, and `why` tells; with finite numbers in that row all is right."""
    x = array([[1, 2], [bad, bad]])
    W = Tensor([[1.0, 2.0], [0.0, 1.0]], requires_grad=True, name="W")
    with np.errstate(invalid="ignore"):
        y = function(W, Tensor(x, name="x"))
        y.backward(array(weights))
    assert np.isfinite(y.data).all()
    assert np.isnan(W.grad).all()
    answer = str(mg.why(W, y))
    assert "the gradient that came is 0" in answer
    assert f"zero from  {zeroing}, which did not take that element" in answer
    _, (alone,) = gradients(lambda W: function(W, Tensor(x[:1])), [W.data], array(weights))
    for padding in (0.0, 1.0, -1e100):
        padded = Tensor(np.where(np.isfinite(x), x, [padding, padding / 3]))
        _, (grad,) = gradients(lambda W, padded=padded: function(W, padded), [W.data], array(weights))
        assert_close(grad, alone)


def test_num_21_padding_gets_exact_zeros():
    """Finite numbers in the rows that pad a batch: their gradient is 0, and they change no weight's."""
    attention = MultiHeadAttention(4, 2, rng=0)
    tokens = np.random.default_rng(0).standard_normal((5, 4))
    tokens[3:] = 1e3
    x = Tensor(tokens, requires_grad=True)
    attention(x, np.broadcast_to(np.arange(5) < 3, (5, 5)))[:3].sum().backward()
    assert (x.grad[3:] == 0).all()
    padded = [parameter.grad for parameter in attention.parameters()]
    attention.zero_grad()
    attention(Tensor(tokens[:3])).sum().backward()
    for parameter, grad in zip(attention.parameters(), padded, strict=True):
        assert_close(grad, parameter.grad)


def test_num_22_a_row_that_is_partly_masked():
    weights = array([1, 5, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_case("NUM-22", lambda s: (p := s.softmax(), (p * weights).sum()), atol=1e-15)
    s = array([0.0, -np.inf, np.log(3)])
    _, (grad,) = gradients(mg.logsumexp, [s])
    assert_close(grad, [0.25, 0, 0.75])
    y, (grad,) = gradients(lambda s: s.log_softmax()[2], [s])
    assert_close(y, np.log(0.75))
    assert_close(grad, [-0.25, 0, 0.25])


def test_num_24_far_apart_logits():
    assert_case("NUM-24", lambda z: mg.cross_entropy(z, 0))
    for far in (1e3, 1e15, 1e300):
        loss, (grad,) = gradients(lambda z: mg.cross_entropy(z, [0, 1]), [array([[0.0, far], [0.0, far]])])
        assert_close(loss, far / 2)
        assert_close(grad, [[-0.5, 0.5], [0, 0]])
    for offset in (1e9, -1e15, 1e300):
        loss, (grad,) = gradients(lambda z: mg.cross_entropy(z, [0]), [np.full((1, 2), offset)])
        assert_close(loss, np.log(2))
        assert_close(grad, [[-0.5, 0.5]])
        assert_close(mg.log_softmax(Tensor([offset, offset])).data, [-np.log(2)] * 2)


def test_num_25_one_hot_times_log_probability():
    assert_case("NUM-25", lambda z: -(array([1, 0]) * z.log_softmax()).sum())
    y, (grad,) = gradients(lambda z: -(array([0, 1]) * z.log_softmax()).sum(), [array([1000.0, 0])])
    assert y == 1000
    assert_close(grad, [1, -1])


def test_num_26_saturation_without_a_warning():
    with np.errstate(all="raise"):
        assert_case("NUM-26", lambda x: x.sigmoid().sum() + x.tanh().sum())
        for function in (mg.sigmoid, mg.tanh, mg.silu, mg.gelu, mg.relu):
            for size in (740.0, 750.0, 1e4, 1e155, 1e300):
                _, (grad,) = gradients(function, [array([-size, size])])
                expected = [0, 0] if function in (mg.sigmoid, mg.tanh) else [0, 1]
                np.testing.assert_allclose(grad, expected, atol=1e-300)
        for function in (mg.softmax, mg.log_softmax, mg.logsumexp):
            gradients(function, [array([-1e4, 0, 1e4])])


# Shapes


def test_shp_01_a_0d_parameter():
    v, _ = assert_case("SHP-01", lambda v, c: (c * v).sum())
    assert v.grad.shape == ()
    for shape in ((1,), (1, 1), (2,)):
        (v,) = leaves(np.full(shape, 3.0))
        (v * np.ones((4, 2)) / v + v - v**2).sum().backward()
        assert v.grad.shape == shape


def test_shp_02_a_column_times_a_matrix():
    assert_case("SHP-02", lambda h, m: (h * m).sum())
    for shape in ((2, 1), (1, 3), (3,), (1, 1), ()):
        for function in (mg.add, mg.subtract, mg.multiply, mg.divide, mg.power, mg.maximum, mg.minimum):
            assert_slopes(
                function, np.arange(1.0, 7).reshape(2, 3), np.linspace(1.1, 2, 6)[: int(np.prod(shape))].reshape(shape)
            )


def test_shp_04_a_slice_times_the_whole():
    assert_case("SHP-04", lambda x: (x[0:1] * x).sum())
    assert_slopes(lambda x: x[1:] * x[:-1] + x[-1] * x[0], [1.0, 2, 3, 4])


def test_shp_08_matrix_by_vector():
    assert_case("SHP-08", lambda A, b: (u := A @ b, (u * array([1, 2])).sum()))
    A, b = inputs("SHP-08")
    _, (grad_A, grad_b) = gradients(lambda A, b: b @ A.T, [A, b], array([1, 2]))
    assert_close(grad_A, CASES["SHP-08"]["expected_grads"]["A"])
    assert_close(grad_b, CASES["SHP-08"]["expected_grads"]["b"])
    y, (grad,) = gradients(lambda b: b @ b, [b])
    assert y.shape == () and y == b @ b
    assert_close(grad, 2 * b)
    assert_slopes(mg.matmul, np.arange(9.0).reshape(3, 3), [1.0, 10, 100])
    assert_slopes(mg.matmul, [1.0, 10, 100], np.arange(9.0).reshape(3, 3))


def test_shp_12_transpose_by_the_inverse():
    w = inputs("SHP-12")[1]
    (x,) = leaves(inputs("SHP-12")[0])
    y = x.transpose((1, 2, 0))
    (y * w).sum().backward()
    assert_close(x.grad, CASES["SHP-12"]["expected_grads"]["x"])
    for axes in ((0, 2, 1), (2, 0, 1), (1, 0, 2), (-1, 0, 1), None):
        assert_slopes(lambda x, axes=axes: x.transpose(axes) * w, x.data)
    assert_slopes(lambda x: x.transpose(1, 3, 0, 2) * np.arange(16.0).reshape(2, 2, 2, 2), np.ones((2, 2, 2, 2)))


def test_shp_14_softmax_of_a_single_number():
    assert_case("SHP-14", lambda x: (p := x.softmax(axis=-1), p * 7))
    y, (grad,) = gradients(mg.log_softmax, [array(5.0)])
    assert (y, grad) == (0, 0)
    y, (grad,) = gradients(mg.logsumexp, [array(5.0)])
    assert (y, grad) == (5, 1)


def test_shp_15_a_single_number_in_the_middle():
    (x,) = leaves(*inputs("SHP-15"))
    h = x.mean()
    loss = (h + 3) ** 2
    loss.backward()
    assert loss.item() == 30.25
    assert h.grad.shape == () and h.grad == 11
    assert_close(x.grad, CASES["SHP-15"]["expected_grads"]["x"])


def test_shp_17_empty_arrays():
    assert_case("SHP-17", lambda x: x.cumsum(axis=-1).sum())
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy says: mean of empty slice
        y, (grad,) = gradients(mg.mean, [np.zeros(0)])
        assert np.isnan(y) and grad.shape == (0,)
        y, (grad,) = gradients(mg.var, [np.zeros(0)])
        assert np.isnan(y) and grad.shape == (0,)
    for function, value in (
        (mg.sum, 0),
        (mg.prod, 1),
        (mg.norm, 0),
        (mg.logsumexp, -np.inf),
        (lambda x: x.cumsum().sum(), 0),
    ):
        y, (grad,) = gradients(function, [np.zeros((2, 0))])
        assert y == value and grad.shape == (2, 0)
    for function in (
        mg.softmax,
        mg.log_softmax,
        mg.relu,
        mg.exp,
        mg.gelu,
        lambda x: x.sum(axis=-1),
        lambda x: x.prod(axis=0),
    ):
        _, (grad,) = gradients(function, [np.zeros((2, 0))])
        assert grad.shape == (2, 0)
    with pytest.raises(ValueError, match=r"max\(float64\[2, 0\]\)"):
        mg.max(Tensor(np.zeros((2, 0))))


def test_shp_19_boolean_masks_keep_the_gradient():
    assert_case("SHP-19", lambda a: a[[True, False, True]].sum())
    for mask in (array([1, 0, 1]) > 0, Tensor([1.0, 0, 1]) > 0, Tensor(array([1, 0, 1]) > 0)):
        _, (grad,) = gradients(lambda a, mask=mask: a[mask].sum(), inputs("SHP-19"))
        assert_close(grad, [1, 0, 1])
    assert_slopes(lambda a: a[a > 2.5] * a.sum(), np.arange(6.0).reshape(2, 3))


def test_shp_20_ties_of_one_variable_are_smooth():
    def twice(x):
        y = mg.concatenate([x.max(axis=0).reshape(1, 1), x])
        return mg.concatenate([y.max(axis=0).reshape(1, 1), y]).sum()

    assert_case("SHP-20", twice)
    _, (grad,) = gradients(lambda x: mg.minimum(x, x) + mg.stack([x, x, x]).min(axis=0), [array([1.0, 2.0])])
    assert_close(grad, [2, 2])


def test_shp_23_writing_into_a_tensor_is_refused():
    t, v = leaves(*inputs("SHP-23"))
    a = t * t
    with pytest.raises(TypeError, match=r"where\(mask, value, t\) or concatenate"):
        a[0] = v
    assert_case("SHP-23", lambda t, v: mg.concatenate([v, (t * t)[1:]]).sum())


def test_shp_25_views_lead_back_to_their_base():
    assert_case("SHP-25", lambda x: (x[:2] ** 2).sum() + (x[::-1] * array([1, 2, 3])).sum())
    assert_slopes(lambda x: x.T[::-2, 1:] * x[1:, ::-2].T + x[..., None][1, 0], np.arange(9.0).reshape(3, 3))


def test_shp_27_a_bias_is_summed_over_the_batch():
    weights = array([[1, 2, 3], [2, 3, 4]])
    assert_case("SHP-27", lambda X, W, b: (u := X @ W + b, (u * weights).sum()))
    linear = Linear(2, 3, rng=0)
    linear(Tensor(np.ones((4, 5, 2)))).sum().backward()
    assert_close(linear.bias.grad, [20, 20, 20])
    assert_close(linear.weight.grad, np.full((2, 3), 20.0))


# Transformers


def test_trf_03_heads_are_merged_with_their_tokens():
    weights = array([1, 10, 100, 1000])

    def function(h):
        merged = h.swapaxes(1, 2).reshape(1, 2, 4)
        return merged, (merged[0, 0] * weights).sum()

    assert_case("TRF-03", function)
    attention = MultiHeadAttention(4, 2, rng=0)
    (h,) = inputs("TRF-03")
    merged = attention.merge_heads(Tensor(h))
    assert_close(merged.data, CASES["TRF-03"]["expected_value"])
    assert_close(attention.split_heads(merged).data, h)


def test_trf_06_eps_is_inside_the_root():
    y, (grad,) = gradients(lambda x: x.layer_norm(eps=1e-5), inputs("TRF-06"), array([[1, 0]]))
    assert_close(y, CASES["TRF-06"]["expected_value"])
    np.testing.assert_allclose(grad, CASES["TRF-06"]["expected_grads"]["x"], rtol=1e-12)
    assert_close(LayerNorm(2, eps=1e-5)(Tensor(*inputs("TRF-06"))).data, CASES["TRF-06"]["expected_value"])
    x = array([[3e-4, 1e-4]])
    assert_close(mg.rms_norm(Tensor(x), eps=1e-5).data, x / np.sqrt(5e-8 + 1e-5))


def test_trf_07_gain_and_bias_of_a_batch():
    w = (np.arange(12.0) + 1).reshape(2, 2, 3) / 10
    assert_case("TRF-07", lambda x, g, b: (y := mg.layer_norm(x, g, b, 1e-5), (y * w).sum()), rtol=1e-9, atol=1e-15)
    norm = LayerNorm(3, eps=1e-5)
    x, norm.gain.data, norm.bias.data = inputs("TRF-07")
    (norm(Tensor(x)) * w).sum().backward()
    expected = CASES["TRF-07"]["expected_grads"]
    assert_close(norm.gain.grad, expected["gamma"])
    assert_close(norm.bias.grad, expected["beta"])


class Scale(Module):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x, mask=None):
        return self.factor * x


def test_trf_10_the_second_residual_adds_the_first_ones_result():
    block = TransformerBlock(2, 1, 4, norm=None)
    block.attention, block.feed_forward = Scale(3), Scale(10)
    assert_case("TRF-10", lambda x: (y := block(x), y[0, 0]))


def test_trf_11_a_residual_around_a_branch_that_is_0():
    assert_case("TRF-11", lambda x, w: x + w * x)
    assert_case("TRF-11", lambda x, w: mg.residual_add(x, w * x))


class FixedMask(np.random.Generator):
    """Draws that keep the first, third and fourth of four elements at p = 0.25."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def random(self, shape):
        return array([0.9, 0.1, 0.25, 0.3])


def test_trf_12_dropout_scales_forward_and_backward():
    weights = array([1, 2, 3, 4])
    assert_case("TRF-12", lambda x: (y := mg.dropout(x, 0.25, rng=FixedMask()), (y * weights).sum()))
    x = Tensor(*inputs("TRF-12"), requires_grad=True)
    assert mg.dropout(x, 0.25, training=False) is x
    y, (grad,) = gradients(lambda x: mg.dropout(x, 1.0), [np.ones(5)])
    assert_close(y, np.zeros(5))
    assert_close(grad, np.zeros(5))
    y, (grad,) = gradients(lambda x: mg.dropout(x, 0.5, rng=0), [np.zeros(1000)])
    assert set(grad) == {0, 2} and abs(grad.mean() - 1) < 0.1


def test_trf_13_what_is_masked_gets_nothing():
    mask = array([1, 1, 1, 1, 0, 0]) > 0
    weights = array([1, 2, 3, 4, 5, 6])

    def function(s):
        p = mg.where(mask, s, -np.inf).softmax()
        return p, (p * weights).sum()

    (s,) = assert_case("TRF-13", function)
    assert (s.grad[4:] == 0).all()


def test_trf_15_a_token_sees_itself():
    weights = array([[1, 2], [3, 4], [5, 6]])
    allowed = np.tri(3, dtype=bool)

    def function(q, k, v):
        out = mg.where(allowed, q @ k.T / np.sqrt(2), -np.inf).softmax() @ v
        return out, (out * weights).sum()

    assert_case("TRF-15", function)
    q, k, v = leaves(*inputs("TRF-15"))
    out, _ = function(q, k, v)
    assert (out.data[0] == v.data[0]).all()
    out[0].sum().backward()
    assert (q.grad == 0).all() and (k.grad == 0).all() and (v.grad[1:] == 0).all()

    attention = MultiHeadAttention(2, 1, causal=True, bias=False)
    x = Tensor(np.random.default_rng(0).standard_normal((3, 2)), requires_grad=True)
    attention(x)[1].sum().backward()
    assert (x.grad[2] == 0).all() and (x.grad[:2] != 0).all()
    assert (attention.weights == np.tril(attention.weights)).all() and (attention.weights[0, 0, 0] == 1).all()


def test_trf_16_a_mask_comes_before_the_softmax():
    allow = array([1, 1, 0]) > 0
    (s,) = inputs("TRF-16")
    assert_case("TRF-16", lambda s: (p := mg.where(allow, s, -np.inf).softmax(), (p * array([1, 5, 7])).sum()))
    p = mg.softmax(Tensor(s)).data * allow
    assert_close(mg.where(allow, Tensor(s), -np.inf).softmax().data, p / p.sum(), atol=1e-15)


def test_trf_17_a_padding_mask_masks_keys():
    key_allow = array([1, 0]) > 0
    weights = array([[1, 2], [3, 4]])
    assert_case("TRF-17", lambda s: (p := mg.where(key_allow[None, :], s, -np.inf).softmax(), (p * weights).sum()))
    attention = MultiHeadAttention(4, 2, rng=0)
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    padding = array([[1, 1, 0], [1, 0, 0]]) > 0  # (B, T): the second sample is shorter
    both = attention(Tensor(x), padding[:, None, :]).data
    assert (attention.weights[0, :, :, 2] == 0).all() and (attention.weights[1, :, :, 1:] == 0).all()
    for sample in range(2):
        alone = attention(Tensor(x[sample]), padding[sample][None, :]).data
        assert_close(both[sample], alone)
    with pytest.raises(ValueError, match=r"\(B, T\) is passed as mask\[:, None, :\]"):
        attention(Tensor(x), padding)


def test_trf_21_tied_weights():
    (W,) = assert_case("TRF-21", lambda W: (logits := W @ mg.embedding(W, 1), logits[1]))

    class Tied(Module):
        def __init__(self):
            self.tokens = Parameter(*inputs("TRF-21"))
            self.output = self.tokens

        def forward(self, token):
            return self.output @ mg.embedding(self.tokens, token)

    model = Tied()
    assert len(model.parameters()) == 1
    model(1)[1].backward()
    SGD(model.parameters() + model.parameters(), lr=0.1).step()
    assert_close(model.tokens.data[1], [2.4, 3.2])
    assert_close(W.data[1], [3, 4])


def test_trf_24_cross_entropy_of_a_batch():
    assert_case("TRF-24", lambda z: mg.cross_entropy(z, [2, 0]))
    (z,) = inputs("TRF-24")
    tiled = np.tile(z, (4, 1, 1))
    _, (grad,) = gradients(lambda z: mg.cross_entropy(z, np.tile([2, 0], (4, 1))), [tiled])
    assert_close(grad, np.tile(CASES["TRF-24"]["expected_grads"]["z"], (4, 1, 1)) / 4)


TRF_27_NAMES = {
    "Wq": "attention.query.weight",
    "Wk": "attention.key.weight",
    "Wv": "attention.value.weight",
    "Wo": "attention.output.weight",
    "g1": "attention_norm.gain",
    "b1": "attention_norm.bias",
    "W1": "feed_forward.up.weight",
    "c1": "feed_forward.up.bias",
    "W2": "feed_forward.down.weight",
    "c2": "feed_forward.down.bias",
    "g2": "feed_forward_norm.gain",
    "b2": "feed_forward_norm.bias",
}


def test_trf_27_a_whole_block():
    arrays = dict(zip(CASES["TRF-27"]["inputs"], inputs("TRF-27"), strict=True))
    block = TransformerBlock(4, 2, 8, norm="pre", activation="gelu", causal=True)
    state = {name: np.zeros(parameter.shape) for name, parameter in block.named_parameters()}
    block.load_state_dict(state | {name: arrays[key] for key, name in TRF_27_NAMES.items()})
    x = Tensor(arrays["x"], requires_grad=True)
    weights = (np.arange(12.0) + 1).reshape(3, 4) / 10
    y = block(x)
    (y * weights).sum().backward()

    np.testing.assert_allclose(y.data, CASES["TRF-27"]["expected_value"], rtol=1e-10, atol=1e-12)
    tensors = dict(block.named_parameters())
    for key, expected in CASES["TRF-27"]["expected_grads"].items():
        grad = x.grad if key == "x" else tensors[TRF_27_NAMES[key]].grad
        np.testing.assert_allclose(grad, expected, rtol=1e-10, atol=1e-12)


def waves(number, rows, columns=4, scale=None):
    i, j = np.mgrid[:rows, :columns]
    return np.sin(1 + 7 * number + 3 * i + 5 * j) / (np.sqrt(rows) if scale is None else scale)


class Wave(Module):
    """f(z) = tanh(z W) V, the sublayer of TRF-28."""

    def __init__(self, layer):
        self.W, self.V = Parameter(waves(10 + layer, 4)), Parameter(waves(30 + layer, 4))

    def forward(self, x):
        return (x @ self.W).tanh() @ self.V


@pytest.mark.parametrize("norm", ["pre_norm", "post_norm"])
def test_trf_28_gradient_sizes_by_layer(norm):
    i, j = np.mgrid[:3, :4]
    x = Tensor(np.cos(4 * i + j), requires_grad=True)
    outputs = []
    h = x
    for layer in range(6):
        sublayer = Wave(layer)
        if norm == "pre_norm":
            h = mg.residual_add(h, sublayer(h.layer_norm()))
        else:
            h = mg.residual_add(h, sublayer(h)).layer_norm()
        outputs.append(h)
    (h * (np.arange(12.0) + 1).reshape(3, 4) / 10).sum().backward()
    sizes = [np.linalg.norm(t.grad) for t in (*outputs, x)]
    np.testing.assert_allclose(sizes, CASES["TRF-28"]["expected_value"][norm], rtol=1e-10)


# Weights in and out


def test_wts_01_weights_are_stored_in_out():
    linear = Linear(2, 2, bias=False)
    W, x = inputs("WTS-01")
    linear.load_state_dict({"weight": W})
    x = Tensor(x, requires_grad=True)
    y = linear(x)
    (y * array([1, 10])).sum().backward()
    assert_close(y.data, CASES["WTS-01"]["expected_value"])
    assert_close(linear.weight.grad, CASES["WTS-01"]["expected_grads"]["W"])
    assert_close(x.grad, CASES["WTS-01"]["expected_grads"]["x"])
    with pytest.raises(ValueError, match=r"weight has shape \(2, 3\), got \(3, 2\)"):
        Linear(2, 3, bias=False).load_state_dict({"weight": np.ones((3, 2))})


def test_wts_02_fused_query_key_value():
    attention = MultiHeadAttention(4, 2)

    def function(qkv):
        q, k, v = qkv[:, :4], qkv[:, 4:8], qkv[:, 8:]
        heads = [attention.split_heads(t).data[:, 0] for t in (q, k, v)]
        return Tensor(heads), q.sum() + 10 * k.sum() + 100 * v.sum()

    assert_case("WTS-02", function)


def test_wts_07_torch_multihead_attention():
    i, j = np.mgrid[:3, :4]
    packed, packed_bias = waves(41, 12, scale=2), 0.01 * np.arange(12)
    out_weight, out_bias = waves(42, 4, scale=2), array([0.1, 0.2, 0.3, 0.4])
    attention = MultiHeadAttention(4, 2)
    state = {"output.weight": out_weight.T, "output.bias": out_bias}
    for n, name in enumerate(("query", "key", "value")):
        rows = slice(4 * n, 4 * n + 4)
        state |= {f"{name}.weight": packed[rows].T, f"{name}.bias": packed_bias[rows]}
    attention.load_state_dict(state)

    x = Tensor(np.cos(4 * i + j), requires_grad=True)
    y = attention(x)
    (y * (np.arange(12.0) + 1).reshape(3, 4) / 10).sum().backward()
    expected = CASES["WTS-07"]["expected_grads"]
    np.testing.assert_allclose(y.data, CASES["WTS-07"]["expected_value"], rtol=1e-10)
    np.testing.assert_allclose(x.grad, expected["x"], rtol=1e-10, atol=1e-13)
    grads = [getattr(attention, name).weight.grad.T for name in ("query", "key", "value")]
    np.testing.assert_allclose(np.concatenate(grads), expected["in_proj_weight"], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(attention.output.weight.grad.T, expected["out_proj_weight"], rtol=1e-10, atol=1e-13)


def test_every_case_has_its_test():
    elsewhere = {name for name in CASES if name.startswith("VIZ")} | {"DBG-09"}
    tested = {"-".join(name.split("_")[1:3]).upper() for name in globals() if name.startswith("test_")}
    assert set(CASES) - elsewhere <= tested


def test_a_stack_names_its_parameters():
    names = [name for name, _ in Stack(2, 4, 2, 8).named_parameters()]
    assert "blocks.1.attention.query.weight" in names
