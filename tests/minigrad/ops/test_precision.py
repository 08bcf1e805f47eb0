"""Small types lose nothing on the way: sums, squares, counts and integers, by the ids of the cases."""

import copy

import numpy as np
import pytest

import minigrad as mg
from minigrad import Parameter, Tensor
from minigrad.optim import SGD, AdamW
from tests.differences import gradients

f16, f32, f64 = np.float16, np.float32, np.float64


def grad_of(function, x, weights=None):
    return gradients(function, [np.asarray(x)], weights)[1][0]


@pytest.mark.parametrize(("d", "value"), [(3, 1e6 + 0.1), (768, 1234.1), (7, -3e-3)])
def test_num_a_layer_norm_of_a_constant_row(d, value):
    assert (mg.layer_norm(np.full((2, d), value, f32)).data == 0).all()


def test_num_a_the_gradient_of_a_constant_row():
    g = np.array([1, 2, -1], f32)
    grad = grad_of(mg.layer_norm, np.full(3, 1e6 + 0.1, f32), g)
    np.testing.assert_allclose(grad, (g - g.mean(dtype=f64)) / np.sqrt(1e-5), rtol=1e-5)


@pytest.mark.parametrize("function", [mg.layer_norm, lambda x: x / x.std(axis=-1, keepdims=True)])
def test_num_a_a_large_mean_and_a_small_spread(function):
    x = (1e4 + np.random.default_rng(0).standard_normal((4, 256))).astype(f32)
    got, expected = function(Tensor(x)).data, function(Tensor(x.astype(f64))).data
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_num_b_float16():
    x = np.array([300, -300, 100], f16)
    np.testing.assert_allclose(mg.layer_norm(x).data, [1.069, -1.336, 0.267], rtol=1e-3)
    assert np.abs(grad_of(mg.layer_norm, x, np.array([1, 2, -1], f16))).max() > 1e-3
    np.testing.assert_allclose(mg.var(x).data, 62222, rtol=1e-3)
    np.testing.assert_allclose(mg.softmax(np.zeros(66_000, f16)).data, 1.515e-5, rtol=5e-3)
    np.testing.assert_allclose(grad_of(mg.mean, np.ones(70_000, f16)), 1.43e-5, rtol=5e-3)


FLOATING = {
    "var": mg.var,
    "std": mg.std,
    "norm": mg.norm,
    "mean": mg.mean,
    "rms_norm": mg.rms_norm,
    "layer_norm": mg.layer_norm,
    "softmax": mg.softmax,
    "log_softmax": mg.log_softmax,
    "logsumexp": mg.logsumexp,
    "mse_loss": lambda x: mg.mse_loss(x, -x),
    "cross_entropy": lambda x: mg.cross_entropy(x, np.array(1)),
    "prod": lambda x: (x / 100).prod(),
}


@pytest.mark.parametrize("name", FLOATING)
def test_num_b_float16_is_float64_rounded(name):
    x = np.array([180, -90, 45, 3.5], f16)
    got, (grad,) = gradients(FLOATING[name], [x])
    expected, (slope,) = gradients(FLOATING[name], [x.astype(f64)])
    assert got.dtype == grad.dtype == f16
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(grad, slope, rtol=4e-3, atol=2e-4)


WHOLE = {
    **{name: getattr(mg, name) for name in ("exp", "expm1", "log1p", "sqrt", "sin", "cos", "sigmoid", "tanh", "gelu")},
    **FLOATING,
    "silu": mg.silu,
    "log": lambda x: mg.log(x[1:]),
    "mse_loss": lambda x: mg.mse_loss(x, x[::-1]),
    "matmul": lambda x: x @ x,
    "einsum": lambda x: mg.einsum("i,j->", x, x),
    "linear": lambda x: mg.linear(x, x[:, None], np.array([0.5])),
    "sum": mg.sum,
    "cumsum": mg.cumsum,
    "dropout": lambda x: mg.dropout(x, 0.5, rng=0),
}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint32, np.int64, bool])
@pytest.mark.parametrize("name", WHOLE)
def test_num_c_integers_do_not_wrap(name, dtype):
    x = np.array([0, 1, 120, 127, 100]).astype(dtype)
    with np.errstate(over="ignore"):
        got, expected = WHOLE[name](Tensor(x)).data, WHOLE[name](Tensor(x.astype(f64))).data
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_num_c_the_three_samples():
    np.testing.assert_allclose(mg.sigmoid(np.array([0, 1, 2], np.uint8)).data, [0.5, 0.7310586, 0.8807971], rtol=1e-6)
    assert mg.mse_loss(np.array(100, np.int16), np.array(-100, np.int16)).item() == 40000
    np.testing.assert_allclose(mg.rms_norm(np.array([200, 200], np.uint8)).data, 1, rtol=1e-6)


