"""Where tools differ: one test for each of our conventions, and a look whether it is written beside its op."""

import math

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.arrays import as_array
from minigrad.ops.activations import erf
from minigrad.ops.shapes import may_repeat
from tests.differences import assert_slopes, gradients


def grad_of(function, *x):
    return gradients(function, [np.array(x, dtype=np.float64)])[1][0].tolist()


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (mg.max, "share the gradient equally"),
        (mg.min, "share the gradient equally"),
        (mg.maximum, "At a tie each gets half"),
        (mg.minimum, "At a tie each gets half"),
        (mg.relu, "slope at 0 is 0"),
        (mg.abs, "slope at 0 is 0"),
        (mg.norm, "slope at the origin is 0"),
        (mg.std, "slope of a constant is 0"),
        (mg.clip, "slope at a bound is 1"),
        (mg.softmax, "gives zeros and gets a zero gradient"),
        (type(mg.where(True, Tensor(1.0, requires_grad=True), 0).op), "not taken receives exactly 0"),
        (mg.where, "give that op a safe input"),
        (mg.layer_norm, "eps stands inside the root"),
        (mg.layer_norm, "variance is the biased one"),
        (Tensor, "Python numbers and lists become float64"),
        (Tensor, "integers that should require a gradient"),
        (Tensor.backward, "A second call on the same graph is allowed"),
        (Tensor.backward, "no gradient of a gradient"),
        (Tensor, "read-only"),
        (as_array, "read-only"),
    ],
)
def test_each_is_documented_beside_its_op(thing, words):
    assert words in " ".join(thing.__doc__.split())


def test_ties_share():
    assert grad_of(lambda x: x.max(), 3, 3, 1, 3) == [1 / 3, 1 / 3, 0, 1 / 3]
    assert grad_of(lambda x: x.min(), 3, 3, 1, 1) == [0, 0, 0.5, 0.5]
    assert grad_of(lambda x: mg.maximum(x, x), 1, 2) == [1, 1]
    assert grad_of(lambda x: mg.minimum(x, [2, 2, 2]), 1, 2, 3) == [1, 0.5, 0]
    _, (grad_x, grad_y) = gradients(mg.maximum, [np.ones(2), np.ones(())])
    assert grad_x.tolist() == [0.5, 0.5] and grad_y == 1


def test_nan_goes_where_the_value_came_from():
    nan = np.nan
    for function in (mg.maximum, mg.minimum):
        _, (grad_x, grad_y) = gradients(function, [np.array([nan, 1, nan]), np.array([1, nan, nan])])
        assert grad_x.tolist() == [1, 0, 1] and grad_y.tolist() == [0, 1, 0]
    assert grad_of(lambda x: x.max(), 1, nan, 3) == [0, 1, 0]
    assert grad_of(lambda x: x.min(), nan, 1, nan) == [0.5, 0, 0.5]


def test_kinks_and_origins():
    assert grad_of(mg.relu, -1, 0, 1) == [0, 0, 1]
    assert grad_of(mg.abs, -1, 0, 1) == [-1, 0, 1]
    assert grad_of(mg.norm, 0, 0, 0) == [0, 0, 0]
    assert grad_of(mg.std, 2, 2, 2) == [0, 0, 0]
    assert grad_of(lambda x: x.std(ddof=1), 0.1, 0.1, 0.1) == [0, 0, 0]


def test_clip_at_its_bounds():
    assert grad_of(lambda x: x.clip(0, 1), -1, 0, 0.5, 1, 2) == [0, 1, 1, 1, 0]
    assert grad_of(lambda x: x.clip(0, 0), -1, 0, 1) == [0, 1, 0]


def test_the_branch_that_where_did_not_take():
    """It receives exactly 0, whatever comes; behind it arithmetic is arithmetic, and 0 * inf is NaN."""
    nan, inf = np.nan, np.inf
    mask = np.array([True, False, True, False])
    _, (grad_x, grad_y) = gradients(lambda x, y: mg.where(mask, x, y), [np.ones(4)] * 2, np.array([inf, inf, nan, nan]))
    np.testing.assert_array_equal(grad_x, [inf, 0, nan, 0])
    np.testing.assert_array_equal(grad_y, [0, inf, 0, nan])
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(grad_of(lambda x: mg.where(x > 0, mg.log(x), 0), 0, 2), [nan, 0.5])
        np.testing.assert_array_equal(grad_of(lambda x: mg.where(x > 0, mg.sqrt(x), x), 0, 4), [nan, 0.25])
        np.testing.assert_array_equal(grad_of(lambda x: mg.sqrt(x)[1:], 0, 4), [nan, 0.25])
        np.testing.assert_array_equal(grad_of(lambda x: mg.sqrt(x) * x, 0, 4), [nan, 3])


