"""A language model: tokens in, a probability for each possible next token out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from blocks.attention import Attending, KeyValueCache
from blocks.generation import as_prompts, as_tokens, check_sampling, continuation
from blocks.layers import Dropout, Embedding, Linear
from blocks.positions import Sinusoidal
from blocks.trace import ParameterTable, Trace, count_parameters
from blocks.transformer import Stack
from minigrad import Tensor, softmax
from minigrad.recording import SCOPE
from minigrad.types import Rng, TensorLike

if TYPE_CHECKING:
    from typing_extensions import Unpack


class LanguageModel(Stack):
    """Token embeddings that know their positions, a stack of blocks, and one score for each token of the vocabulary.

    Args:
        vocab_size: number of tokens in the vocabulary, V.
        max_length: number of positions, the longest sequence it can read.
        n_blocks, d_model, n_heads, d_ff, norm, **options: of the stack, see `Stack`. Pre-norm and causal by default.
        positions: "learned" adds a learned row for each position (GPT-2), "sinusoidal" a fixed wave (see `Sinusoidal`),
            and "rotary" turns queries and keys in each attention (see `Rotary`). None leaves the order out.
        rotary_pairs, rotary_base: of rotary positions, see `Rotary`.
        tied: whether the scores use the token embedding's matrix again, as GPT-2 does.

    Attributes:
        config: all arguments but `rng`, so that `LanguageModel(**model.config)` has the same shapes.

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
        positions: str | None = "learned",
        rotary_pairs: str = "neighbours",
        norm: str | None = "pre",
        causal: bool = True,
        tied: bool = True,
        dropout: float = 0.0,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
        **options: Any,
    ):
        if positions not in ("learned", "sinusoidal", "rotary", None):
            raise ValueError(
                f'LanguageModel: positions is "learned", "sinusoidal", "rotary" or None; got {positions!r}'
            )
        self.config = {
            "vocab_size": vocab_size,
            "max_length": max_length,
            "n_blocks": n_blocks,
            "d_model": d_model,
            "n_heads": n_heads,
            "d_ff": d_ff,
            "positions": positions,
            "rotary_pairs": rotary_pairs,
            "norm": norm,
            "causal": causal,
            "tied": tied,
            "dropout": dropout,
            "dtype": np.dtype(dtype).name,
            **options,
        }
        rng = np.random.default_rng(rng)
        self.max_length = max_length
        self.tokens = Embedding(vocab_size, d_model, dtype=dtype, rng=rng)
        self.positions: Embedding | Sinusoidal | None = None
        if positions == "learned":
            self.positions = Embedding(max_length, d_model, dtype=dtype, rng=rng)
        if positions == "sinusoidal":
            self.positions = Sinusoidal(max_length, d_model, dtype=dtype)
        if positions == "rotary":
            options = {**options, "rotary_pairs": rotary_pairs}
        self.dropout = Dropout(dropout, rng=rng)
        options = {"norm": norm, "causal": causal, "dropout": dropout, "dtype": dtype, "rng": rng, **options}
        super().__init__(n_blocks, d_model, n_heads, d_ff, **options)
        self.output = None if tied else Linear(d_model, vocab_size, bias=False, dtype=dtype, rng=rng)

    def forward(
        self,
        tokens: TensorLike,
        mask: TensorLike | None = None,
        *,
        key_mask: TensorLike | None = None,
        score_bias: TensorLike | None = None,
        position_ids: ArrayLike | None = None,
        cache: list[KeyValueCache] | None = None,
    ) -> Tensor:
        """The scores (logits) of the next token, at each position.

        Args:
            tokens: integers, (..., T), with T at most max_length.
            mask, key_mask, score_bias: see `MultiHeadAttention.forward`.
            position_ids: integers (T,) or (..., T), where each token stands; by default 0 to T - 1, or on from what the
                cache holds. A batch that is padded in front counts from each sequence's first real token:
                ``np.maximum(key_mask.cumsum(axis=-1) - 1, 0)``.
            cache: the earlier tokens, one `KeyValueCache` for each block; only the new ones are given as `tokens`.

        Returns:
            (..., T, V)

        Raises:
            TypeError: tokens that are not integers.
            IndexError: a token outside of 0 .. V-1.
            ValueError: no tokens, more than max_length of them, or sequences of different lengths.
        """
        tokens = as_tokens(tokens)
        position_ids = self.places(tokens, position_ids, 0 if cache is None else len(cache[0]))
        x = self.embed(tokens, position_ids)  # (..., T, d_model)
        options: Attending = {"key_mask": key_mask, "score_bias": score_bias, "position_ids": position_ids}
        x = super().forward(x, mask, cache=cache, **options)  # (..., T, d_model)
        return x @ self.tokens.weight.T if self.output is None else self.output(x)  # (..., T, V)

    def embed(self, tokens: TensorLike, position_ids: ArrayLike | None = None) -> Tensor:
        """Token embedding plus position embedding, (..., T, d_model)."""
        tokens = as_tokens(tokens)
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(self.places(tokens, position_ids, 0))
        return self.dropout(x)

    def places(self, tokens: np.ndarray, position_ids: ArrayLike | None, n_read: int) -> np.ndarray:
        """The positions of the tokens, behind n_read earlier ones; they must be positions that the model has."""
        T = tokens.shape[-1]
        if n_read + T > self.max_length:
            raise ValueError(
                f"LanguageModel: {n_read + T} tokens, but there are only {self.max_length} positions: cut the "
                f"sequence, or build the model with a larger max_length"
            )
        if position_ids is None:
            return np.arange(n_read, n_read + T)
        position_ids = np.asarray(position_ids)
        if position_ids.dtype.kind not in "iu":
            raise TypeError(f"LanguageModel: position_ids are integers; got dtype {position_ids.dtype}")
        if position_ids.shape not in ((T,), tokens.shape):
            raise ValueError(
                f"LanguageModel: position_ids have the shape of the tokens, {tokens.shape}, or ({T},); "
                f"got {position_ids.shape}"
            )
        if position_ids.size and not (position_ids.min() >= 0 and position_ids.max() < self.max_length):
            raise IndexError(
                f"LanguageModel: positions go from 0 to {self.max_length - 1}; "
                f"got {position_ids.min()} to {position_ids.max()}"
            )
        return position_ids

    def probabilities(self, tokens: TensorLike, mask: TensorLike | None = None, **options: Unpack[Attending]) -> Tensor:
        """The probability of each next token at each position, (..., T, V); rows sum to 1. Arguments: see `forward`."""
        return softmax(self(tokens, mask, **options), axis=-1)

    def trace(self, tokens: TensorLike, mask: TensorLike | None = None, **options: Unpack[Attending]) -> Trace:
        """One pass, and what was computed on the way, by name: see `Trace`. Arguments: see `forward`.

        >>> model = LanguageModel(vocab_size=10, max_length=8, n_blocks=1, d_model=4, n_heads=2, d_ff=8, rng=0)
        >>> trace = model.trace([1, 2, 3])
        >>> trace.logits.softmax()[-1, 5].log().backward()
        >>> trace["blocks.0.attention.weights"].grad.shape
        (2, 3, 3)
        """
        scope = SCOPE.get() if self.name is None else (*SCOPE.get(), self.name)
        return Trace(as_tokens(tokens), self(tokens, mask, **options), scope)

    def parameter_table(self) -> ParameterTable:
        """How many parameters each part has: where a Transformer's parameters are.

        Biases aside, a block's attention has 4 d^2, and its feed-forward network of width 4 d has 8 d^2, twice as
        many. The token embedding has V d, which is most of a small model; tied, it is the output's matrix too.

        >>> model = LanguageModel(vocab_size=5000, max_length=256, n_blocks=4, d_model=64, n_heads=2, d_ff=256, rng=0)
        >>> print(model.parameter_table())
        Parameters by part
        <BLANKLINE>
        part                parameters   share
        ------------------  ----------  ------
        token embedding        320,000   59.7%
        position embedding      16,384    3.1%
        attention               66,560   12.4%
        norms                    1,152    0.2%
        feed_forward           132,352   24.7%
        sum                    536,448  100.0%
        """
        return count_parameters(self)

    def generate(
        self,
        tokens: TensorLike | Sequence[Sequence[int]],
        max_new_tokens: int,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        stop: int | Collection[int] | None = None,
        rng: Rng = None,
        cache: bool = True,
    ) -> Iterator[Any]:
        """Continue the tokens: yields the new ones one by one, so that text can be shown as it is made.

        Each is drawn from the model's probabilities, is appended, and the model reads on. Dropout is off, and nothing
        is recorded. Once there are more than max_length tokens the oldest are forgotten, and the rest is read anew.

        Args:
            tokens: one prompt (T,), or several, as an array (B, T) or as lists of different lengths.
            max_new_tokens: how many at most.
            temperature: scores are divided by it; below 1 likely tokens become likelier. 0 takes the most likely one.
            top_k: only the k most likely tokens can be drawn.
            top_p: only the most likely ones that together have this probability (Holtzman et al. 2020, nucleus).
            stop: a token, or several: it is the last that is yielded.
            rng: a NumPy Generator or a seed.
            cache: whether keys and values of earlier tokens are kept. Without, all are read again for each new token:
                the same tokens, more slowly.

        Yields:
            One prompt: the next token as an int. Several: an array (B,) of next tokens, in which a prompt that has
            stopped goes on with its stop token until all have.

        Raises:
            ValueError: an empty prompt; temperature, top_k or top_p out of range.
            IndexError: a token outside of 0 .. V-1.

        >>> model = LanguageModel(vocab_size=10, max_length=8, n_blocks=2, d_model=4, n_heads=2, d_ff=8, rng=0)
        >>> list(model.generate([1, 2, 3], 4, temperature=0))
        [6, 6, 6, 2]
        """
        prompts, one = as_prompts(tokens)
        check_sampling(max_new_tokens, temperature, top_k, top_p)
        stops = list(stop) if isinstance(stop, Collection) else [] if stop is None else [stop]
        sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "rng": np.random.default_rng(rng)}
        return continuation(self, prompts, one, max_new_tokens, stops, cache, sampling)
