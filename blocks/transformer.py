"""The Transformer block, and a stack of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from blocks.attention import Attending, AttendingOn, KeyValueCache, MultiHeadAttention
from blocks.feed_forward import GATED, FeedForward, SwiGLU
from blocks.layers import Dropout, LayerNorm, RMSNorm, new_norm
from minigrad import Module, Tensor, residual_add
from minigrad.types import Rng, TensorLike

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TransformerBlock(Module):
    """Attention, then feed-forward, each with a residual around it and a norm before or after.

    With norm="post" (Vaswani et al. 2017):   h = norm(x + attention(x)),   y = norm(h + feed_forward(h)).
    With norm="pre" (GPT-2; Xiong et al. 2020):   h = x + attention(norm(x)),   y = h + feed_forward(norm(h)).
    With norm=None:   h = x + attention(x),   y = h + feed_forward(h).

    Args:
        d_model: width of a token.
        n_heads: number of attention heads; it must divide d_model.
        d_ff: width inside the feed-forward network.
        norm: "post", "pre" or None.
        norm_type: "layer" or "rms".
        activation: "relu", "gelu" (its tanh form), "gelu_exact", "silu", "tanh"; or "swiglu", "geglu" for a gated
            feed-forward network.
        causal: whether a token sees only itself and the tokens before it.
        n_kv_heads, rotary_pairs, rotary_base: of the attention, see `MultiHeadAttention`.
        bias: whether the linear maps have a bias.
        dropout: probability of dropping an attention weight or an element of a sublayer's result, while training.
        eps: added to the variance inside the norms.
        dtype: of all parameters.
        rng: a NumPy Generator or a seed, for the initial weights and the dropout.
        name: its scope in diagrams; "block" by default, and `blocks.0` and so on in a stack.
        residual: False leaves both residuals out, to show what they are for.

    >>> from minigrad import Tensor
    >>> block = TransformerBlock(d_model=4, n_heads=2, d_ff=8, rng=0)
    >>> block(Tensor(np.ones((3, 4)))).shape
    (3, 4)
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm: str | None = "post",
        norm_type: str = "layer",
        activation: str = "relu",
        causal: bool = False,
        n_kv_heads: int | None = None,
        rotary_pairs: str | None = None,
        rotary_base: float = 10000.0,
        bias: bool = True,
        dropout: float = 0.0,
        eps: float = 1e-5,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
        name: str | None = None,
        residual: bool = True,
    ):
        if norm not in ("post", "pre", None):
            raise ValueError(f'TransformerBlock: norm is "post", "pre" or None; got {norm!r}')
        rng = np.random.default_rng(rng)
        self.name = name or "block"
        self.norm = norm
        self.d_model = d_model
        options: dict[str, Any] = {"bias": bias, "dtype": dtype, "rng": rng}
        self.attention = MultiHeadAttention(
            d_model,
            n_heads,
            n_kv_heads=n_kv_heads,
            causal=causal,
            rotary_pairs=rotary_pairs,
            rotary_base=rotary_base,
            dropout=dropout,
            **options,
        )
        self.attention_norm: LayerNorm | RMSNorm | Any = new_norm(norm_type, d_model, eps, dtype) if norm else None
        self.feed_forward: FeedForward | SwiGLU
        if activation in GATED:
            self.feed_forward = GATED[activation](d_model, d_ff, **options)
        else:
            self.feed_forward = FeedForward(d_model, d_ff, activation, **options)
        self.feed_forward_norm: LayerNorm | RMSNorm | Any = new_norm(norm_type, d_model, eps, dtype) if norm else None
        self.dropout = Dropout(dropout, rng=rng)
        self.residual = residual

    def forward(self, x: Tensor, mask: TensorLike | None = None, **options: Unpack[AttendingOn]) -> Tensor:
        """One block: (..., T, d_model) in, the same shape out.

        `mask` and the options (`key_mask`, `score_bias`, `position_ids`, `cache`) are those of
        `MultiHeadAttention.forward`.
        """
        if x.ndim < 2 or x.shape[-1] != self.d_model:
            raise ValueError(f"{self.name}: x must be (..., T, {self.d_model}); got shape {x.shape}")
        if self.norm == "pre":
            h = self.add(x, self.attention(self.attention_norm(x), mask, **options), "attention_residual")
            return self.add(h, self.feed_forward(self.feed_forward_norm(h)), "feed_forward_residual")
        if self.norm == "post":
            h = self.attention_norm(self.add(x, self.attention(x, mask, **options), "attention_residual"))
            return self.feed_forward_norm(self.add(h, self.feed_forward(h), "feed_forward_residual"))
        h = self.add(x, self.attention(x, mask, **options), "attention_residual")  # (..., T, d_model)
        return self.add(h, self.feed_forward(h), "feed_forward_residual")

    def add(self, x, branch, label):
        """y = x + branch, marked as a residual:  dL/dx gets dL/dy as it is, and what comes back through the branch.

        Without residuals y = branch, so the whole gradient has to go through the sublayer.
        """
        branch = self.dropout(branch)  # (..., T, d_model)
        if self.residual:
            return residual_add(x, branch, label)
        return branch


class Stack(Module):
    """Blocks one after the other; the shape stays the same from end to end.

    Args:
        n_blocks: how many.
        d_model, n_heads, d_ff, norm, norm_type, eps, dtype, **options: of each block, see `TransformerBlock`.
        final_norm: whether a norm follows the last block; by default after pre-norm blocks, whose sum would
            otherwise leave the stack unnormalized.

    >>> from minigrad import Tensor
    >>> stack = Stack(2, d_model=4, n_heads=2, d_ff=8, norm="pre", rng=0)
    >>> stack(Tensor(np.ones((3, 4)))).shape
    (3, 4)
    """

    def __init__(
        self,
        n_blocks: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm: str | None = "post",
        norm_type: str = "layer",
        final_norm: bool | None = None,
        eps: float = 1e-5,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
        **options: Any,
    ):
        options = {"norm": norm, "norm_type": norm_type, "eps": eps, "dtype": dtype, **options}
        options["rng"] = np.random.default_rng(rng)
        self.blocks = [TransformerBlock(d_model, n_heads, d_ff, **options) for _ in range(n_blocks)]
        self.final_norm: LayerNorm | RMSNorm | None = None
        if final_norm or (final_norm is None and norm == "pre"):
            self.final_norm = new_norm(norm_type, d_model, eps, dtype)

    def forward(
        self,
        x: Tensor,
        mask: TensorLike | None = None,
        *,
        cache: list[KeyValueCache] | None = None,
        **options: Unpack[Attending],
    ) -> Tensor:
        """All blocks: (..., T, d_model) in, the same shape out.

        `mask` and the options (`key_mask`, `score_bias`, `position_ids`) are those of `MultiHeadAttention.forward`;
        `cache` is a list with one `KeyValueCache` for each block.
        """
        if cache is not None and len(cache) != len(self.blocks):
            raise ValueError(f"Stack: a cache for each of the {len(self.blocks)} blocks is needed; got {len(cache)}")
        for i, block in enumerate(self.blocks):
            own: Any = options if cache is None else {**options, "cache": cache[i]}
            x = block(x, mask, **own)  # (..., T, d_model)
        return x if self.final_norm is None else self.final_norm(x)
