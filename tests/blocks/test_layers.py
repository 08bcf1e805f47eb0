"""The small layers, by hand and against differences."""

import numpy as np
import pytest

from blocks import Dropout, Embedding, LanguageModel, LayerNorm, Linear, RMSNorm, TransformerBlock
from minigrad import Tensor
from tests.blocks.checking import assert_all_gradients


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3)])
def test_linear(bias, shape):
    linear = Linear(3, 2, bias=bias, rng=0)
    if bias:
        linear.bias.data = np.array([1.0, -1.0])
    x = numbers(*shape)
    np.testing.assert_allclose(linear(Tensor(x)).data, x @ linear.weight.data + (linear.bias.data if bias else 0))
    assert_all_gradients(linear, x)


def test_linear_starts_at_glorots_width():
    weight = Linear(300, 500, rng=0).weight.data
    assert weight.std() == pytest.approx(np.sqrt(2 / 800), rel=0.02) and abs(weight.mean()) < 1e-3
    assert (Linear(3, 3, rng=5).weight.data == Linear(3, 3, rng=5).weight.data).all()


def test_linear_of_another_width():
    linear = Linear(3, 2, rng=0)
    with pytest.raises(ValueError, match=r"Linear: x has shape \(2, 4\), but its last axis must have length 3"):
        linear(Tensor(np.ones((2, 4))))
    linear.name = "block.up"
    with pytest.raises(ValueError, match=r"block.up: x has shape \(\), but"):
        linear(Tensor(1.0))


def test_layer_norm():
    norm = LayerNorm(4, eps=1e-3)
    norm.gain.data, norm.bias.data = np.arange(4.0), np.ones(4)
    x = numbers(2, 3, 4)
    n = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(norm(Tensor(x)).data, n * np.arange(4) + 1)
    assert_all_gradients(norm, x)


def test_rms_norm():
    norm = RMSNorm(4, eps=1e-3)
    norm.gain.data = np.arange(4.0)
    x = numbers(2, 3, 4)
    np.testing.assert_allclose(norm(Tensor(x)).data, x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-3) * np.arange(4))
    assert_all_gradients(norm, x)


def test_embedding():
    table = Embedding(5, 3, rng=0)
    tokens = np.array([[1, 1, 4], [0, 1, 2]])
    assert (table(tokens).data == table.weight.data[tokens]).all()
    table(tokens).sum().backward()
    assert (table.weight.grad[:, 0] == [1, 3, 1, 0, 1]).all()
    assert Embedding(1000, 10, rng=0).weight.data.std() == pytest.approx(0.02, rel=0.05)


def test_dropout_while_training_only():
    dropout = Dropout(0.5, rng=0)
    x = Tensor(np.ones(1000), requires_grad=True)
    y = dropout(x)
    assert set(y.data) == {0, 2} and (dropout(x).data != y.data).any()
    assert dropout.eval()(x) is x


@pytest.mark.parametrize(
    "make", [lambda **o: Linear(3, 2, rng=0, **o), lambda **o: LayerNorm(3, **o), lambda **o: RMSNorm(3, **o)]
)
def test_float32(make):
    module = make(dtype=np.float32)
    x = Tensor(numbers(2, 3).astype(np.float32), requires_grad=True)
    y = module(x)
    y.sum().backward()
    assert y.dtype == x.grad.dtype == np.float32
    assert all(p.dtype == p.grad.dtype == np.float32 for p in module.parameters())


def test_integers_are_taken_as_numbers():
    assert Linear(3, 2, rng=0)(np.array([[1, 2, 3]])).dtype == np.float64


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: TransformerBlock(0, 1, 8), "d_model is the length of an axis, at least 1; got 0"),
        (lambda: TransformerBlock(-4, 1, 8), "d_model is the length of an axis, at least 1; got -4"),
        (lambda: TransformerBlock(4, 1, 0), "d_out is the length of an axis, at least 1; got 0"),
        (lambda: Linear(0, 0), "Linear: d_in is the length"),
        (lambda: LayerNorm(0), "LayerNorm: d is the length"),
        (lambda: RMSNorm(0), "RMSNorm: d is the length"),
        (lambda: Embedding(0, 4), "Embedding: n_rows is the length"),
    ],
)
def test_sml_a_a_length_of_0_is_named(build, words):
    with pytest.raises(ValueError, match=words):
        build()


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(3, "got one number"), ([[1, 2], [3]], "the sequences have different lengths"), ([], "no tokens")],
)
def test_sml_a_tokens_that_are_no_batch_of_sequences(tokens, words):
    model = LanguageModel(vocab_size=5, max_length=4, n_blocks=1, d_model=4, n_heads=1, d_ff=8, rng=0)
    with pytest.raises(ValueError, match=words):
        model(tokens)
