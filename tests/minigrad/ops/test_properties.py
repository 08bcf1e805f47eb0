"""Properties that hold for all inputs: random shapes, broadcasting, axes and sizes, against independent slopes.

Smooth functions are held against complex-step differences, f'(x) = Im f(x + ih) / h with h = 1e-20 |x|, which are
exact to rounding at any size of x (Squire and Trapp 1998); others against central differences.
"""

import numpy as np
import pytest

import minigrad as mg
from tests.differences import assert_slopes, gradients

pytest.importorskip("hypothesis", reason="random inputs: pip install hypothesis")
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

settings.register_profile(
    "fast", max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
settings.load_profile("fast")

SIZES = st.sampled_from([5e-324, 1e-310, 1e-200, 1e-30, 1e-3, 1.0, 1e3, 1e30, 1e150, 1e300])


def moderate(shape, low=0.2, high=3.0):
    """Numbers of both signs, away from 0 and from one another's ties, given by a seed."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: (
            np.random.default_rng(seed).uniform(low, high, shape)
            * np.random.default_rng(seed + 1).choice([-1.0, 1.0], shape)
        )
    )


@st.composite
def broadcast_pairs(draw):
    shapes = draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3)).input_shapes
    return [draw(moderate(shape)) for shape in shapes]


@st.composite
def arrays_and_axes(draw):
    shape = draw(arrays.array_shapes(max_dims=4, max_side=3))
    axes = st.none() | st.integers(-len(shape), len(shape) - 1) | arrays.valid_tuple_axes(len(shape))
    return draw(moderate(shape)), draw(axes), draw(st.booleans())


@pytest.mark.parametrize(
    "function",
    [mg.add, mg.subtract, mg.multiply, mg.divide, mg.maximum, mg.minimum, lambda x, y: abs(x) ** y],
    ids=["add", "subtract", "multiply", "divide", "maximum", "minimum", "power"],
)
@given(pair=broadcast_pairs())
def test_two_arrays_that_broadcast(function, pair):
    x, y = pair
    assume(np.abs(x - y).min(initial=1) > 1e-4)
    assert_slopes(function, x, y, rtol=1e-5, atol=1e-6)


@given(pair=broadcast_pairs(), seed=st.integers(0, 1000))
def test_where_that_broadcasts(pair, seed):
    x, y = pair
    condition = np.random.default_rng(seed).random(np.broadcast_shapes(x.shape, y.shape)) < 0.5
    assert_slopes(lambda x, y: mg.where(condition, x, y) * 3, x, y)


@pytest.mark.parametrize("function", [mg.sum, mg.mean, mg.max, mg.min, mg.var, mg.prod, mg.norm, mg.logsumexp])
@given(case=arrays_and_axes())
def test_reductions_over_any_axes(function, case):
    x, axis, keepdims = case
    expected = {
        mg.norm: lambda x, **o: np.sqrt((x * x).sum(**o)),
        mg.logsumexp: lambda x, **o: np.log(np.exp(x).sum(**o)),
    }
    value = expected.get(function, getattr(np, function.__name__, None))(x, axis=axis, keepdims=keepdims)
    y = function(mg.Tensor(x), axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(y.data, value, rtol=1e-12, strict=True)
    assert_slopes(lambda x: function(x, axis=axis, keepdims=keepdims), x, rtol=1e-5, atol=1e-6)


@given(case=arrays_and_axes())
def test_softmax_and_cumsum_along_any_axis(case):
    x, axis, _ = case
    axis = axis[0] if isinstance(axis, tuple) and axis else 0 if axis == () else axis
    assert_slopes(lambda x: x.cumsum(axis=axis), x)
    for function in (mg.softmax, mg.log_softmax):
        y, _ = gradients(lambda x, f=function: f(x, axis=0 if axis is None else axis), [x])
        assert_slopes(lambda x, f=function: f(x, axis=0 if axis is None else axis), x)
        total = (y if function is mg.softmax else np.exp(y)).sum(axis=0 if axis is None else axis)
        np.testing.assert_allclose(total, np.ones_like(total))


@given(data=st.data())
def test_matmul_of_any_ranks(data):
    batch = data.draw(arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3)).input_shapes
    n, k, m = (data.draw(st.integers(1, 3)) for _ in range(3))
    x = data.draw(st.sampled_from([(k,), (*batch[0], n, k)]).flatmap(moderate))
    y = data.draw(st.sampled_from([(k,), (*batch[1], k, m)]).flatmap(moderate))
    assert_slopes(mg.matmul, x, y, rtol=1e-5, atol=1e-6)


@given(data=st.data())
def test_any_index(data):
    x = data.draw(arrays.array_shapes(min_dims=1, max_dims=3, max_side=4).flatmap(moderate))
    kind = data.draw(st.sampled_from(["basic", "mask", "integers"]))
    if kind == "basic":
        index = data.draw(arrays.basic_indices(x.shape, allow_newaxis=True))
    elif kind == "mask":
        index = data.draw(arrays.arrays(bool, x.shape))
    else:
        index = data.draw(arrays.integer_array_indices(x.shape))
    y = mg.Tensor(x)[index]
    np.testing.assert_array_equal(y.data, x[index])
    assert_slopes(lambda x: x[index] * 2, x)


@given(data=st.data())
def test_any_transpose_reshape_and_stack(data):
    x = data.draw(arrays.array_shapes(min_dims=1, max_dims=4, max_side=3).flatmap(moderate))
    axes = data.draw(st.permutations(range(x.ndim)))
    weights = np.arange(x.size) + 1.0
    assert_slopes(lambda x: x.transpose(axes) * weights.reshape(x.transpose(axes).shape), x)
    assert_slopes(lambda x: x.reshape(-1) * weights, x)
    assert_slopes(lambda x: x.flatten() * weights, x)
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    assert_slopes(lambda x, y: mg.concatenate([x, y, x], axis=axis) * 2, x, x + 1)
    assert_slopes(lambda x, y: mg.stack([x, y], axis=axis) * 2, x, x + 1)
    np.testing.assert_array_equal(mg.concatenate(mg.split(x, x.shape[axis], axis), axis).data, x)
    assert_slopes(lambda x: mg.stack([part * part for part in mg.split(x, x.shape[axis], axis)]), x)


@given(data=st.data())
def test_axes_of_length_1_go_and_come(data):
    x = data.draw(arrays.array_shapes(min_dims=0, max_dims=3, max_side=3).flatmap(moderate))
    axes = data.draw(arrays.valid_tuple_axes(x.ndim + 2, min_size=2, max_size=2))
    y = mg.expand_dims(x, axes)
    np.testing.assert_array_equal(y.data, np.expand_dims(x, axes), strict=True)
    np.testing.assert_array_equal(y.squeeze(axes).data, x, strict=True)
    weights = np.arange(x.size) + 1.0
    assert_slopes(lambda x: mg.expand_dims(x, axes) * weights.reshape(y.shape), x)
    assert_slopes(lambda y: y.squeeze(axes) * weights.reshape(x.shape), y.data)
    assert_slopes(lambda y: y.squeeze() * weights.reshape(y.data.squeeze().shape), y.data)


LABELS = "ijk"


@given(data=st.data())
def test_any_einsum(data):
    lengths = dict(zip(LABELS, data.draw(st.tuples(*[st.integers(1, 3)] * 3)), strict=True))
    terms = data.draw(st.lists(st.text(LABELS, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    out = "".join(data.draw(st.permutations(used)))[: data.draw(st.integers(0, len(used)))]
    subscripts = ",".join(terms) + "->" + out
    xs = [data.draw(moderate(tuple(lengths[label] for label in term))) for term in terms]
    np.testing.assert_allclose(mg.einsum(subscripts, *xs).data, np.einsum(subscripts, *xs), rtol=1e-12)
    assert_slopes(lambda *xs: mg.einsum(subscripts, *xs), *xs, rtol=1e-5, atol=1e-6)


def complex_slope(function, x):
    """f'(x) element by element, exact to rounding."""
    h = 1e-20 * np.abs(x)
    with np.errstate(all="ignore"):
        return np.imag(function(x + 1j * h)) / h


ANY_SIZE = {
    "exp": (mg.exp, np.exp, 1e2),
    "log": (mg.log, np.log, 1e300),
    "sqrt": (mg.sqrt, np.sqrt, 1e300),
    "expm1": (mg.expm1, np.expm1, 1e2),
    "log1p": (mg.log1p, np.log1p, 1e150),
    "sin": (mg.sin, np.sin, 1e3),
    "cos": (mg.cos, np.cos, 1e3),
    "sigmoid": (mg.sigmoid, lambda z: 1 / (1 + np.exp(-z)), 30),
    "tanh": (mg.tanh, np.tanh, 10),
    "silu": (mg.silu, lambda z: z / (1 + np.exp(-z)), 30),
    "gelu": (mg.gelu, lambda z: z * (1 + np.tanh((2 / np.pi) ** 0.5 * (z + 0.044715 * z**3))) / 2, 5),
    "cube": (lambda x: x**3, lambda z: z * z * z, 1e100),
    "inverse": (lambda x: 1 / x, lambda z: 1 / z, 1e150),
    "root": (lambda x: x**0.5, np.sqrt, 1e300),
}


@pytest.mark.parametrize("name", ANY_SIZE)
@given(size=SIZES, lead=st.floats(1, 9))
def test_elementary_functions_at_any_size(name, size, lead):
    """Sizes at which the slope itself is a normal number; below and above, it must be 0 or inf and not NaN."""
    function, on_numpy, largest = ANY_SIZE[name]
    x = np.array([lead * size])
    with np.errstate(all="ignore"):
        _, (grad,) = gradients(function, [x])
    assert not np.isnan(grad).any()
    if 1e-280 < size <= largest and (name != "inverse" or size > 1e-150):
        np.testing.assert_allclose(grad, complex_slope(on_numpy, x), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "silu", "gelu"])
