"""Attention against a plain NumPy version with loops, its masks, and its gradients."""

import numpy as np
import pytest

from blocks import KeyValueCache, MultiHeadAttention
from minigrad import Tensor
from tests.blocks.checking import assert_all_gradients


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def filled(attention):
    """Biases that are not 0."""
    for i, (_, parameter) in enumerate(attention.named_parameters()):
        if parameter.ndim == 1:
            parameter.data = np.linspace(-0.5, 0.5, parameter.size) + 0.1 * i
    return attention


def by_hand(attention, x, allowed):
    """One sequence x (T, d_model), head by head and query by query; `allowed` is (H, T, T)."""
    maps = [attention.query, attention.key, attention.value]
    q, k, v = (x @ m.weight.data + (m.bias.data if m.bias is not None else 0) for m in maps)
    d = x.shape[-1] // attention.n_heads
    merged = np.zeros_like(x)
    for h in range(attention.n_heads):
        own = slice(h * d, (h + 1) * d)
        for t in range(len(x)):
            keys = np.flatnonzero(allowed[h, t])
            if keys.size:
                e = np.exp(k[keys][:, own] @ q[t, own] / np.sqrt(d))
                merged[t, own] = (e / e.sum()) @ v[keys][:, own]
    y = merged @ attention.output.weight.data
    return y + attention.output.bias.data if attention.output.bias is not None else y


@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_against_loops(n_heads, causal, bias):
    attention = filled(MultiHeadAttention(4, n_heads, causal=causal, bias=bias, rng=0))
    x = numbers(2, 3, 4)
    allowed = np.tile(np.tri(3, dtype=bool) if causal else np.ones((3, 3), bool), (n_heads, 1, 1))
    y = attention(Tensor(x))
    for sample in range(2):
        np.testing.assert_allclose(y.data[sample], by_hand(attention, x[sample], allowed), rtol=1e-12)
        np.testing.assert_allclose(attention(Tensor(x[sample])).data, y.data[sample], rtol=1e-12)
    assert attention.weights.shape == (n_heads, 3, 3)
    np.testing.assert_allclose(attention.weights.sum(-1), 1)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients(causal):
    assert_all_gradients(filled(MultiHeadAttention(4, 2, causal=causal, rng=0)), numbers(2, 3, 4))


RNG = np.random.default_rng(3)
MASKS = {
    "for all": np.array([[1, 0, 1], [1, 1, 0], [0, 0, 1]]) > 0,  # (T, T)
    "keys": np.array([True, True, False]),  # (T,)
    "by sample": RNG.random((2, 3, 3)) < 0.6,  # (B, T, T)
    "padding": np.array([[[1, 1, 0]], [[1, 0, 0]]]) > 0,  # (B, 1, T)
    "by head": RNG.random((2, 2, 3, 3)) < 0.6,  # (B, H, T, T)
    "by head for all": RNG.random((1, 2, 3, 3)) < 0.6,  # (1, H, T, T)
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_masks(name, causal):
    mask = MASKS[name]
    attention = filled(MultiHeadAttention(4, 2, causal=causal, rng=0))
    x = numbers(2, 3, 4)
    by_head = mask if mask.ndim == 4 else mask.reshape((1,) * (3 - mask.ndim) + mask.shape)[:, None]
    allowed = np.broadcast_to(by_head, (2, 2, 3, 3)) & (np.tri(3, dtype=bool) if causal else True)
    y = attention(Tensor(x), mask)
    for sample in range(2):
        np.testing.assert_allclose(y.data[sample], by_hand(attention, x[sample], allowed[sample]), rtol=1e-12)
    assert (attention.weights[~allowed] == 0).all()
    assert (attention(Tensor(x), Tensor(mask)).data == y.data).all()
    assert (attention(Tensor(x), mask.tolist()).data == y.data).all()


def test_gradients_with_an_empty_row():
    mask = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]]) > 0
    attention = filled(MultiHeadAttention(4, 2, rng=0))

    class Masked(type(attention)):
        def forward(self, x):
            return super().forward(x, mask)

    attention.__class__ = Masked
    assert_all_gradients(attention, numbers(3, 4))


def test_masks_that_do_not_fit():
    attention = MultiHeadAttention(4, 2, rng=0)
    x = Tensor(numbers(2, 3, 4))
    for mask in (np.ones((2, 3), bool), np.ones((4, 4), bool), np.ones((3, 3, 3), bool), np.ones((5, 2, 3, 3), bool)):
        with pytest.raises(ValueError, match=r"does not broadcast to .*query by key"):
            attention(x, mask)
    with pytest.raises(TypeError, match="a mask is boolean, True where a query may attend; got dtype float64"):
        attention(x, np.zeros((3, 3)))