def test_num_d_sums_over_the_first_axis():
    b = Tensor(np.zeros(4, f32), requires_grad=True)
    (b + np.zeros((65_536, 4), f32)).backward(np.full((65_536, 4), 0.1, f32))
    np.testing.assert_allclose(b.grad, 6553.60, rtol=1e-6)
    assert (mg.mean(np.tile(np.array([100, -100], f32), (1_000_000, 1)), axis=0).data == [100, -100]).all()


ROWS = np.full((65_536, 4), 0.1, f32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(axis=0),
        lambda x: x.sum(),
        lambda x: x.reshape(64, 1024, 4).sum(axis=1),
        lambda x: x.cumsum(axis=0)[-1],
        lambda x: x.softmax(axis=0)[0],
        lambda x: x.logsumexp(axis=0),
        lambda x: x.norm(axis=0),
        lambda x: x.var(axis=0),
        lambda x: (x * x).mean(axis=0),
    ],
    ids=["sum", "sum of all", "sum in the middle", "cumsum", "softmax", "logsumexp", "norm", "var", "mean"],
)
@pytest.mark.parametrize("dtype", [f16, f32])
def test_num_d_other_sums_of_many(function, dtype):
    x = (ROWS / 16).astype(dtype) if dtype == f16 else ROWS
    got = function(Tensor(x)).data
    assert got.dtype == dtype
    np.testing.assert_allclose(got, function(Tensor(x.astype(f64))).data, rtol=2 * np.finfo(dtype).eps, atol=1e-10)


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda w: mg.embedding(w, np.zeros(65_536, int)), np.ones((2, 4), f32)),
        (lambda w: w[np.zeros(65_536, int)], np.ones((2, 4), f32)),
        (lambda b: mg.linear(np.zeros((65_536, 2), f32), np.zeros((2, 4), f32), b), np.ones(4, f32)),
        (lambda b: b.broadcast_to((65_536, 4)), np.ones(4, f32)),
        (lambda b: mg.layer_norm(ROWS, bias=b), np.ones(4, f32)),
    ],
    ids=["embedding", "getitem", "linear", "broadcast_to", "layer_norm"],
)
def test_num_d_gradients_that_sum_many(function, x):
    grad = grad_of(function, x, ROWS)
    np.testing.assert_allclose(grad[grad > 0], ROWS.astype(f64)[:, 0].sum(), rtol=1e-6)


def test_num_e_scalars_and_lists_never_promote():
    x = Tensor(np.array([0.5, 2.0], f32), requires_grad=True)
    for y in (
        x.clip([0, 0], [1, 1]),
        x.clip(f64(0), 1.0),
        x.clip(high=f64(1)),
        mg.rms_norm(x, eps=f64(1e-5)),
        mg.layer_norm(x, eps=f64(1e-5)),
        x.var(ddof=f64(1)),
        x.std(ddof=f64(1)),
        mg.dropout(x, f64(0.5), rng=0),
        mg.mse_loss(x, f64(1)),
        mg.maximum(x, f64(1)),
        x ** f64(2),
    ):
        assert y.dtype == f32, y.op
    assert x.clip(np.zeros(2), None).dtype == f64  # an array promotes, as in NumPy


@pytest.mark.parametrize(
    "make",
    [
        lambda p: SGD([p], lr=f64(0.1), momentum=f64(0.9)),
        lambda p: AdamW([p], lr=f64(0.1), betas=(f64(0.9), f64(0.99)), eps=f64(1e-8), weight_decay=f64(0.1)),
    ],
    ids=["SGD", "AdamW"],
)
def test_num_e_optimizers(make):
    p = Parameter(np.array([1.0, 2.0], f32))
    optimizer = make(p)
    for _ in range(2):
        p.grad = np.ones(2, f32)
        optimizer.step()
    assert p.dtype == f32
    arrays = [a for remembered in optimizer.state.values() for a in remembered.values()]
    assert {a.dtype for a in arrays if isinstance(a, np.ndarray)} == {np.dtype(f32)}


def test_num_f_logsumexp_of_infinity():
    inf = np.inf
    x = np.array([[inf, 1], [inf, inf], [-inf, 1], [-inf, -inf], [inf, -inf]])
    assert mg.logsumexp(x, axis=1).data.tolist() == [inf, inf, 1, -inf, inf]
    assert np.isnan(mg.logsumexp([np.nan, inf]).item())


@pytest.mark.parametrize(
    "use",
    [
        Tensor,
        lambda m: Tensor([1.0, 2.0]) * m,
        lambda m: mg.where(m > 1, [1.0, 2.0], 0),
        lambda m: mg.cross_entropy(np.ones((2, 3)), m.astype(int)),
        lambda m: mg.embedding(Tensor(np.ones((3, 2))), m.astype(int)),
    ],
    ids=["Tensor", "right", "where", "targets", "tokens"],
)
def test_num_f_a_mask_is_not_dropped(use):
    with pytest.raises(TypeError, match=r"mask.*array.filled"):
        use(np.ma.array([1.0, 2.0], mask=[False, True]))


