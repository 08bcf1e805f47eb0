"""Feed-forward networks, by hand and against differences."""

import numpy as np
import pytest

from blocks import FeedForward, SwiGLU
from minigrad import Tensor
from tests.blocks.checking import assert_all_gradients

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
}


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_feed_forward(name, bias):
    network = FeedForward(3, 5, name, bias=bias, rng=0)
    if bias:
        network.up.bias.data, network.down.bias.data = numbers(5), numbers(3)
    x = numbers(2, 2, 3)
    b_up, b_down = (network.up.bias.data, network.down.bias.data) if bias else (0, 0)
    expected = ACTIVATIONS[name](x @ network.up.weight.data + b_up) @ network.down.weight.data + b_down
    np.testing.assert_allclose(network(Tensor(x)).data, expected, rtol=1e-12, atol=1e-14)
    assert_all_gradients(network, x)


@pytest.mark.parametrize("bias", [False, True])
def test_swiglu(bias):
    network = SwiGLU(3, 5, bias=bias, rng=0)
    x = numbers(2, 3)
    gate, up = x @ network.gate.weight.data, x @ network.up.weight.data
    np.testing.assert_allclose(
        network(Tensor(x)).data, gate / (1 + np.exp(-gate)) * up @ network.down.weight.data, rtol=1e-12
    )
    assert_all_gradients(network, x)
    assert next(iter(dict(network.named_parameters()))) == "gate.weight"


def test_tokens_do_not_see_each_other():
    x = Tensor(numbers(3, 4), requires_grad=True)
    FeedForward(4, 8, rng=0)(x)[1].sum().backward()
    assert (x.grad[[0, 2]] == 0).all() and (x.grad[1] != 0).any()


def test_an_unknown_activation():
    with pytest.raises(
        ValueError,
        match="is one of relu, gelu, gelu_exact, silu, tanh, and in a block also swiglu or geglu; got 'swish'",
    ):
        FeedForward(3, 4, "swish")