def test_shp_e_a_mask_with_two_meanings_is_refused():
    attention = filled(MultiHeadAttention(4, 2, rng=0))
    x = Tensor(numbers(3, 3, 4))
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1]]) > 0
    with pytest.raises(ValueError, match=r"two meanings.* key_mask=mask; .* mask=mask\[None\]"):
        attention(x, mask)
    by_hand_of_keys = [by_hand(attention, a, np.broadcast_to(m, (2, 3, 3))) for a, m in zip(x.data, mask, strict=True)]
    np.testing.assert_allclose(attention(x, key_mask=mask).data, by_hand_of_keys, rtol=1e-12)
    np.testing.assert_allclose(attention(x, mask[:, None, :]).data, by_hand_of_keys, rtol=1e-12)
    by_query = [by_hand(attention, a, np.broadcast_to(mask, (2, 3, 3))) for a in x.data]
    np.testing.assert_allclose(attention(x, mask[None]).data, by_query, rtol=1e-12)
    np.testing.assert_allclose(attention(x[:2], mask).data, by_query[:2], rtol=1e-12)  # here it has only one
    np.testing.assert_allclose(attention(x[0], mask).data, by_query[0], rtol=1e-12)


def test_key_masks_that_do_not_fit():
    attention = MultiHeadAttention(4, 2, rng=0)
    x = Tensor(numbers(2, 3, 4))
    for shape in ((2, 2), (3, 3), (2, 3, 3), (1, 2, 3)):
        with pytest.raises(
            ValueError, match=r"a key_mask of shape .* does not broadcast to \(2, 3\), one for each key"
        ):
            attention(x, key_mask=np.ones(shape, bool))
    with pytest.raises(TypeError, match="a key_mask is boolean, True for real tokens; got dtype int64"):
        attention(x, key_mask=np.ones((2, 3), int))


def test_score_biases_that_do_not_fit():
    attention = MultiHeadAttention(4, 2, rng=0)
    x = Tensor(numbers(2, 3, 4))
    for shape in ((4, 4), (3, 3, 3), (5, 2, 2, 3, 3)):
        with pytest.raises(ValueError, match=r"a score_bias of shape .* does not broadcast to \(2, 2, 3, 3\)"):
            attention(x, score_bias=np.zeros(shape))
    with pytest.raises(TypeError, match="score_bias holds numbers; got dtype bool"):
        attention(x, score_bias=np.ones((3, 3), bool))


def test_a_score_bias_of_float64_leaves_float32():
    attention = MultiHeadAttention(4, 2, dtype=np.float32, rng=0)
    assert attention(Tensor(numbers(3, 4).astype(np.float32)), score_bias=np.zeros((3, 3))).dtype == np.float32


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("rotary_pairs", ["neighbours", "halves"])
def test_gradients_of_grouped_queries_and_rotary_positions(n_kv_heads, rotary_pairs):
    options = {"n_kv_heads": n_kv_heads, "rotary_pairs": rotary_pairs, "causal": True}
    assert_all_gradients(filled(MultiHeadAttention(8, 4, rng=0, **options)), numbers(2, 3, 8))


def test_key_heads_that_do_not_divide():
    for n_kv_heads in (3, 8, 0):
        with pytest.raises(ValueError, match="n_kv_heads must divide n_heads"):
            MultiHeadAttention(8, 4, n_kv_heads=n_kv_heads)


def test_a_cache_holds_what_was_read():
    attention = filled(MultiHeadAttention(8, 4, n_kv_heads=2, rotary_pairs="halves", causal=True, rng=0))
    x = Tensor(numbers(2, 6, 8))
    whole = attention(x).data
    cache = KeyValueCache()
    parts = [attention(x[:, start:stop], cache=cache).data for start, stop in ((0, 3), (3, 4), (4, 6))]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-12, atol=1e-14)
    assert len(cache) == 6 and cache.key.shape == cache.value.shape == (2, 2, 6, 2)
    assert repr(cache) == "<KeyValueCache of 6 tokens>"
    assert attention.weights.shape == (2, 4, 2, 6)


def test_dropout_of_attention_weights():
    attention = MultiHeadAttention(4, 2, dropout=0.5, rng=0)
    x = Tensor(numbers(5, 4))
    assert (attention(x).data != attention(x).data).any()
    attention.eval()
    assert (attention(x).data == attention(x).data).all()
    np.testing.assert_allclose(attention.weights.sum(-1), 1)


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4), (0, 3, 4)])
def test_no_tokens(shape):
    x = Tensor(np.zeros(shape), requires_grad=True)
    y = MultiHeadAttention(4, 2, rng=0)(x)
    y.sum().backward()
    assert y.shape == x.grad.shape == shape


def test_float32():
    attention = MultiHeadAttention(4, 2, causal=True, dtype=np.float32, rng=0)
    x = Tensor(numbers(3, 4).astype(np.float32), requires_grad=True)
    y = attention(x)
    y.sum().backward()
    assert {y.dtype, x.grad.dtype, attention.weights.dtype, attention.query.weight.grad.dtype} == {np.dtype(np.float32)}


def test_heads_that_do_not_divide():
    for n_heads in (3, 5, 0):
        with pytest.raises(ValueError, match="n_heads must divide d_model"):
            MultiHeadAttention(4, n_heads)