def test_an_op_with_a_safe_input_behind_where():
    with np.errstate(all="raise"):
        assert grad_of(lambda x: mg.where(x > 0, mg.log(mg.where(x > 0, x, 1)), 0), 0, 2) == [0, 0.5]
        assert grad_of(lambda x: mg.where(x > 0, mg.sqrt(mg.where(x > 0, x, 1)), x), -4, 4) == [1, 0.25]


def test_numbers_and_lists_never_promote():
    x = Tensor(np.ones(2, np.float32), requires_grad=True)
    for y in (
        x + 1,
        1.5 - x,
        x * [1, 2],
        x**2,
        2**x,
        mg.maximum(x, 0.5),
        mg.where([True, False], x, 0),
        x.clip(0, 1),
        x / np.float64(2),
        mg.concatenate([x, [1.0]]),
        mg.mse_loss(x, [1, 1]),
        mg.layer_norm(x),
        mg.dropout(x, 0.3, rng=0),
        x.var(ddof=1),
        x @ [1.0, 2.0],
        mg.einsum("i,i->", x, [1.0, 2.0]),
    ):
        assert y.dtype == np.float32, y.op


def test_norms_of_huge_and_tiny_numbers():
    for scale in (1e300, 1e160, 1e-300, 5e-324):
        x = np.array([3.0, 4.0]) * scale if scale > 1e-320 else np.array([scale, 0.0])
        with np.errstate(all="raise", under="ignore"):
            y, (grad,) = gradients(mg.norm, [x])
        np.testing.assert_allclose(y / scale, 5 if scale > 1e-320 else 1)
        np.testing.assert_allclose(grad, [0.6, 0.8] if scale > 1e-320 else [1, 0])


def test_var_divides_by_n_minus_ddof():
    x = np.array([1.0, 2.0, 4.0])
    for ddof in (0, 1, 2):
        assert mg.var(Tensor(x), ddof=ddof).item() == pytest.approx(x.var(ddof=ddof))
    with np.errstate(all="ignore"):
        assert np.isnan(mg.var(Tensor([1.0]), ddof=1).item())


def test_layer_norm_is_biased_with_eps_inside():
    x = np.array([[1.0, 2.0, 4.0]])
    expected = (x - x.mean()) / np.sqrt(x.var() + 0.1)
    np.testing.assert_allclose(mg.layer_norm(Tensor(x), eps=0.1).data, expected)
    np.testing.assert_allclose(mg.rms_norm(Tensor(x), eps=0.1).data, x / np.sqrt((x**2).mean() + 0.1))


def test_dropout_with_a_seed_and_without_training():
    x = Tensor(np.ones(1000), requires_grad=True)
    assert (mg.dropout(x, 0.5, rng=3).data == mg.dropout(x, 0.5, rng=3).data).all()
    assert mg.dropout(x, 0.0) is x and mg.dropout(x, 0.9, training=False) is x
    assert mg.dropout(Tensor(np.array([1, 2])), 0.5, rng=0).dtype == np.float64


def test_indices_cannot_change_what_was_recorded():
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    index, mask, tokens, targets = np.array([0, 0]), np.array([True, False, True]), np.array([1]), np.array([2])
    condition = np.array([True, True, False])
    results = [x[index], x[mask], x[[0, 2]], mg.embedding(x.reshape(3, 1), tokens)]
    results += [mg.cross_entropy(x.reshape(1, 3), targets), mg.where(condition, x, 0)]
    index[:], mask[:], tokens[:], targets[:], condition[:] = 2, False, 0, 0, False
    sum(r.sum() for r in results).backward()
    p = np.exp([1.0, 2, 3]) / np.exp([1.0, 2, 3]).sum()
    np.testing.assert_allclose(
        x.grad, p + np.sum([[2, 0, 0], [1, 0, 1], [1, 0, 1], [0, 1, 0], [0, 0, -1], [1, 1, 0]], axis=0)
    )


def test_split_cuts_where_numpy_does():
    x = np.arange(24.0).reshape(6, 4)
    ways = [
        (3, 0),
        (np.int64(2), 1),
        (1, -1),
        ([2, 3], 0),
        ((1,), -1),
        ([0, 0, 6], 0),
        ([4, 2, 9], 0),
        ([-1], 1),
        ([], 0),
    ]
    for where_to_cut, axis in ways:
        for got, expected in zip(mg.split(x, where_to_cut, axis), np.split(x, where_to_cut, axis), strict=True):
            np.testing.assert_array_equal(got.data, expected, strict=True)
    assert [part.shape for part in mg.split(np.ones((0, 2)), 2)] == [(0, 2), (0, 2)]


def test_parts_and_axes_that_do_not_fit():
    x = Tensor(np.ones((5, 2)))
    for n in (2, 0, -1):
        with pytest.raises(ValueError, match=r"split: .* do not fit an axis of length 5; say where to cut"):
            x.split(n)
    with pytest.raises(ValueError, match="split: axis 2"):
        x.split(1, axis=2)
    with pytest.raises(ValueError, match="squeeze"):
        x.squeeze(axis=0)
    with pytest.raises(ValueError, match="expand_dims"):
        x.expand_dims((0, 0))


