"""What a beginner does wrong, and what he is told: what happened, and what to do instead."""

import linecache
import math
import warnings

import numpy as np
import pytest

import minigrad as mg
from blocks import MultiHeadAttention, TransformerBlock
from minigrad import Module, Tensor, no_grad


@pytest.fixture
def t():
    return Tensor([1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize(
    "function",
    [
        np.exp,
        np.sum,
        np.mean,
        np.max,
        np.asarray,
        np.array,
        np.linalg.norm,
        lambda t: np.add(t, 1),
        lambda t: np.stack([t, t]),
        lambda t: np.concatenate([np.ones(2), t]),
        lambda t: np.where([True, False], t, 0),
        lambda t: np.sum(a=t),
        lambda t: np.array([1.0, t.sum()]),
        lambda t: np.ones(2).dot(t),
    ],
)
def test_numpy_functions_of_a_tensor_that_asks_for_a_gradient(t, function):
    with pytest.raises(TypeError, match=r"lose the gradient: use minigrad's own op \(t.exp\(\) for np.exp\(t\)"):
        function(t)


def test_numpy_functions_of_a_constant():
    t = Tensor([1.0, 2.0])
    assert np.exp(t)[0] == np.e and np.sum(t) == 3 and np.stack([t, t]).shape == (2, 2)
    assert np.sum(a=t) == 3 and np.asarray(t).tolist() == [1, 2] and np.array(t, np.float32).dtype == np.float32
    np.array(t)[0] = 5  # a copy: the tensor keeps its numbers
    assert t.data[0] == 1


def test_shape_functions_of_numpy(t):
    assert (np.shape(t), np.ndim(t), np.size(t)) == ((2,), 1, 2)


def test_truth(t):
    with pytest.raises(ValueError, match=r"shape \(2,\) is not one answer: say \(t.data > 0\).all\(\)"):
        if t:
            pass
    with pytest.raises(ValueError, match="is not one answer"):
        bool(Tensor([]))
    assert Tensor(1.0) and not Tensor([0.0])


@pytest.mark.parametrize("convert", [float, int])
def test_numbers(t, convert):
    with pytest.raises(ValueError, match=r"needs a tensor with one element; this one has shape \(2,\)"):
        convert(t)
    assert convert(Tensor([[3.0]])) == 3


def test_index():
    assert [10, 20][Tensor(np.array(1))] == 20
    assert np.arange(5)[Tensor(np.array(1)) :].size == 4
    with pytest.raises(TypeError, match="integer"):
        [10, 20][Tensor(1.0)]


def test_length_and_iteration(t):
    assert len(t) == 2 and [row.item() for row in t] == [1, 2]
    a, b = t
    (a * 3 + b).backward()
    assert t.grad.tolist() == [3, 1]
    with pytest.raises(TypeError, match="0-d tensor has no length"):
        len(Tensor(1.0))
    with pytest.raises(TypeError, match="0-d tensor has no length"):
        list(Tensor(1.0))


def test_writing(t):
    for write in (lambda: t.__setitem__(0, 1.0), lambda: (t * 2).__setitem__(slice(None), 0)):
        with pytest.raises(TypeError, match=r"cannot be written into.*where\(mask, value, t\)"):
            write()
    with pytest.raises(TypeError, match="cannot be written into"):
        t[0] += 1
    with pytest.raises(ValueError, match="read-only"):
        t.data += 1
    u = t
    u += 1  # makes a new tensor
    assert u is not t and t.data[0] == 1


def test_missing_requires_grad():
    loss = (Tensor([1.0, 2.0]) * 2).sum()
    with pytest.raises(RuntimeError, match=r"nothing was recorded.*requires_grad=True"):
        loss.backward()


def test_wrong_shapes_name_the_op(t):
    for function, words in (
        (lambda: t + np.ones(3), r"add\(float64\[2\], float64\[3\]\)"),
        (lambda: t @ np.ones((3, 2)), r"matmul\(float64\[2\], float64\[3, 2\]\)"),
        (lambda: t.reshape(3), r"reshape\(float64\[2\]\)"),
        (lambda: t.broadcast_to((3,)), r"broadcast_to\(float64\[2\]\)"),
        (lambda: mg.concatenate([t, np.ones((1, 2))]), r"concatenate\(float64\[2\], float64\[1, 2\]\)"),
        (lambda: mg.stack([t, np.ones(3)]), r"stack\(float64\[2\], float64\[3\]\)"),
        (lambda: mg.einsum("ij->i", t), r"einsum\(float64\[2\]\)"),
        (lambda: mg.einsum("i,i->", t), r"einsum\(float64\[2\]\): 'i,i->' names 2 operands, but 1 were given"),
        (lambda: mg.layer_norm(t, np.ones(3)), r"layer_norm\(float64\[2\], float64\[3\], float64\[\]\)"),
        (lambda: t.transpose(0, 0), r"transpose\(float64\[2\]\)"),
        (lambda: mg.linear(t, np.ones((3, 2)), np.ones(2)), r"linear\(float64\[2\], float64\[3, 2\], float64\[2\]\)"),
    ):
        with pytest.raises(ValueError, match=words):
            function()


def test_wrong_axes_and_indices_name_the_op(t):
    for function in (
        lambda: t.sum(axis=1),
        lambda: t.softmax(axis=5),
        lambda: t.mean(axis=(0, 1)),
        lambda: t.T.prod(3),
    ):
        with pytest.raises(np.exceptions.AxisError, match=r"\(float64\[2\]\): axis \d is out of bounds"):
            function()
    with pytest.raises(IndexError, match=r"getitem\(float64\[2\]\): index 5 is out of bounds"):
        t[5]
    with pytest.raises(IndexError, match=r"getitem\(float64\[2\]\)"):
        t[Tensor([0.0])]


def test_masks_of_integers(t):
    with pytest.raises(TypeError, match=r"must be boolean, but it has dtype int64; say condition != 0"):
        mg.where(np.array([1, 0]), t, 0)
    with pytest.raises(TypeError, match="a mask is boolean"):
        MultiHeadAttention(2, 1, rng=0)(Tensor(np.ones((3, 2))), np.ones((3, 3), int))


def test_heads_that_do_not_divide():
    with pytest.raises(ValueError, match="n_heads must divide d_model, but 6 / 4 is not whole"):
        TransformerBlock(6, 4, 8)


def test_tokens():
    weight = Tensor(np.ones((3, 2)), requires_grad=True)
    with pytest.raises(IndexError, match="tokens go from 0 to 2; got 0 to 3"):
        mg.embedding(weight, [0, 3])
    with pytest.raises(IndexError, match="tokens go from 0 to 2; got -1 to 0"):
        mg.embedding(weight, [0, -1])
    with pytest.raises(TypeError, match="integers; got dtype float64"):
        mg.embedding(weight, [0.0, 1.0])


def test_targets():
    z = Tensor(np.zeros((2, 3)), requires_grad=True)
    with pytest.raises(IndexError, match="targets go from 0 to 2; got 0 to 3"):
        mg.cross_entropy(z, [0, 3])
    with pytest.raises(TypeError, match="integers; got dtype float64"):
        mg.cross_entropy(z, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"logits \(2, 3\) need targets \(2,\); got targets of shape \(3,\)"):
        mg.cross_entropy(z, [0, 1, 2])
    with pytest.raises(ValueError, match="need targets"):
        mg.cross_entropy(1.0, 0)
    assert mg.cross_entropy(z, Tensor(np.array([0, 1]))).item() == pytest.approx(np.log(3))


def test_probabilities(t):
    for p in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="p is a probability, from 0 to 1"):
            mg.dropout(t, p)


def test_a_gradient_of_a_gradient_is_not_offered(t):
    (t * t).sum().backward()
    assert type(t.grad) is np.ndarray  # a plain array: nothing of the backward pass is recorded
    assert "no gradient of a gradient" in Tensor.backward.__doc__


def test_a_module_without_forward(t):
    class Empty(Module):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty has no forward\(self, x, ...\) yet"):
        Empty()(t)


def test_reading_the_gradient_of_what_the_loss_does_not_depend_on(t):
    other = Tensor(1.0, requires_grad=True, name="other")
    t.sum().backward()
    assert other.grad is None


def two_deep(tensor):
    return math.fsum([tensor, 1.0])


@pytest.mark.parametrize("convert", [float, math.exp, math.sqrt, math.floor, complex, two_deep])
def test_cut_a_a_number_taken_out_of_the_graph_is_a_warning_with_the_line(convert):
    x = Tensor(2.0, requires_grad=True, name="x")
    for tensor, name in ((x, "x"), (x * 2, "multiply")):
        with pytest.warns(
            UserWarning, match=rf"{name} requires a gradient.*t\.exp\(\) for math\.exp.*t\.item\(\)"
        ) as caught:
            convert(tensor)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert linecache.getline(__file__, caught[0].lineno).strip().startswith(("convert(tensor)", "return math.fsum"))


def test_cut_a_what_is_only_shown_or_has_no_gradient_is_silent():
    x = Tensor(2.5, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.item() == 2.5
        assert "%.2f" % x == "2.50"  # noqa: UP031  (the old way is what is tried)
        assert int(x) == 2 and bool(x) and x > 2
        assert math.exp(x.detach()) == math.exp(Tensor(2.5)) == math.exp(2.5)
        with no_grad():
            assert math.exp(x) == math.exp(2.5)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (np.ones_like, [1, 1, 1]),
        (np.zeros_like, [0, 0, 0]),
        (lambda t: np.empty_like(t).shape, (3,)),
        (lambda t: np.full_like(t, 7.0), [7, 7, 7]),
        (np.argmax, 1),
        (np.argmin, 0),
        (lambda t: np.argmax(a=t, axis=-1), 1),
        (np.argsort, [0, 2, 1]),
        (np.isnan, [False, False, False]),
        (np.isinf, [False, False, False]),
        (np.isfinite, [True, True, True]),
        (np.signbit, [True, False, False]),
        (lambda t: np.allclose(t, t), True),
        (lambda t: np.allclose([-1, 4, 2], t), True),
        (lambda t: np.isclose(t, t * 2), [False, False, False]),
        (lambda t: np.array_equal(t, t), True),
        (np.shape, (3,)),
        (np.ndim, 1),
        (np.size, 3),
        (np.count_nonzero, 3),
        (np.nonzero, [[0, 1, 2]]),
        (np.any, True),
        (lambda t: np.greater(t, 0), [False, True, True]),
        (lambda t: np.array([0.0, 5.0, 2.0]) >= t, [True, True, True]),
        (np.logical_not, [False, False, False]),
        (lambda t: np.equal.outer([4.0], t), [[False, True, False]]),
        (lambda t: np.result_type(t) == np.float64, True),
    ],
)
def test_cut_c_numpy_functions_whose_answer_has_no_gradient(function, expected):
    t = Tensor([-1.0, 4.0, 2.0], requires_grad=True)
    answer = function(t)
    assert not isinstance(answer, Tensor)
    np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: np.full_like(np.ones(2), t),
        lambda t: np.full_like(t, t),
        lambda t: np.add(t, np.ones(2)),
        np.add.reduce,
        lambda t: np.maximum(np.ones(2), t),
        lambda t: np.multiply(np.ones(2), t, out=np.ones(2)),
        np.round,
        np.floor,
        np.sort,
        np.max,
    ],
)
def test_cut_c_what_would_lose_a_gradient_is_still_refused(t, function):
    with pytest.raises(TypeError, match="lose the gradient"):
        function(t)


def test_cut_c_an_array_on_the_left_is_still_the_tensors_own_operation(t):
    for y, slope in (
        (np.array([3.0, 4.0]) * t, [3, 4]),
        (np.array([3.0, 4.0]) - t, [-1, -1]),
        (np.float64(3) / t, [-3, -0.75]),
        (np.array([[3.0, 4.0]]) @ t, [3, 4]),
        (np.float32(2) ** t, np.log(2) * np.array([2.0, 4.0])),
    ):
        t.zero_grad()
        y.sum().backward()
        np.testing.assert_allclose(t.grad, slope)
    array = np.ones(2)
    with pytest.raises(TypeError):
        array += t
    np.testing.assert_array_equal(array, 1)


def test_sml_b_plus_and_dates(t):
    assert +t is t
    (+t * 2).sum().backward()
    assert t.grad.tolist() == [2, 2]
    dates = np.array(["2020-01-01", "2020-01-02"], "datetime64[D]")
    assert (t == dates).tolist() == (t.data == dates).tolist() == [False, False]
    assert (t != dates).tolist() == [True, True]
    assert (t == np.array([1.0, 5.0])).tolist() == [True, False]
