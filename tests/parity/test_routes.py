"""Every route of the gradient beside PyTorch's, where the other routes are cut by detaching."""

import itertools

import numpy as np
import pytest

from blocks import Stack, gradient_paths, lesson_block, residual_gradients
from minigrad import Tensor

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
from tests.parity import torch_block  # noqa: E402 (needs torch)


def torch_gradient(forward, x, weights):
    leaf = torch.tensor(x.data, requires_grad=True)
    (forward(leaf) * torch.tensor(weights)).sum().backward()
    return np.zeros(x.shape) if leaf.grad is None else leaf.grad.numpy()


@pytest.mark.parametrize("norm", ["post", "pre", None])
def test_four_routes_of_the_lessons_block(norm):
    block, x = lesson_block(norm)
    weights = np.arange(12.0).reshape(3, 4) / 10
    loss = (block(x) * weights).sum()
    loss.backward()
    state = torch_block.tensors(block)
    options = {"norm": norm, "n_heads": 1, "eps": 1e-9}
    routes = gradient_paths(loss, x, by="route")
    assert set(routes) == set(itertools.product(("skip", "branch"), repeat=2))
    for route, part in routes.items():
        expected = torch_gradient(lambda leaf, w=route: torch_block.block(leaf, state, ways=w, **options), x, weights)
        np.testing.assert_allclose(part, expected, rtol=1e-10, atol=1e-12)
    whole = torch_gradient(lambda leaf: torch_block.block(leaf, state, **options), x, weights)
    np.testing.assert_allclose(x.grad, whole, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_six_residuals_causal_two_heads(norm):
    """All 64 routes, the seven lengths, and the parts that passed each branch."""
    stack = Stack(3, 8, 2, 16, norm=norm, causal=True, activation="gelu", rng=1)
    rng = np.random.default_rng(2)
    x = Tensor(rng.normal(size=(5, 8)), requires_grad=True)
    weights = rng.normal(size=(5, 8))
    loss = (stack(x) * weights).sum()
    state = torch_block.tensors(stack)
    options = {"norm": norm, "n_heads": 2, "causal": True, "activation": "gelu"}
    expected = {
        route: torch_gradient(lambda leaf, w=route: torch_block.stack(leaf, state, 3, ways=w, **options), x, weights)
        for route in itertools.product(("skip", "branch"), repeat=6)
    }
    routes = gradient_paths(loss, x, by="route")
    assert set(routes) == set(expected)
    for route, part in routes.items():
        np.testing.assert_allclose(part, expected[route], rtol=1e-10, atol=1e-12)

    for length, part in gradient_paths(loss, x, by="length").items():
        of_length = sum(grad for route, grad in expected.items() if route.count("branch") == length)
        np.testing.assert_allclose(part, of_length, rtol=1e-10, atol=1e-12)

    for i, part in enumerate(gradient_paths(loss, x, by="residual").values()):
        through = sum(grad for route, grad in expected.items() if route[i] == "branch")
        np.testing.assert_allclose(part, through, rtol=1e-10, atol=1e-12)

    first = residual_gradients(loss, x)[0]
    skipping = sum(grad for route, grad in expected.items() if route[0] == "skip")
    np.testing.assert_allclose(first.skip, skipping, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(first.branch, sum(expected.values()) - skipping, rtol=1e-10, atol=1e-12)
