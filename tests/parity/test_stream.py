"""What residuals wrote and its effects, beside PyTorch, where detaching cuts the ways and holds the norm's scale."""

import numpy as np
import pytest

from blocks import Stack, residual_stream
from minigrad import Tensor

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
from tests.parity import torch_block  # noqa: E402 (needs torch)

N_BLOCKS = 3
OPTIONS = {"n_heads": 2, "causal": True, "activation": "gelu"}


def layer_norm_with_held_scale(x, state, name, eps):
    """The norm with its scale cut out of the graph, which makes it linear."""
    scale = (x.var(-1, keepdim=True, correction=0) + eps).sqrt().detach()
    return (x - x.mean(-1, keepdim=True)) / scale * state[f"{name}.gain"] + state[f"{name}.bias"]


def torch_stream(x, state, norm, hold, weights, direct):
    """(written, gradient of the stream behind it) at each residual; `direct` cuts every branch at what it reads."""
    stream = torch.tensor(x, requires_grad=True)
    norm_of_stream = layer_norm_with_held_scale if hold else torch_block.layer_norm
    found, start = [], stream
    for i in range(N_BLOCKS):
        for part in ("attention", "feed_forward"):
            name = f"blocks.{i}.{part}"
            read = stream.detach() if direct else stream
            if norm == "pre":
                read = torch_block.layer_norm(read, state, f"{name}_norm", 1e-5)
            if part == "attention":
                written = torch_block.attention(read, state, name, OPTIONS["n_heads"], OPTIONS["causal"])
            else:
                written = torch_block.feed_forward(read, state, name, OPTIONS["activation"])
            stream = stream + written
            stream.retain_grad()
            found.append((written, stream))
            if norm == "post":
                stream = norm_of_stream(stream, state, f"{name}_norm", 1e-5)
    if norm == "pre":
        stream = norm_of_stream(stream, state, "final_norm", 1e-5)
    (stream * torch.tensor(weights)).sum().backward()
    return [(start.detach().numpy(), start.grad.numpy())] + [(w.detach().numpy(), h.grad.numpy()) for w, h in found]


@pytest.mark.parametrize("hold", [False, True], ids=["true", "held"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_gradients_and_effects(norm, hold):
    stack = Stack(N_BLOCKS, 8, 2, 16, norm=norm, rng=1, causal=True, activation="gelu")
    rng = np.random.default_rng(2)
    for parameter in stack.parameters():
        parameter.data = parameter.data + 0.2 * rng.normal(size=parameter.shape)
    x = Tensor(rng.normal(size=(5, 8)), requires_grad=True)
    weights = rng.normal(size=(5, 8))
    stream = residual_stream((stack(x) * weights).sum(), norm_scale="held" if hold else "true")
    state = torch_block.tensors(stack)
    whole = torch_stream(x.data, state, norm, hold, weights, direct=False)
    direct = torch_stream(x.data, state, norm, hold, weights, direct=True)
    for write, (written, grad), (_, direct_grad) in zip([stream.start, *stream], whole, direct, strict=True):
        np.testing.assert_allclose(write.written, written, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(write.gradient, grad, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(write.direct_gradient, direct_grad, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(write.effect_by_token, (written * grad).sum(-1), rtol=1e-9, atol=1e-11)
        assert write.direct == pytest.approx((written * direct_grad).sum(), abs=1e-10)
        assert write.indirect == pytest.approx((written * (grad - direct_grad)).sum(), abs=1e-10)
