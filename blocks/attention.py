"""Multi-head self-attention: how tokens exchange information (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from blocks.layers import Dropout, Linear
from minigrad import Module, Tensor, softmax, where
from minigrad.types import Rng, TensorLike


class MultiHeadAttention(Module):
    """Each token gathers the values of the others, weighted by how well its query matches their keys.

    softmax(Q K^T / sqrt(d)) V in each of H heads of width d = d_model / H, then one linear map of all heads together.

    Args:
        d_model: width of a token.
        n_heads: H; it must divide d_model.
        causal: whether a token sees only itself and the tokens before it.
        bias: whether the four linear maps have a bias.
        dropout: probability with which an attention weight is dropped while training.

    Attributes:
        weights: the attention weights of the last forward pass, (..., H, T, T); rows add up to 1.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        causal: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
    ):
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"MultiHeadAttention: n_heads must divide d_model, but {d_model} / {n_heads} is not whole")
        rng = np.random.default_rng(rng)
        self.n_heads = n_heads
        self.causal = causal
        self.query = Linear(d_model, d_model, bias=bias, dtype=dtype, rng=rng)
        self.key = Linear(d_model, d_model, bias=bias, dtype=dtype, rng=rng)
        self.value = Linear(d_model, d_model, bias=bias, dtype=dtype, rng=rng)
        self.output = Linear(d_model, d_model, bias=bias, dtype=dtype, rng=rng)
        self.dropout = Dropout(dropout, rng=rng)
        self.weights: np.ndarray | None = None

    def forward(self, x: Tensor, mask: TensorLike | None = None) -> Tensor:
        """Attention of the tokens of x among themselves.

        Args:
            x: (..., T, d_model)
            mask: booleans that broadcast to (..., T, T), query by key: True where the query may attend to the key.
                A padding mask of shape (B, T) is passed as mask[:, None, :]. A mask with one axis more than x
                is (..., H, T, T), one for each head.
        """
        query = self.split_heads(self.query(x))  # (..., H, T, d)
        key = self.split_heads(self.key(x))  # (..., H, T, d)
        value = self.split_heads(self.value(x))  # (..., H, T, d)

        scores = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5  # (..., H, T, T)
        allowed = self.allowed(x, mask)
        if allowed is not None:
            scores = where(allowed, scores, -np.inf)
        weights = softmax(scores, axis=-1)  # (..., H, T, T)
        self.weights = weights.data
        heads = self.dropout(weights) @ value  # (..., H, T, d)
        return self.output(self.merge_heads(heads))  # (..., T, d_model)

    def split_heads(self, x):
        x = x.reshape(*x.shape[:-1], self.n_heads, x.shape[-1] // self.n_heads)  # (..., T, H, d)
        return x.swapaxes(-2, -3)  # (..., H, T, d)

    def merge_heads(self, heads):
        x = heads.swapaxes(-2, -3)  # (..., T, H, d)
        return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])  # (..., T, d_model)

    def allowed(self, x, mask):
        """Where a query may attend to a key, as booleans that broadcast to (..., H, T, T); None for everywhere."""
        T = x.shape[-2]
        causal = np.tri(T, dtype=bool) if self.causal else None
        if mask is None:
            return causal
        mask = np.asarray(mask.data if hasattr(mask, "op") else mask)
        if mask.dtype != bool:
            raise TypeError(f"attention: a mask is boolean, True where a query may attend; got dtype {mask.dtype}")
        full = (*x.shape[:-1], T)
        if mask.ndim == x.ndim + 1:
            full = (*x.shape[:-2], self.n_heads, T, T)
        try:
            np.broadcast_to(mask, full)
        except ValueError:
            raise ValueError(
                f"attention: a mask of shape {mask.shape} does not broadcast to {full}, query by key; "
                f"a padding mask of shape (B, T) is passed as mask[:, None, :]"
            ) from None
        if 3 <= mask.ndim <= x.ndim:
            mask = mask[..., None, :, :]  # the same for every head
        return mask if causal is None else mask & causal
