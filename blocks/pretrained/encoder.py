"""Sentence encoders in BERT's layout, such as all-MiniLM-L6-v2: a text becomes one vector."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from blocks.layers import Embedding, LayerNorm
from blocks.pretrained.files import check_tokenizer, read_config, read_tokenizer, read_weights, setting
from blocks.pretrained.layout import Layout, Place, fill, linear, norm
from blocks.transformer import Stack
from minigrad import Tensor
from minigrad.types import TensorLike

IGNORED = ("embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias")  # no part of a mean of tokens


class SentenceEncoder(Stack):
    """Token, position and token-type embeddings with a norm, then post-norm blocks; a text is the mean of its tokens.

    Source: Devlin et al. 2018 (BERT); Reimers and Gurevych 2019 (the mean). The blocks are in the lesson's order.

    Args:
        tokenizer: a `tokenizers.Tokenizer`.
        vocab_size, max_length, n_token_types: rows of the three embeddings.
        n_blocks, d_model, n_heads, d_ff, **options: of the stack, see `Stack`.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        vocab_size: int,
        max_length: int,
        n_token_types: int,
        n_blocks: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        eps: float = 1e-12,
        dtype: DTypeLike = np.float32,
        **options: Any,
    ):
        self.tokenizer = tokenizer
        self.tokens = Embedding(vocab_size, d_model, dtype=dtype)
        self.positions = Embedding(max_length, d_model, dtype=dtype)
        self.token_types = Embedding(n_token_types, d_model, dtype=dtype)
        self.embedding_norm = LayerNorm(d_model, eps=eps, dtype=dtype)
        super().__init__(n_blocks, d_model, n_heads, d_ff, norm="post", eps=eps, dtype=dtype, **options)

    def encode(self, text: str | Sequence[str]) -> Tensor:
        """The embedding of a text, (d_model,); of several, (B, d_model). Gradients flow back to the token embeddings.

        Raises:
            ValueError: no text, or one of more tokens than there are positions.
        """
        if isinstance(text, str):
            return self(self.tokenize(text)).mean(axis=-2)  # (d_model,)
        sequences = [self.tokenize(one) for one in text]
        if not sequences:
            raise ValueError("encode: there is no text in this list")
        length = max(len(tokens) for tokens in sequences)
        padded = np.array([np.pad(tokens, (0, length - len(tokens))) for tokens in sequences])  # (B, T)
        real = np.arange(length) < np.array([[len(tokens)] for tokens in sequences])  # (B, T)
        weights = (real / real.sum(axis=-1, keepdims=True)).astype(self.tokens.weight.dtype)  # each row sums to 1
        return (self(padded, key_mask=real) * weights[..., None]).sum(axis=-2)  # (B, d_model)

    def tokenize(self, text: str) -> np.ndarray:
        """The text's tokens as integers, (T,), with those that mark its beginning and its end."""
        tokens = np.array(self.tokenizer.encode(text).ids)
        if not len(tokens):
            raise ValueError(f"encode: there are no tokens in {text!r}")
        n_positions = self.positions.weight.shape[0]
        if len(tokens) > n_positions:
            raise ValueError(f"encode: this text has {len(tokens)} tokens, but there are only {n_positions} positions")
        return tokens

    def forward(  # type: ignore[override]  # an encoder is a stack that reads tokens
        self, tokens: TensorLike, mask: TensorLike | None = None, **options: Any
    ) -> Tensor:
        """A vector for each token: (..., T) in, (..., T, d_model) out.

        `mask` and the options (`key_mask`, `score_bias`) are those of `MultiHeadAttention.forward`.
        """
        return super().forward(self.embed(tokens), mask, **options)

    def embed(self, tokens: TensorLike, token_types: ArrayLike = 0) -> Tensor:
        """What the first block reads, norm(token + position + token type), (..., T, d_model).

        The result's name is "embedded", by which `find(loss, "embedded")` has it. Token types tell the two sentences
        of a pair apart.
        """
        tokens = np.asarray(tokens.data if isinstance(tokens, Tensor) else tokens)
        positions = np.arange(tokens.shape[-1])
        x = self.tokens(tokens) + self.positions(positions) + self.token_types(np.asarray(token_types))
        x = self.embedding_norm(x)
        x.name = "embedded"
        return x


def load_sentence_encoder(folder: str | Path, *, dtype: DTypeLike = np.float32) -> SentenceEncoder:
    """The sentence encoder in a folder with `config.json`, `model.safetensors` and `tokenizer.json`, in BERT's layout.

        encoder = load_sentence_encoder(folder)
        encoder.encode("A cat sat on the mat.").shape  # (384,)

    Raises:
        FileNotFoundError: one of the three is missing.
        ValueError: a file is truncated or of another kind or architecture, the weights do not fit, or the tokenizer
            does not belong to them; the message lists what differs.
        ImportError: safetensors or tokenizers is not installed.
    """
    folder = Path(folder)
    source = folder / "config.json"
    config = read_config(folder, "bert")
    setting({"position_embedding_type": "absolute", **config}, source, "position_embedding_type", "absolute")
    setting(config, source, "hidden_act", "gelu")
    tokenizer = read_tokenizer(folder / "tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    check_tokenizer(tokenizer, setting(config, source, "vocab_size"), folder / "tokenizer.json")
    arrays = read_weights(folder)
    encoder = SentenceEncoder(
        tokenizer,
        vocab_size=setting(config, source, "vocab_size"),
        max_length=setting(config, source, "max_position_embeddings"),
        n_token_types=setting(config, source, "type_vocab_size"),
        n_blocks=setting(config, source, "num_hidden_layers"),
        d_model=setting(config, source, "hidden_size"),
        n_heads=setting(config, source, "num_attention_heads"),
        d_ff=setting(config, source, "intermediate_size"),
        activation="gelu_exact",
        eps=setting(config, source, "layer_norm_eps"),
        dtype=dtype,
    )
    prefix = "bert." if any(name.startswith("bert.") for name in arrays) else ""
    arrays = {name.removeprefix(prefix): array for name, array in arrays.items()}
    fill(encoder, arrays, bert_layout(len(encoder.blocks)), folder / "model.safetensors", IGNORED)
    return encoder


def bert_layout(n_blocks: int) -> Layout:
    """BERT's names, as `transformers` writes them."""
    layout = {
        "embeddings.word_embeddings.weight": Place(("tokens.weight",)),
        "embeddings.position_embeddings.weight": Place(("positions.weight",)),
        "embeddings.token_type_embeddings.weight": Place(("token_types.weight",)),
        **norm("embeddings.LayerNorm", "embedding_norm"),
    }
    for i in range(n_blocks):
        theirs, ours = f"encoder.layer.{i}", f"blocks.{i}"
        for part in ("query", "key", "value"):
            layout |= linear(f"{theirs}.attention.self.{part}", f"{ours}.attention.{part}")
        layout |= linear(f"{theirs}.attention.output.dense", f"{ours}.attention.output")
        layout |= norm(f"{theirs}.attention.output.LayerNorm", f"{ours}.attention_norm")
        layout |= linear(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.up")
        layout |= linear(f"{theirs}.output.dense", f"{ours}.feed_forward.down")
        layout |= norm(f"{theirs}.output.LayerNorm", f"{ours}.feed_forward_norm")
    return layout
