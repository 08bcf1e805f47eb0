"""The model in all its options beside PyTorch: scores, and the gradient of every parameter, to 1e-10."""

import numpy as np
import pytest

from blocks import LanguageModel, MultiHeadAttention, Rotary, Stack
from minigrad import Tensor, cross_entropy

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
from torch.nn import functional  # noqa: E402 (needs torch)

V, LENGTH, D, H, FF = 11, 7, 12, 6, 20
TOKENS = np.random.default_rng(0).integers(V, size=(3, 5))
TARGETS = np.random.default_rng(1).integers(V, size=(3, 5))

GATES = {"swiglu": functional.silu, "geglu": lambda x: functional.gelu(x, approximate="tanh")}
ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu_exact": functional.gelu,
    "silu": functional.silu,
    "tanh": torch.tanh,
}


class Twin:
    """The same model in PyTorch's own functions, on the same weights by name."""

    def __init__(self, model, **options):
        rng = np.random.default_rng(5)
        for parameter in model.parameters():  # gains, biases and embeddings that are not what they are at first
            parameter.data = rng.normal(size=parameter.shape) * 0.5 + (parameter.data if parameter.ndim == 1 else 0)
        self.state = {name: torch.tensor(p.data, requires_grad=True) for name, p in model.named_parameters()}
        defaults = {"norm": "pre", "norm_type": "layer", "activation": "relu", "eps": 1e-5, "positions": "learned"}
        defaults |= {"n_kv_heads": H, "rotary_pairs": "neighbours", "rotary_base": 10000.0, "causal": True}
        self.options = defaults | options

    def linear(self, x, name):
        return functional.linear(x, self.state[f"{name}.weight"].T, self.state.get(f"{name}.bias"))

    def norm(self, x, name):
        gain = self.state[f"{name}.gain"]
        if self.options["norm_type"] == "rms":
            return functional.rms_norm(x, gain.shape, gain, self.options["eps"])
        return functional.layer_norm(x, gain.shape, gain, self.state[f"{name}.bias"], self.options["eps"])

    def attention(self, x, name, allowed, bias, position_ids):
        (*_, T, d_model), o = x.shape, self.options
        q, k, v = (
            self.linear(x, f"{name}.{part}").unflatten(-1, (-1, d_model // H)).transpose(-2, -3)
            for part in ("query", "key", "value")
        )
        if o["positions"] == "rotary":
            turn = turn_neighbours if o["rotary_pairs"] == "neighbours" else turn_halves
            q, k = turn(q, position_ids, o["rotary_base"]), turn(k, position_ids, o["rotary_base"])
        added = torch.zeros(*x.shape[:-2], H, T, T, dtype=x.dtype) if bias is None else bias
        if o["causal"]:
            added = added.masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf)
        if allowed is not None:
            added = added.masked_fill(~allowed, -torch.inf)
        heads = functional.scaled_dot_product_attention(q, k, v, added, enable_gqa=o["n_kv_heads"] != H)
        return self.linear(heads.transpose(-2, -3).flatten(-2), f"{name}.output")

    def feed_forward(self, x, name):
        if self.options["activation"] in GATES:
            hidden = GATES[self.options["activation"]](self.linear(x, f"{name}.gate")) * self.linear(x, f"{name}.up")
        else:
            hidden = ACTIVATIONS[self.options["activation"]](self.linear(x, f"{name}.up"))
        return self.linear(hidden, f"{name}.down")

    def __call__(self, tokens, allowed=None, bias=None, position_ids=None):
        o, state = self.options, self.state
        position_ids = torch.arange(tokens.shape[-1]) if position_ids is None else torch.tensor(position_ids)
        x = functional.embedding(torch.tensor(tokens), state["tokens.weight"])
        if o["positions"] == "learned":
            x = x + functional.embedding(position_ids, state["positions.weight"])
        if o["positions"] == "sinusoidal":
            x = x + waves(position_ids, x.shape[-1])
        for i in range(2):
            name = f"blocks.{i}."
            for part in ("attention", "feed_forward"):
                given = self.norm(x, f"{name}{part}_norm") if o["norm"] == "pre" else x
                if part == "attention":
                    x = x + self.attention(given, name + part, allowed, bias, position_ids)
                else:
                    x = x + self.feed_forward(given, name + part)
                x = self.norm(x, f"{name}{part}_norm") if o["norm"] == "post" else x
        x = self.norm(x, "final_norm") if "final_norm.gain" in state else x
        return x @ state.get("output.weight", state["tokens.weight"].T)


def waves(position_ids, d):
    """Number by number, as Vaswani et al. 2017, section 3.5, writes it."""
    table = torch.zeros(*position_ids.shape, d, dtype=torch.float64)
    for j in range(d):
        angle = position_ids.double() / 10000 ** (2 * (j // 2) / d)
        table[..., j] = torch.cos(angle) if j % 2 else torch.sin(angle)
    return table


def turn_neighbours(x, position_ids, base):
    """Pairs as complex numbers, multiplied by e^(i angle), as Meta's Llama does it."""
    d = x.shape[-1]
    angles = position_ids[..., None, :, None] * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    pairs = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def turn_halves(x, position_ids, base):
    """x cos + rotate_half(x) sin, as transformers does it."""
    d = x.shape[-1]
    angles = position_ids[..., None, :, None] * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angles = torch.cat([angles, angles], dim=-1)
    rotated = torch.cat([-x[..., d // 2 :], x[..., : d // 2]], dim=-1)
    return x * angles.cos() + rotated * angles.sin()


def assert_same(model, twin, tokens=TOKENS, *, mine=None, **theirs):
    scores, expected = model(tokens, **(mine or {})), twin(tokens, **theirs)
    np.testing.assert_allclose(scores.data, expected.detach().numpy(), rtol=1e-10, atol=1e-10)
    cross_entropy(scores, TARGETS).backward()
    functional.cross_entropy(expected.flatten(0, 1), torch.tensor(TARGETS).flatten()).backward()
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(
            parameter.grad, twin.state[name].grad.numpy(), rtol=1e-10, atol=1e-10, err_msg=name, strict=True
        )


def pair(**options):
    model = LanguageModel(V, LENGTH, 2, D, H, FF, rng=0, **options)
    return model, Twin(model, **options)


OPTIONS = [
    *({"positions": kind} for kind in ("learned", "sinusoidal", None)),
    *({"positions": "rotary", "rotary_pairs": pairs} for pairs in ("neighbours", "halves")),
    {"positions": "rotary", "rotary_pairs": "halves", "rotary_base": 100.0, "n_kv_heads": 2},
    *({"norm": norm, "norm_type": kind} for norm in ("pre", "post") for kind in ("layer", "rms")),
    {"norm": None},
    {"norm": "post", "final_norm": True},
    {"final_norm": False, "eps": 0.1},
    *({"activation": activation} for activation in [*ACTIVATIONS, *GATES]),
    *({"n_kv_heads": n} for n in (1, 2, 3, 6)),
    {"tied": False},
    {"bias": False},
    {"causal": False},
    {"norm_type": "rms", "activation": "swiglu", "n_kv_heads": 3, "positions": "rotary", "bias": False, "eps": 1e-6},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option(options):
    assert_same(*pair(**options))


@pytest.mark.parametrize("kind", ["learned", "sinusoidal", "rotary"])
def test_masks_bias_and_position_ids(kind):
    rng = np.random.default_rng(3)
    model, twin = pair(positions=kind, n_kv_heads=3)
    key_mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 1, 1, 1]]) > 0
    mask = rng.random((3, 5, 5)) < 0.7
    mask |= np.eye(5, dtype=bool)
    bias = rng.normal(size=(H, 5, 5))
    position_ids = np.maximum(key_mask.cumsum(-1) - 1, 0)
    allowed = torch.tensor(mask & key_mask[:, None, :])[:, None]
    targets_of_real_tokens = np.where(key_mask, TARGETS, 0)
    scores = model(TOKENS, mask, key_mask=key_mask, score_bias=bias, position_ids=position_ids)
    expected = twin(TOKENS, allowed=allowed, bias=torch.tensor(bias).expand(3, -1, -1, -1), position_ids=position_ids)
    np.testing.assert_allclose(scores.data[key_mask], expected.detach().numpy()[key_mask], rtol=1e-10, atol=1e-10)
    cross_entropy(scores[key_mask], targets_of_real_tokens[key_mask]).backward()
    functional.cross_entropy(
        expected[torch.tensor(key_mask)], torch.tensor(targets_of_real_tokens)[torch.tensor(key_mask)]
    ).backward()
    for name, parameter in model.named_parameters():
        theirs = twin.state[name].grad.numpy()
        np.testing.assert_allclose(parameter.grad, theirs, rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("activation", ["relu", "gelu_exact"])
def test_a_stack_is_pytorchs_encoder(norm, activation):
    """torch.nn.TransformerEncoder with a padding mask, weights copied over."""
    stack = Stack(2, D, H, FF, norm=norm, activation=activation, final_norm=False, rng=0)
    layer = torch.nn.TransformerEncoderLayer(
        D, H, FF, 0.0, "gelu" if activation == "gelu_exact" else "relu", norm_first=norm == "pre", batch_first=True
    )
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).double()
    with torch.no_grad():
        for block, theirs in zip(stack.blocks, encoder.layers, strict=True):
            a, f = block.attention, block.feed_forward
            parts = (a.query, a.key, a.value)
            theirs.self_attn.in_proj_weight.copy_(torch.tensor(np.concatenate([p.weight.data.T for p in parts])))
            theirs.self_attn.in_proj_bias.copy_(torch.tensor(np.concatenate([p.bias.data for p in parts])))
            for ours, linear in (
                (a.output, theirs.self_attn.out_proj),
                (f.up, theirs.linear1),
                (f.down, theirs.linear2),
            ):
                linear.weight.copy_(torch.tensor(ours.weight.data.T))
                linear.bias.copy_(torch.tensor(ours.bias.data))
    x = np.random.default_rng(2).normal(size=(3, 4, D))
    key_mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]]) > 0
    mine, theirs = Tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    y = stack(mine, key_mask=key_mask)
    expected = encoder(theirs, src_key_padding_mask=torch.tensor(~key_mask))
    np.testing.assert_allclose(y.data[key_mask], expected.detach().numpy()[key_mask], rtol=1e-10, atol=1e-10)
    y[key_mask].norm().backward()
    expected[torch.tensor(key_mask)].norm().backward()
    np.testing.assert_allclose(mine.grad, theirs.grad.numpy(), rtol=1e-9, atol=1e-11)


def test_a_score_bias_has_a_gradient():
    attention = MultiHeadAttention(D, H, causal=True, rng=0)
    bias = np.random.default_rng(0).normal(size=(H, 1, 4))
    x = np.random.default_rng(1).normal(size=(2, 4, D))
    mine, theirs = Tensor(bias, requires_grad=True), torch.tensor(bias, requires_grad=True)
    (attention(Tensor(x), score_bias=mine) ** 2).sum().backward()
    q, k, v = (
        (torch.tensor(x) @ torch.tensor(part.weight.data)).unflatten(-1, (H, -1)).transpose(1, 2)
        for part in (attention.query, attention.key, attention.value)
    )
    added = theirs.expand(2, H, 4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    heads = functional.scaled_dot_product_attention(q, k, v, added)
    y = heads.transpose(1, 2).flatten(-2) @ torch.tensor(attention.output.weight.data)
    (y**2).sum().backward()
    np.testing.assert_allclose(mine.grad, theirs.grad.numpy(), rtol=1e-10, atol=1e-12, strict=True)


@pytest.mark.parametrize(("pairs", "turn"), [("neighbours", turn_neighbours), ("halves", turn_halves)])
def test_rotary_far_out(pairs, turn):
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 8))
    places = np.array([[0, 1, 500, 8191], [7, 3, 2, 2]])
    got = Rotary(8, pairs=pairs, base=500000.0)(Tensor(x), places).data
    expected = turn(torch.tensor(x), torch.tensor(places), 500000.0).numpy()
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)