def test_einsum_with_indices_that_say_too_little_or_too_much():
    x = Tensor(np.ones((2, 2)))
    for subscripts in ("ij->ik", "ijk->", "i->", "ij,jk->ik"):
        with pytest.raises(ValueError, match="einsum"):
            mg.einsum(subscripts, x)


@pytest.mark.parametrize(
    "index",
    [1, -1, True, None, ..., slice(None, None, -1), (1, slice(1, None)), (None, 0, ...), np.int64(2), np.bool_(True)],
    ids=str,
)
def test_an_index_that_reads_each_place_once(index):
    assert not may_repeat(index)
    assert_slopes(lambda x: x[index] * 2, np.arange(12.0).reshape(3, 4))


@pytest.mark.parametrize(
    "index", [[0, 0], np.array(1), range(2), ((0, 0),), (slice(None), [1, 1]), ([0, 0], [1, 1])], ids=str
)
def test_an_index_that_may_read_a_place_twice(index):
    x = np.arange(12.0).reshape(3, 4)
    assert_slopes(lambda x: x[index] * 2, x)
    assert may_repeat(index)
    np.testing.assert_array_equal(Tensor(x)[index].data, x[index])


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_a_loss_in_which_no_row_counts(reduction):
    """0 with a zero gradient and a warning, whatever the scores are; where PyTorch says NaN."""
    z = np.array([[np.nan, np.inf, 1.0], [1.0, 2.0, -np.inf]])
    with pytest.warns(UserWarning, match=r"every target is ignore_index \(-100\)"):
        loss, (grad,) = gradients(
            lambda z: mg.cross_entropy(z, [-100, -100], ignore_index=-100, reduction=reduction), [z]
        )
    assert not np.any(loss) and not grad.any()


def test_rows_that_do_not_count_may_hold_anything():
    z = np.array([[np.nan, np.inf, 1.0], [1.0, 2.0, 0.0]])
    with np.errstate(invalid="ignore"):
        loss, (grad,) = gradients(lambda z: mg.cross_entropy(z, [7, 1], ignore_index=7), [z])
    alone, (grad_alone,) = gradients(lambda z: mg.cross_entropy(z, [1]), [z[1:]])
    assert loss == alone
    np.testing.assert_array_equal(grad, [[0, 0, 0], *grad_alone])


def test_cross_entropy_refuses_what_it_cannot_read():
    z = np.zeros((2, 3))
    for options, error, words in (
        ({"reduction": "average"}, ValueError, '"mean", "sum" or "none"; got \'average\''),
        ({"label_smoothing": 1.5}, ValueError, "from 0 to 1; got 1.5"),
        ({"ignore_index": -100}, IndexError, "0 to 2; got 0 to 3"),
    ):
        with pytest.raises(error, match=words):
            mg.cross_entropy(z, [0, 3], **options)
    for dtype in (np.float16, np.float32):
        for reduction in ("mean", "sum", "none"):
            loss = mg.cross_entropy(z.astype(dtype), [0, 2], label_smoothing=0.1, reduction=reduction)
            assert loss.dtype == dtype


def test_no_rows_at_all():
    """The mean of nothing is NaN, as NumPy says with a warning; the gradient has the shape of the logits."""
    with pytest.warns(RuntimeWarning):
        loss, (grad,) = gradients(lambda z: mg.cross_entropy(z, []), [np.zeros((0, 3))])
    assert np.isnan(loss) and grad.shape == (0, 3)


def test_erf_against_the_one_of_the_c_library():
    x = np.concatenate(
        [np.linspace(-7, 7, 20_001), np.random.default_rng(0).normal(size=20_000), [1e-300, 1e300, -np.inf]]
    )
    expected = np.array([math.erf(value) for value in x])
    np.testing.assert_allclose(erf(x), expected, rtol=0, atol=2.3e-16)
    x32 = x[:40_001].astype(np.float32)
    expected = np.array([math.erf(value) for value in x32.tolist()])
    np.testing.assert_allclose(erf(x32), expected, rtol=0, atol=6e-8)
    assert np.isnan(erf(np.array([np.nan]))).all()


def test_exact_gelu_at_any_size():
    sizes = np.array([0.0, 1e-300, 1e-20, 30, 1e10, 1e300])
    with np.errstate(all="raise", under="ignore"):
        _, (grad,) = gradients(lambda x: mg.gelu(x, approximate="none"), [np.concatenate([sizes, -sizes])])
    np.testing.assert_allclose(grad, [0.5] * 3 + [1] * 3 + [0.5] * 3 + [0] * 3, atol=1e-15)
    with pytest.raises(ValueError, match='approximate is "tanh" or "none"; got \'erf\''):
        mg.gelu(Tensor([1.0]), approximate="erf")
