"""GPT-2's layout, as `transformers` writes it: one fused map for query, key and value, and matrices in (in, out)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from blocks.language_model import LanguageModel
from blocks.pretrained.files import read_config, read_weights, save_safetensors, setting
from blocks.pretrained.layout import Layout, Place, fill, linear, norm, stored
from minigrad.files import write_whole

ACTIVATIONS = {"gelu_new": "gelu", "gelu_pytorch_tanh": "gelu", "relu": "relu", "silu": "silu"}  # theirs: ours
VARIANTS = {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}


def load_gpt2(folder: str | Path, *, dtype: DTypeLike = np.float32) -> LanguageModel:
    """The language model in a folder with `config.json` and `model.safetensors`, in GPT-2's layout.

    Pre-norm blocks, learned positions, the tanh form of gelu, and the token embedding again as the output.
    (Radford et al. 2019.)

        model = load_gpt2(folder)
        model.probabilities([464, 3290]).shape  # (2, 50257)

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is truncated or of another kind or architecture, or the weights do not fit; the message lists
            what differs.
        ImportError: safetensors is not installed.
    """
    folder = Path(folder)
    source = folder / "config.json"
    config = read_config(folder, "gpt2")
    for name, value in VARIANTS.items():
        setting({name: value, **config}, source, name, value)
    arrays = read_weights(folder)
    d_model = setting(config, source, "n_embd")
    tied = config.get("tie_word_embeddings", True)
    model = LanguageModel(
        setting(config, source, "vocab_size"),
        setting(config, source, "n_positions"),
        setting(config, source, "n_layer"),
        d_model,
        setting(config, source, "n_head"),
        config.get("n_inner") or 4 * d_model,
        activation=ACTIVATIONS[setting(config, source, "activation_function", *ACTIVATIONS)],
        eps=setting(config, source, "layer_norm_epsilon"),
        tied=tied,
        dtype=dtype,
    )
    arrays = {name.removeprefix("transformer."): array for name, array in arrays.items()}
    # What older versions stored beside the weights: the causal masks, and the tied output once more.
    masks = [f"h.{i}.attn.{name}" for i in range(len(model.blocks)) for name in ("bias", "masked_bias")]
    ignored = [*masks, "lm_head.weight"] if tied else masks
    fill(model, arrays, gpt2_layout(len(model.blocks), tied), folder / "model.safetensors", ignored)
    return model


def save_gpt2(model: LanguageModel, folder: str | Path) -> None:
    """Write a language model as a folder in GPT-2's layout, which `transformers` opens, and `load_gpt2`.

    The model is one that GPT-2 could be: causal pre-norm blocks with the tanh form of gelu (or relu, silu), learned
    positions and biases. The folder is made if there is none; each file is written whole or not at all.

    Raises:
        ValueError: the model has parameters that GPT-2 has not, or lacks some, or has another activation or norm.
        ImportError: safetensors is not installed.
    """
    folder = Path(folder)
    tied = model.output is None
    arrays = stored(model, gpt2_layout(len(model.blocks), tied))
    config = gpt2_config(model, tied)
    folder.mkdir(parents=True, exist_ok=True)
    prefixed = {name if name == "lm_head.weight" else f"transformer.{name}": array for name, array in arrays.items()}
    save_safetensors(prefixed, folder / "model.safetensors")
    write_whole(folder / "config.json", json.dumps(config, indent=2).encode())


def gpt2_config(model: LanguageModel, tied: bool) -> dict[str, Any]:
    """What `config.json` says of a model.

    Raises:
        ValueError: the model is none that GPT-2 could be.
    """
    first = model.blocks[0]
    network: Any = first.feed_forward
    vocab_size, d_model = model.tokens.weight.shape
    names = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}
    activation = names.get(network.activation.__name__)
    if first.norm != "pre" or not first.attention.causal or activation is None:
        raise ValueError("save_gpt2: GPT-2 has causal pre-norm blocks with the tanh form of gelu; this model has not")
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": vocab_size,
        "n_positions": model.max_length,
        "n_embd": d_model,
        "n_layer": len(model.blocks),
        "n_head": first.attention.n_heads,
        "n_inner": network.up.weight.shape[1],
        "activation_function": activation,
        "layer_norm_epsilon": first.attention_norm.eps,
        "tie_word_embeddings": tied,
    }


def gpt2_layout(n_blocks: int, tied: bool) -> Layout:
    """GPT-2's names. Its linear maps are stored (in, out), as ours."""
    layout = {
        "wte.weight": Place(("tokens.weight",)),
        "wpe.weight": Place(("positions.weight",)),
        **norm("ln_f", "final_norm"),
    }
    if not tied:
        layout["lm_head.weight"] = Place(("output.weight",), turned=True)
    for i in range(n_blocks):
        theirs, ours = f"h.{i}", f"blocks.{i}"
        heads = [f"{ours}.attention.{part}" for part in ("query", "key", "value")]
        layout |= norm(f"{theirs}.ln_1", f"{ours}.attention_norm")
        layout |= linear(f"{theirs}.attn.c_attn", *heads, turned=False)
        layout |= linear(f"{theirs}.attn.c_proj", f"{ours}.attention.output", turned=False)
        layout |= norm(f"{theirs}.ln_2", f"{ours}.feed_forward_norm")
        layout |= linear(f"{theirs}.mlp.c_fc", f"{ours}.feed_forward.up", turned=False)
        layout |= linear(f"{theirs}.mlp.c_proj", f"{ours}.feed_forward.down", turned=False)
    return layout