@given(size=SIZES, sign=st.sampled_from([-1, 1]))
def test_saturating_functions_at_any_size(name, size, sign):
    with np.errstate(all="raise", under="ignore"):
        _, (grad,) = gradients(getattr(mg, name), [np.array([sign * size])])
    start = {"sigmoid": 0.25, "tanh": 1.0, "silu": 0.5, "gelu": 0.5}[name]
    end = 0.0 if name in ("sigmoid", "tanh") or sign < 0 else 1.0
    if size < 1e-20 or size > 1e10:
        np.testing.assert_allclose(grad, start if size < 1 else end, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(size=SIZES, other=SIZES)
def test_linear_functions_are_exact_at_any_size(dtype, size, other):
    with np.errstate(all="ignore"):
        x, y = (np.array([s, -s]).astype(dtype) for s in (size, other))
        for function, expected in (
            (mg.add, (1, 1)),
            (mg.subtract, (1, -1)),
            (mg.multiply, (y, x)),
            (lambda x, y: mg.concatenate([x, y]), (1, 1)),
            (lambda x, y: mg.stack([x, y]).sum(axis=0), (1, 1)),
        ):
            _, grads = gradients(function, [x, y])
            for grad, slope in zip(grads, expected, strict=True):
                assert grad.dtype == dtype
                np.testing.assert_array_equal(grad, np.broadcast_to(slope, grad.shape).astype(dtype))


@given(size=SIZES, offset=SIZES)
def test_softmax_and_its_like_at_any_size(size, offset):
    z = np.array([[0.0, size, -size], [offset, offset, offset]])
    with np.errstate(all="raise", under="ignore", over="ignore"):
        p, (grad,) = gradients(mg.softmax, [z], np.array([[1.0, 2, 3]] * 2))
        logs, _ = gradients(mg.log_softmax, [z])
        _, (grad_z,) = gradients(lambda z: mg.cross_entropy(z, [1, 0]), [z])
    assert np.isfinite(grad).all() and np.isfinite(grad_z).all()
    np.testing.assert_allclose(p.sum(axis=-1), 1)
    np.testing.assert_allclose(p[1], 1 / 3)
    np.testing.assert_allclose(logs[1], -np.log(3), rtol=1e-12)
    np.testing.assert_allclose(grad_z[1], np.array([-2, 1, 1]) / 6, rtol=1e-12)


@given(size=st.sampled_from([5e-324, 1e-300, 1e-10, 1.0, 1e10, 1e100, 1e150]), eps=st.sampled_from([1e-12, 1e-5, 0.1]))
def test_norms_of_layers_at_any_size(size, eps):
    """Squares must not overflow, so up to 1e150; the scale of x leaves the gradient orthogonal to 1 (and to n)."""
    x = np.array([[1.0, 2.0, 4.0]]) * size
    weights = np.array([[1.0, -2.0, 5.0]])
    with np.errstate(all="raise", under="ignore"):
        y, (grad,) = gradients(lambda x: mg.layer_norm(x, eps=eps), [x], weights)
        _, (grad_rms,) = gradients(lambda x: mg.rms_norm(x, eps=eps), [x], weights)
    deviation = np.hypot(x.std(), np.sqrt(eps)) if size > 1e-150 else np.sqrt(eps)
    np.testing.assert_allclose(y, (x - x.mean()) / deviation, rtol=1e-9, atol=1e-300)
    n = y
    expected = (weights - weights.mean() - n * (weights * n).mean()) / deviation
    np.testing.assert_allclose(grad, expected, rtol=1e-9, atol=1e-12 / deviation)
    assert np.isfinite(grad_rms).all()


@given(sizes=st.lists(SIZES, min_size=2, max_size=4))
def test_norm_at_any_size(sizes):
    x = np.array(sizes)
    with np.errstate(all="ignore"):
        y, (grad,) = gradients(mg.norm, [x])
    np.testing.assert_allclose(y, np.hypot.reduce(x), rtol=1e-9)
    assert (grad >= 0).all() and np.hypot.reduce(grad) == pytest.approx(1)