def test_num_g_each_parameter_counts_its_own_steps():
    early, late = Parameter([1.0]), Parameter([1.0])
    optimizer = AdamW([early, late], lr=0.1)
    for step in range(101):
        early.grad = np.ones(1)
        late.grad = np.ones(1) if step == 100 else None
        optimizer.step()
    np.testing.assert_allclose(late.data, 0.9, rtol=1e-6)


def test_num_h_a_deep_copy_shares_no_array_that_can_change():
    array = np.array([1.0, 2.0])
    t = Tensor([0.0, 0.0], requires_grad=True)
    for data in (array, array[:]):
        t.data = data
        twin = copy.deepcopy(t)
        array[0] += 5
        assert twin.data[0] == array[0] - 5
    view = array[:]
    view.setflags(write=False)
    t.data = view
    twin = copy.deepcopy((t * 2).sum()).op.inputs[0].op.inputs[0]
    array[1] = 9
    assert twin.data[1] == 2


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: mg.mse_loss(np.ones((3, 1)), np.ones(3)), r"mse_loss.*target has shape \(3,\).*target.reshape"),
        (lambda: mg.mse_loss(np.ones((3, 4)), np.ones(4)), r"mse_loss.*broadcast_to\(target, \(3, 4\)\)"),
        (lambda: mg.mse_loss(1.0, np.ones(4)), "mse_loss.*target has shape"),
        (lambda: mg.residual_add(np.ones((3, 1)), np.ones(3)), r"residual_add.*branch.reshape\(\(3, 1\)\)"),
        (lambda: mg.linear(np.ones((4, 3)), np.ones((3, 2)), np.ones((1, 2))), r"linear.*bias.reshape\(\(2,\)\)"),
        (lambda: mg.linear(np.ones((3, 3)), np.ones((3, 2)), np.ones((3, 2))), r"linear.*bias has shape \(3, 2\)"),
        (lambda: mg.linear(np.ones((4, 3)), np.ones((1, 3, 2)), np.ones(2)), r"weight of shape \(d_in, d_out\)"),
        (lambda: mg.linear(np.ones(()), np.ones((3, 2)), np.ones(2)), r"weight of shape \(d_in, d_out\)"),
        (lambda: mg.layer_norm(np.ones((4, 2)), np.ones((5, 1, 2))), r"layer_norm.*gain has shape \(5, 1, 2\)"),
        (lambda: mg.layer_norm(np.ones((4, 2)), bias=np.ones((4, 2))), "layer_norm.*bias has shape"),
        (lambda: mg.rms_norm(np.ones((4, 2)), np.ones((1, 2))), r"rms_norm.*gain.reshape\(\(2,\)\)"),
        (lambda: mg.clip(np.ones(3), np.ones((2, 1))), "clip.*low and high"),
        (lambda: mg.embedding(Tensor(np.ones((3, 2, 2))), [0]), r"embedding.*table \(V, d\)"),
    ],
)
def test_shp_a_b_c_d_a_shape_that_was_not_meant(function, words):
    with pytest.raises(ValueError, match=words):
        function()


def test_shp_a_b_c_d_a_single_number_is_fine():
    x = np.arange(6.0).reshape(3, 2)
    assert mg.mse_loss(x, 0).item() == (x * x).mean()
    np.testing.assert_array_equal(mg.residual_add(x, 1).data, x + 1)
    np.testing.assert_array_equal(mg.linear(x, np.eye(2), 1.0).data, x + 1)
    assert mg.layer_norm(x, 2.0, 3.0).shape == x.shape
    _, (_, _, grad) = gradients(mg.linear, [x, np.eye(2), np.array(1.0)])
    assert grad == 6


def test_shp_c_the_type_of_a_bias():
    x, weight = np.ones((2, 3), f32), np.ones((3, 4), f32)
    assert mg.linear(x, weight, np.ones(4, f32)).dtype == f32
    assert mg.linear(x, weight, np.ones(4)).dtype == f64
    assert mg.linear(x.astype(int), weight.astype(int), np.full(4, 0.5)).data[0, 0] == 3.5


@pytest.mark.parametrize("dtype", [f16, f32, f64])
def test_running_sums_and_empty_means_along_the_axis_that_was_named(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    assert mg.cumsum(x, axis=1).data.tolist() == [[0, 1, 3], [3, 7, 12]]
    with pytest.warns(RuntimeWarning):
        assert mg.mean(np.zeros((0, 3), dtype), axis=0).shape == (3,)
    assert mg.mean(np.zeros((0, 3), dtype), axis=1).shape == (0,)
