"""PyTorch's layers and ours with the same weights: outputs and all gradients, and state dicts both ways."""

import numpy as np
import pytest

from blocks import Embedding, LayerNorm, Linear, MultiHeadAttention, Stack, TransformerBlock
from blocks.pretrained import load_torch_state, torch_state
from minigrad import Tensor

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
nn = torch.nn

EXACT = {"rtol": 1e-10, "atol": 1e-10}
ACTIVATIONS = {"relu": "relu", "gelu": "gelu_exact"}  # PyTorch's name: ours


@pytest.fixture(autouse=True)
def double_precision():
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def randomised(module):
    """Biases are zeros and gains ones at first, which would hide that two were swapped."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.3)
    return module


def assert_alike(ours, theirs, call=None):
    """After loading: the same output, the same gradients at the input and at every weight, the same state dict."""
    call = call or (lambda module, x: module(x))
    load_torch_state(ours, theirs.state_dict())
    rng = np.random.default_rng(0)
    array, weights = rng.normal(size=(2, 5, 8)), rng.normal(size=(2, 5, 8))

    x = Tensor(array, requires_grad=True)
    y = ours(x)
    (y * weights).sum().backward()
    their_x = torch.tensor(array, requires_grad=True)
    their_y = call(theirs, their_x)
    (their_y * torch.tensor(weights)).sum().backward()

    np.testing.assert_allclose(y.data, their_y.detach().numpy(), **EXACT)
    np.testing.assert_allclose(x.grad, their_x.grad.numpy(), **EXACT)
    for name, array in torch_state(ours).items():
        np.testing.assert_array_equal(array, theirs.state_dict()[name].numpy(), err_msg=name)
    for parameter in ours.parameters():  # the gradients, in the layout of the weights
        parameter.data = parameter.grad
    for name, array in torch_state(ours).items():
        theirs_there = dict(theirs.named_parameters())[name]
        np.testing.assert_allclose(array, theirs_there.grad.numpy(), **EXACT, err_msg=name)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_encoder_layer(norm_first, activation):
    theirs = nn.TransformerEncoderLayer(8, 2, 16, 0.0, activation, 1e-6, batch_first=True, norm_first=norm_first)
    norm = "pre" if norm_first else "post"
    ours = TransformerBlock(8, 2, 16, norm=norm, activation=ACTIVATIONS[activation], eps=1e-6)
    assert_alike(ours, randomised(theirs))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("final_norm", [False, True])
def test_encoder(norm_first, final_norm):
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=norm_first)
    theirs = nn.TransformerEncoder(layer, 3, nn.LayerNorm(8) if final_norm else None, enable_nested_tensor=False)
    norm = "pre" if norm_first else "post"
    ours = Stack(3, 8, 2, 16, norm=norm, activation="gelu_exact", final_norm=final_norm)
    assert_alike(ours, randomised(theirs))


def test_what_they_are_made_of():
    assert_alike(Linear(8, 8), randomised(nn.Linear(8, 8)))
    assert_alike(Linear(8, 8, bias=False), randomised(nn.Linear(8, 8, bias=False)))
    assert_alike(LayerNorm(8), randomised(nn.LayerNorm(8)))
    for bias in (True, False):
        theirs = randomised(nn.MultiheadAttention(8, 2, bias=bias, batch_first=True))
        assert_alike(MultiHeadAttention(8, 2, bias=bias), theirs, lambda module, x: module(x, x, x)[0])


def test_embedding():
    theirs = nn.Embedding(6, 8)
    ours = Embedding(6, 8)
    load_torch_state(ours, theirs.state_dict())
    np.testing.assert_array_equal(ours([3, 1]).data, theirs(torch.tensor([3, 1])).detach().numpy())
    assert list(torch_state(ours)) == ["weight"]


def test_a_block_trained_here_goes_into_pytorch():
    ours = TransformerBlock(8, 2, 16, rng=0)
    theirs = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    theirs.load_state_dict({name: torch.from_numpy(array) for name, array in torch_state(ours).items()})
    x = np.random.default_rng(1).normal(size=(1, 5, 8))
    np.testing.assert_allclose(theirs(torch.tensor(x)).detach().numpy(), ours(Tensor(x)).data, **EXACT)
