"""GGUF files of decoders in Llama's architecture, such as SmolLM2: weights, tokenizer and chat template in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from blocks.language_model import LanguageModel
from blocks.pretrained.files import check_tokenizer, package, setting
from blocks.pretrained.layout import Layout, Place, fill, linear

IGNORED = ("rope_freqs.weight",)
CONTROL, USER_DEFINED = 3, 4  # types of tokens that are never split
SPLITS = {"smollm": True, "gpt-2": False}  # how text is split before merging: whether each digit is alone


class ChatTokenizer:
    """Text to tokens and back, and a conversation as the text that the model was trained to go on with.

    Attributes:
        end: the token that ends an answer.
    """

    def __init__(self, tokenizer: Any, template: str | None, end: int | None, special: Mapping[str, str]):
        self.tokenizer = tokenizer
        self.template = template
        self.end = end
        self.special = dict(special)

    @property
    def vocab_size(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def encode(self, text: str) -> np.ndarray:
        """The tokens of a text, (T,)."""
        return np.array(self.tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)

    def decode(self, tokens: ArrayLike) -> str:
        """The text of tokens, without those that only mark where something begins or ends."""
        return str(self.tokenizer.decode(np.atleast_1d(np.asarray(tokens)).tolist()))

    def chat(self, messages: str | Sequence[Mapping[str, str]]) -> str:
        """A conversation as text, up to where the assistant's answer begins, by the file's chat template.

        Args:
            messages: dicts with `role` ("system", "user" or "assistant") and `content`; a string is what a user says.

        Raises:
            ValueError: the file has no chat template, or it does not take these messages.
            ImportError: jinja2 is not installed.
        """
        if self.template is None:
            raise ValueError("chat: this file has no chat template; encode the text as it is")
        messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        sandbox = package("jinja2.sandbox")  # a template is a program, and this one came with a file
        environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = refuse
        try:
            template = environment.from_string(self.template)
            return str(template.render(messages=messages, add_generation_prompt=True, **self.special))
        except package("jinja2").TemplateError as error:
            raise ValueError(f"chat: the chat template does not take these messages: {error}") from error

    def __repr__(self) -> str:
        return f"<ChatTokenizer: {self.vocab_size:,} tokens>"


def refuse(message):
    """What a template calls for messages that it does not take."""
    raise ValueError(f"chat: the chat template says: {message}")


def load_gguf(path: str | Path, *, dtype: DTypeLike = np.float32) -> tuple[LanguageModel, ChatTokenizer]:
    """The language model and the tokenizer of a GGUF file in Llama's architecture; quantised weights are dequantised.

    Pre-norm blocks with RMS norm, rotary positions, grouped-query attention and SwiGLU (Touvron et al. 2023).

        model, tokenizer = load_gguf(path)
        prompt = tokenizer.encode(tokenizer.chat("What is a gradient?"))
        for token in model.generate(prompt, 50, temperature=0, stop=tokenizer.end):
            print(tokenizer.decode(token), end="")

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is truncated, no GGUF file, of another architecture, quantised in an unknown way, or its weights
            or its tokenizer do not fit; the message lists what differs.
        ImportError: gguf, tokenizers (or, for a chat, jinja2) is not installed.
    """
    path = Path(path)
    reader = read_gguf(path)
    settings = {name: field.contents() for name, field in reader.fields.items()}
    setting(settings, path, "general.architecture", "llama")
    tokenizer = read_chat_tokenizer(settings, path)
    vocab_size = int(settings.get("llama.vocab_size", tokenizer.vocab_size))
    check_tokenizer(tokenizer.tokenizer, vocab_size, path)
    tied = all(tensor.name != "output.weight" for tensor in reader.tensors)
    model = llama(settings, path, vocab_size, tied, dtype)
    fill(model, dequantised(reader, path), llama_layout(model), path, IGNORED)
    return model, tokenizer


def read_gguf(path):
    """The reader of the gguf library; it maps the file into memory, and so reads what is asked for."""
    library = package("gguf")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        return library.GGUFReader(path)
    except (ValueError, KeyError, IndexError, TypeError, OverflowError) as error:  # whatever it stumbled over
        raise ValueError(f"{path}: truncated, not a GGUF file, or quantised in an unknown way: {error}") from error


def dequantised(reader, path):
    """All arrays by name, in float32: (out, in) for a linear map."""
    library = package("gguf")
    arrays = {}
    for tensor in reader.tensors:
        try:
            arrays[tensor.name] = library.dequantize(tensor.data, tensor.tensor_type)
        except NotImplementedError as error:
            kind = tensor.tensor_type.name
            raise ValueError(f"{path}: {tensor.name} is quantised as {kind}, which gguf cannot read back") from error
    return arrays


def llama(settings, path, vocab_size, tied, dtype):
    """A model of the file's sizes, not yet with its weights."""

    def size(name, *allowed):
        return setting(settings, path, f"llama.{name}", *allowed)

    n_heads, d_model = size("attention.head_count"), size("embedding_length")
    for name in ("rope.dimension_count", "attention.key_length", "attention.value_length"):
        setting({f"llama.{name}": d_model // n_heads, **settings}, path, f"llama.{name}", d_model // n_heads)
    setting({"llama.rope.scaling.type": "none", **settings}, path, "llama.rope.scaling.type", "none")
    return LanguageModel(
        vocab_size,
        size("context_length"),
        size("block_count"),
        d_model,
        n_heads,
        size("feed_forward_length"),
        n_kv_heads=settings.get("llama.attention.head_count_kv", n_heads),
        positions="rotary",
        rotary_pairs="neighbours",  # the rows of query and key are stored in this order
        rotary_base=settings.get("llama.rope.freq_base", 10000.0),
        norm_type="rms",
        eps=size("attention.layer_norm_rms_epsilon"),
        activation="swiglu",
        bias=False,
        tied=tied,
        dtype=dtype,
    )


def llama_layout(model: LanguageModel) -> Layout:
    """The names that GGUF files use for Llama's architecture."""
    layout = {"token_embd.weight": Place(("tokens.weight",)), "output_norm.weight": Place(("final_norm.gain",))}
    if model.output is not None:
        layout |= linear("output", "output", bias=False)
    for i in range(len(model.blocks)):
        theirs, ours = f"blk.{i}", f"blocks.{i}"
        layout[f"{theirs}.attn_norm.weight"] = Place((f"{ours}.attention_norm.gain",))
        layout[f"{theirs}.ffn_norm.weight"] = Place((f"{ours}.feed_forward_norm.gain",))
        for part, name in (("q", "query"), ("k", "key"), ("v", "value"), ("output", "output")):
            layout |= linear(f"{theirs}.attn_{part}", f"{ours}.attention.{name}", bias=False)
        for part in ("gate", "up", "down"):
            layout |= linear(f"{theirs}.ffn_{part}", f"{ours}.feed_forward.{part}", bias=False)
    return layout


def read_chat_tokenizer(settings, path):
    """The file's tokenizer: pairs of neighbours are merged in the order of its list (byte pair encoding)."""
    library = package("tokenizers")
    setting(settings, path, "tokenizer.ggml.model", "gpt2")
    split_digits = SPLITS[setting(settings, path, "tokenizer.ggml.pre", *SPLITS)]
    tokens = setting(settings, path, "tokenizer.ggml.tokens")
    merges = [tuple(pair.split(" ")) for pair in setting(settings, path, "tokenizer.ggml.merges")]
    try:
        model = library.models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges)
    except Exception as error:  # the library raises no class of its own
        raise ValueError(f"{path}: its merges do not belong to its tokens: {error}") from error
    tokenizer = library.Tokenizer(model)
    bytes_as_letters = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = [library.pre_tokenizers.Digits(individual_digits=True)] if split_digits else []
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence([*digits, bytes_as_letters])
    tokenizer.decoder = library.decoders.ByteLevel()
    types = setting(settings, path, "tokenizer.ggml.token_type")
    for token, kind in zip(tokens, types, strict=True):
        if kind == CONTROL:
            tokenizer.add_special_tokens([library.AddedToken(token, normalized=False, special=True)])
        elif kind == USER_DEFINED:
            tokenizer.add_tokens([library.AddedToken(token, normalized=False)])
    ends = {name: settings.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")}
    special = {f"{name}_token": tokens[i] for name, i in ends.items() if i is not None}
    return ChatTokenizer(tokenizer, settings.get("tokenizer.chat_template"), ends["eos"], special)
