"""The Transformer block again, in PyTorch, from the same weights; each residual can be cut to one of its ways."""

import torch

ACTIVATIONS = {
    "relu": torch.relu,
    "gelu": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
    "tanh": torch.tanh,
}


def linear(x, state, name):
    y = x @ state[f"{name}.weight"]
    return y + state[f"{name}.bias"] if f"{name}.bias" in state else y


def layer_norm(x, state, name, eps):
    gain = state[f"{name}.gain"]
    return torch.nn.functional.layer_norm(x, gain.shape, gain, state[f"{name}.bias"], eps)


def attention(x, state, name, n_heads, causal):
    n_tokens, d_model = x.shape[-2:]
    q, k, v = (
        linear(x, state, f"{name}.{part}").reshape(*x.shape[:-1], n_heads, d_model // n_heads).transpose(-2, -3)
        for part in ("query", "key", "value")
    )
    scores = q @ k.transpose(-1, -2) / (d_model // n_heads) ** 0.5
    if causal:
        future = torch.ones(n_tokens, n_tokens).triu(1).bool()
        scores = scores.masked_fill(future, -torch.inf)
    heads = torch.softmax(scores, -1) @ v
    return linear(heads.transpose(-2, -3).reshape(x.shape), state, f"{name}.output")


def feed_forward(x, state, name, activation):
    return linear(ACTIVATIONS[activation](linear(x, state, f"{name}.up")), state, f"{name}.down")


def add(skip, branch, way):
    """skip + branch, but the gradient may take only the given way, "skip" or "branch"; both if it is None."""
    if way == "skip":
        branch = branch.detach()
    if way == "branch":
        skip = skip.detach()
    return skip + branch


def block(x, state, prefix="", *, norm, n_heads, causal=False, activation="relu", eps=1e-5, ways=(None, None)):
    attend_name, norm_1, feed_name, norm_2 = (
        prefix + name for name in ("attention", "attention_norm", "feed_forward", "feed_forward_norm")
    )
    if norm == "pre":
        x = add(x, attention(layer_norm(x, state, norm_1, eps), state, attend_name, n_heads, causal), ways[0])
        return add(x, feed_forward(layer_norm(x, state, norm_2, eps), state, feed_name, activation), ways[1])
    x = add(x, attention(x, state, attend_name, n_heads, causal), ways[0])
    x = layer_norm(x, state, norm_1, eps) if norm else x
    x = add(x, feed_forward(x, state, feed_name, activation), ways[1])
    return layer_norm(x, state, norm_2, eps) if norm else x


def stack(x, state, n_blocks, *, ways=None, **options):
    ways = ways or (None,) * (2 * n_blocks)
    for i in range(n_blocks):
        x = block(x, state, f"blocks.{i}.", ways=ways[2 * i : 2 * i + 2], **options)
    if "final_norm.gain" in state:
        x = layer_norm(x, state, "final_norm", options.get("eps", 1e-5))
    return x


def tensors(module):
    """The module's weights as tensors of PyTorch, by name."""
    return {name: torch.tensor(value) for name, value in module.state_dict().items()}
