"""PyTorch's state dicts, in and out, as plain arrays: PyTorch itself is never imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.attention import MultiHeadAttention
from blocks.layers import Embedding, LayerNorm, Linear
from blocks.pretrained.layout import Layout, Place, dotted, fill, linear, norm, stored
from blocks.transformer import Stack, TransformerBlock
from minigrad import Module


def load_torch_state(module: Module, state: Mapping[str, Any]) -> None:
    """Give a module the weights of its PyTorch counterpart; nothing is changed if anything does not fit.

    | ours | PyTorch's |
    | --- | --- |
    | `Linear`, `LayerNorm`, `Embedding` | `nn.Linear`, `nn.LayerNorm`, `nn.Embedding` |
    | `MultiHeadAttention` | `nn.MultiheadAttention` |
    | `TransformerBlock` | `nn.TransformerEncoderLayer`; `norm="pre"` is its `norm_first=True` |
    | `Stack` | `nn.TransformerEncoder`; `final_norm=True` is its `norm=nn.LayerNorm(d_model)` |

    PyTorch's "gelu" is our "gelu_exact". A state dict says nothing of heads, activation, eps and dropout: build ours
    alike.

    Args:
        module: of one of these classes.
        state: arrays by PyTorch's names; a `state_dict()` of tensors on the CPU will do.

    Raises:
        TypeError: a module that has no counterpart.
        ValueError: the state does not fit; the message lists what differs.

    >>> block = TransformerBlock(4, 2, 8, rng=0)
    >>> twin = TransformerBlock(4, 2, 8, rng=1)
    >>> load_torch_state(twin, torch_state(block))
    >>> x = np.ones((3, 4))
    >>> bool((block(Tensor(x)).data == twin(Tensor(x)).data).all())
    True
    """
    fill(module, state, torch_layout(module), "load_torch_state")


def torch_state(module: Module) -> dict[str, np.ndarray]:
    """A module's weights under the names and in the shapes of its PyTorch counterpart, see `load_torch_state`.

    In PyTorch: `layer.load_state_dict({name: torch.from_numpy(array) for name, array in torch_state(block).items()})`.

    Raises:
        TypeError: a module that has no counterpart.
        ValueError: the module has parameters that its counterpart has not.

    >>> list(torch_state(Linear(2, 3)))
    ['weight', 'bias']
    """
    return stored(module, torch_layout(module))


def torch_layout(module: Module) -> Layout:
    """PyTorch's names for a module."""
    if isinstance(module, Linear):
        return linear("", "", bias=module.bias is not None)
    if isinstance(module, LayerNorm):
        return norm("", "")
    if isinstance(module, Embedding):
        return {"weight": Place(("weight",))}
    if isinstance(module, MultiHeadAttention):
        return attention_layout(module, "", "")
    if isinstance(module, TransformerBlock):
        return block_layout(module, "", "")
    if isinstance(module, Stack):
        return stack_layout(module)
    raise TypeError(f"{type(module).__name__} has no counterpart in PyTorch; see load_torch_state for those that have")


def attention_layout(attention, theirs, ours):
    """`nn.MultiheadAttention`, which keeps query, key and value as one map without a module of its own."""
    heads = [dotted(ours, part) for part in ("query", "key", "value")]
    layout = {dotted(theirs, "in_proj_weight"): Place(tuple(f"{head}.weight" for head in heads), turned=True)}
    bias = attention.query.bias is not None
    if bias:
        layout[dotted(theirs, "in_proj_bias")] = Place(tuple(f"{head}.bias" for head in heads))
    return layout | linear(dotted(theirs, "out_proj"), dotted(ours, "output"), bias=bias)


def block_layout(block, theirs, ours):
    """`nn.TransformerEncoderLayer`."""
    return {
        **attention_layout(block.attention, dotted(theirs, "self_attn"), dotted(ours, "attention")),
        **norm(dotted(theirs, "norm1"), dotted(ours, "attention_norm")),
        **linear(dotted(theirs, "linear1"), dotted(ours, "feed_forward.up")),
        **linear(dotted(theirs, "linear2"), dotted(ours, "feed_forward.down")),
        **norm(dotted(theirs, "norm2"), dotted(ours, "feed_forward_norm")),
    }


def stack_layout(stack):
    """`nn.TransformerEncoder`."""
    layout = {}
    for i, block in enumerate(stack.blocks):
        layout |= block_layout(block, f"layers.{i}", f"blocks.{i}")
    return layout | norm("norm", "final_norm") if stack.final_norm else layout
