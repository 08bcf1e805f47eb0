"""Multi-head self-attention: how tokens exchange information (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from blocks.layers import Dropout, Linear, check_lengths
from blocks.positions import Rotary
from minigrad import Module, Tensor, concatenate, softmax, where
from minigrad.types import Rng, TensorLike


class Attending(TypedDict, total=False):
    """What an attention's call can say beside its mask, which blocks and stacks hand on: see its `forward`."""

    key_mask: TensorLike | None
    score_bias: TensorLike | None
    position_ids: ArrayLike | None


class AttendingOn(Attending, total=False):
    """The same, and the earlier tokens."""

    cache: KeyValueCache | None


class KeyValueCache:
    """The keys and values of the tokens that one attention has read so far: all that the next token needs of them.

    A stack takes a list with one for each block, and adds to them. Use it inside `no_grad()`: otherwise it keeps the
    graph of all earlier tokens alive.

    Attributes:
        key, value: (..., K, S, d) for S tokens and K key heads; None at first.
    """

    def __init__(self) -> None:
        self.key: Tensor | None = None
        self.value: Tensor | None = None

    def __len__(self) -> int:
        """The number of tokens read so far, S."""
        return 0 if self.key is None else self.key.shape[-2]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values so far, these included."""
        if self.key is not None and self.value is not None:
            key = concatenate([self.key, key], axis=-2)  # (..., K, S, d)
            value = concatenate([self.value, value], axis=-2)  # (..., K, S, d)
        self.key, self.value = key, value
        return key, value

    def __repr__(self) -> str:
        return f"<KeyValueCache of {len(self)} tokens>"


class MultiHeadAttention(Module):
    """Each token gathers the values of the others, weighted by how well its query matches their keys.

    softmax(Q K^T / sqrt(d)) V in each of H heads of width d = d_model / H, then one linear map of all heads together.

    Args:
        d_model: width of a token.
        n_heads: H; it must divide d_model.
        n_kv_heads: K, the number of heads of keys and values; H by default. It must divide H: each serves H / K queries
            (Ainslie et al. 2023, grouped-query attention; with K = 1 multi-query attention).
        causal: whether a token sees only itself and the tokens before it.
        rotary_pairs: "neighbours" or "halves" turns queries and keys by their position, see `Rotary`; None does not.
        rotary_base: see `Rotary`.
        bias: whether the four linear maps have a bias.
        dropout: probability with which an attention weight is dropped while training.

    Attributes:
        weights: the attention weights of the last forward pass, (..., H, T, S); rows add up to 1.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        causal: bool = False,
        rotary_pairs: str | None = None,
        rotary_base: float = 10000.0,
        bias: bool = True,
        dropout: float = 0.0,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
    ):
        check_lengths("MultiHeadAttention", d_model=d_model)
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"MultiHeadAttention: n_heads must divide d_model, but {d_model} / {n_heads} is not whole")
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        if n_kv_heads < 1 or n_heads % n_kv_heads:
            raise ValueError(
                f"MultiHeadAttention: n_kv_heads must divide n_heads, but {n_heads} / {n_kv_heads} is not whole"
            )
        rng = np.random.default_rng(rng)
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.causal = causal
        self.d_head = d = d_model // n_heads
        self.query = Linear(d_model, d_model, bias=bias, dtype=dtype, rng=rng)
        self.key = Linear(d_model, n_kv_heads * d, bias=bias, dtype=dtype, rng=rng)
        self.value = Linear(d_model, n_kv_heads * d, bias=bias, dtype=dtype, rng=rng)
        self.output = Linear(d_model, d_model, bias=bias, dtype=dtype, rng=rng)
        self.rotary = Rotary(d, pairs=rotary_pairs, base=rotary_base) if rotary_pairs else None
        self.dropout = Dropout(dropout, rng=rng)
        self.weights: np.ndarray | None = None

    def forward(
        self,
        x: Tensor,
        mask: TensorLike | None = None,
        *,
        key_mask: TensorLike | None = None,
        score_bias: TensorLike | None = None,
        position_ids: ArrayLike | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Attention of the tokens of x among themselves, and to those in the cache.

        S is the number of keys: T, and with a cache the tokens in it too.

        Args:
            x: (..., T, d_model)
            mask: booleans that broadcast to (..., T, S), query by key: True where the query may attend to the key.
                A mask with one axis more than x is (..., H, T, S), one for each head.
            key_mask: booleans (..., S), True for real tokens: no query attends to the others. For padding.
            score_bias: numbers that broadcast to (..., H, T, S) and are added to the scores; they may have a gradient.
            position_ids: integers (T,) or (..., T), where each token stands; by default they count on from the cache.
                Only rotary attention looks at them.
            cache: the keys and values of earlier tokens; those of x are added to it.

        Raises:
            TypeError: a mask that is not boolean.
            ValueError: a mask or bias that does not fit; a (T, T) mask beside x of shape (T, T, d_model), which could
                be query by key or a mask of keys.
        """
        query = self.split_heads(self.query(x))  # (..., H, T, d)
        key = self.split_heads(self.key(x))  # (..., K, T, d)
        value = self.split_heads(self.value(x))  # (..., K, T, d)
        if self.rotary is not None:
            if position_ids is None:
                position_ids = np.arange(x.shape[-2]) + (0 if cache is None else len(cache))
            query, key = self.rotary(query, position_ids), self.rotary(key, position_ids)
        if cache is not None:
            key, value = cache.extend(key, value)  # (..., K, S, d)

        scores = self.ungrouped(self.grouped(query) @ key.swapaxes(-1, -2)) / query.shape[-1] ** 0.5  # (..., H, T, S)
        if score_bias is not None:
            scores = scores + fitting_bias(score_bias, scores)
        allowed = self.allowed(x, key.shape[-2], mask, key_mask)
        if allowed is not None:
            scores = where(allowed, scores, -np.inf)
        weights = softmax(scores, axis=-1)  # (..., H, T, S)
        self.weights = weights.data
        heads = self.ungrouped(self.grouped(self.dropout(weights)) @ value)  # (..., H, T, d)
        return self.output(self.merge_heads(heads))  # (..., T, d_model)

    def split_heads(self, x):
        x = x.reshape(*x.shape[:-1], x.shape[-1] // self.d_head, self.d_head)  # (..., T, H, d)
        return x.swapaxes(-2, -3)  # (..., H, T, d)

    def merge_heads(self, heads):
        x = heads.swapaxes(-2, -3)  # (..., T, H, d)
        return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])  # (..., T, d_model)

    def grouped(self, x):
        """The heads that share a key as one, row under row, so that one product serves them and no key is copied."""
        if self.n_kv_heads == self.n_heads:
            return x
        *batch, H, T, n = x.shape
        return x.reshape(*batch, self.n_kv_heads, H // self.n_kv_heads * T, n)  # (..., K, H/K T, n)

    def ungrouped(self, x):
        if self.n_kv_heads == self.n_heads:
            return x
        *batch, K, rows, n = x.shape
        return x.reshape(*batch, self.n_heads, rows * K // self.n_heads, n)  # (..., H, T, n)

    def allowed(self, x, n_keys, mask, key_mask):
        """Where a query may attend to a key, as booleans that broadcast to (..., H, T, S); None for everywhere."""
        T = x.shape[-2]
        masks = []
        if self.causal and T > 1:  # one query comes last, and sees all
            masks.append(np.tri(T, n_keys, n_keys - T, dtype=bool))
        if mask is not None:
            masks.append(self.by_query_and_key(mask, x, n_keys))
        if key_mask is not None:
            masks.append(by_key(key_mask, x, n_keys))
        if not masks:
            return None
        allowed = masks[0]
        for other in masks[1:]:
            allowed = allowed & other
        return allowed

    def by_query_and_key(self, mask, x, n_keys):
        mask = as_booleans(mask, "a mask is boolean, True where a query may attend")
        if mask.ndim > 1 and mask.shape == x.shape[:-1] and mask.shape[-2:] == (n_keys, n_keys) and n_keys > 1:
            raise ValueError(
                f"attention: a mask of shape {mask.shape} beside x of shape {x.shape} has two meanings. "
                f"If it says which tokens are real, pass key_mask=mask; if it is query by key for all sequences, "
                f"pass mask=mask[None]"
            )
        full = (*x.shape[:-1], n_keys)
        if mask.ndim == x.ndim + 1:
            full = (*x.shape[:-2], self.n_heads, x.shape[-2], n_keys)
        if not fits(mask, full):
            raise ValueError(
                f"attention: a mask of shape {mask.shape} does not broadcast to {full}, query by key; "
                f"a padding mask of shape (B, T) is passed as mask[:, None, :] or as key_mask"
            )
        return mask[..., None, :, :] if 3 <= mask.ndim <= x.ndim else mask  # the same for every head


def by_key(key_mask, x, n_keys):
    key_mask = as_booleans(key_mask, "a key_mask is boolean, True for real tokens")
    full = (*x.shape[:-2], n_keys)
    if not fits(key_mask, full):
        raise ValueError(
            f"attention: a key_mask of shape {key_mask.shape} does not broadcast to {full}, one for each key; "
            f"booleans for each query and key are passed as mask="
        )
    return key_mask[..., None, None, :] if key_mask.ndim > 1 else key_mask  # for every head and query


def as_booleans(mask, wanted):
    mask = np.asarray(mask.data if isinstance(mask, Tensor) else mask)
    if mask.dtype != bool:
        raise TypeError(f"attention: {wanted}; got dtype {mask.dtype}")
    return mask


def fitting_bias(bias, scores):
    """The bias in the scores' dtype, if it broadcasts to them."""
    if not isinstance(bias, Tensor):
        bias = np.asarray(bias)
        if bias.dtype.kind not in "iuf":
            raise TypeError(
                f"attention: score_bias holds numbers; got dtype {bias.dtype}: booleans are passed as mask="
            )
        bias = Tensor(bias.astype(scores.dtype))
    if not fits(bias, scores.shape):
        raise ValueError(
            f"attention: a score_bias of shape {bias.shape} does not broadcast to {scores.shape}, the scores by head, "
            f"query and key"
        )
    return bias


def fits(array, shape):
    """Whether it broadcasts to the shape."""
    try:
        return np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        return False
