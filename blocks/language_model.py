"""A language model: tokens in, a probability for each possible next token out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from blocks.layers import Dropout, Embedding, Linear
from blocks.transformer import Stack
from minigrad import Tensor, softmax
from minigrad.types import Rng, TensorLike


class LanguageModel(Stack):
    """Token and position embeddings, a stack of blocks, and one score for each token of the vocabulary.

    Args:
        vocab_size: number of tokens in the vocabulary, V.
        max_length: number of positions, the longest sequence it can read.
        n_blocks, d_model, n_heads, d_ff, norm, **options: of the stack, see `Stack`. Pre-norm and causal by default.
        tied: whether the scores use the token embedding's matrix again, as GPT-2 does.

    >>> model = LanguageModel(vocab_size=10, max_length=8, n_blocks=2, d_model=4, n_heads=2, d_ff=8, rng=0)
    >>> model([1, 2, 3]).shape
    (3, 10)
    """

    def __init__(
        self,
        vocab_size: int,
        max_length: int,
        n_blocks: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm: str | None = "pre",
        causal: bool = True,
        tied: bool = True,
        dropout: float = 0.0,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
        **options: Any,
    ):
        rng = np.random.default_rng(rng)
        self.tokens = Embedding(vocab_size, d_model, dtype=dtype, rng=rng)
        self.positions = Embedding(max_length, d_model, dtype=dtype, rng=rng)
        self.dropout = Dropout(dropout, rng=rng)
        options = {"norm": norm, "causal": causal, "dropout": dropout, "dtype": dtype, "rng": rng, **options}
        super().__init__(n_blocks, d_model, n_heads, d_ff, **options)
        self.output = None if tied else Linear(d_model, vocab_size, bias=False, dtype=dtype, rng=rng)

    def forward(self, tokens: TensorLike, mask: TensorLike | None = None) -> Tensor:
        """The scores (logits) of the next token, at each position.

        Args:
            tokens: integers, (..., T), with T at most max_length.
            mask: see `MultiHeadAttention.forward`.

        Returns:
            (..., T, V)
        """
        x = super().forward(self.embed(tokens), mask)  # (..., T, d_model)
        return x @ self.tokens.weight.T if self.output is None else self.output(x)  # (..., T, V)

    def embed(self, tokens: TensorLike) -> Tensor:
        """Token embedding plus position embedding, (..., T, d_model)."""
        tokens = np.asarray(tokens.data if isinstance(tokens, Tensor) else tokens)
        T, n_positions = tokens.shape[-1], self.positions.weight.shape[0]
        if n_positions < T:
            raise ValueError(
                f"LanguageModel: {T} tokens, but there are only {n_positions} positions: cut the sequence, or build "
                f"the model with a larger max_length"
            )
        return self.dropout(self.tokens(tokens) + self.positions(np.arange(T)))

    def probabilities(self, tokens: TensorLike, mask: TensorLike | None = None) -> Tensor:
        """The probability of each next token at each position, (..., T, V); rows sum to 1."""
        return softmax(self(tokens, mask), axis=-1)
