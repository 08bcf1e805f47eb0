"""Random graphs with much fan-out, node by node beside PyTorch in float64."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
functional = torch.nn.functional

MASK = np.random.default_rng(1).random((3, 4)) < 0.5
MASK_TENSOR = torch.tensor(MASK)
ROWS = [0, 0, 2]

# Each takes arrays of shape (3, 4) and returns one: how minigrad says it, and how PyTorch does.
UNARY = [
    (mg.tanh, torch.tanh),
    (mg.sigmoid, torch.sigmoid),
    (mg.relu, torch.relu),
    (mg.silu, functional.silu),
    (mg.gelu, lambda x: functional.gelu(x, approximate="tanh")),
    (abs, torch.abs),
    (lambda x: -x, lambda x: -x),
    (lambda x: x.tanh().exp(), lambda x: x.tanh().exp()),
    (lambda x: (x * x + 1).log(), lambda x: (x * x + 1).log()),
    (lambda x: (x * x + 1).sqrt(), lambda x: (x * x + 1).sqrt()),
    (lambda x: x.tanh() ** 3, lambda x: x.tanh() ** 3),
    (lambda x: 2 ** x.tanh(), lambda x: 2 ** x.tanh()),
    (lambda x: x.softmax(axis=0), lambda x: x.softmax(0)),
    (lambda x: x.log_softmax(), lambda x: x.log_softmax(-1)),
    (lambda x: x.layer_norm(), lambda x: functional.layer_norm(x, (4,))),
    (lambda x: x.rms_norm(), lambda x: functional.rms_norm(x, (4,), eps=1e-5)),
    (lambda x: x - x.mean(axis=-1, keepdims=True), lambda x: x - x.mean(-1, keepdim=True)),
    (lambda x: x / (x.norm() + 1), lambda x: x / (x.norm() + 1)),
    (lambda x: x + x.max(axis=0), lambda x: x + x.amax(0)),
    (lambda x: x * x.var(axis=1, keepdims=True), lambda x: x * x.var(1, keepdim=True, correction=0)),
    (lambda x: x + x.logsumexp(axis=0), lambda x: x + x.logsumexp(0)),
    (lambda x: x.cumsum(axis=1).tanh(), lambda x: x.cumsum(1).tanh()),
    (lambda x: x.reshape(4, 3).T, lambda x: x.reshape(4, 3).T),
    (lambda x: x[ROWS], lambda x: x[ROWS]),
    (lambda x: x[:, ::-1], lambda x: x.flip(1)),
    (lambda x: x.clip(-0.5, 0.5), lambda x: x.clip(-0.5, 0.5)),
    (lambda x: x + x[1:2].sum(), lambda x: x + x[1:2].sum()),
]
BINARY = [
    (lambda x, y: x + y, lambda x, y: x + y),
    (lambda x, y: x - y, lambda x, y: x - y),
    (lambda x, y: x.tanh() * y, lambda x, y: x.tanh() * y),
    (lambda x, y: x / (y * y + 1), lambda x, y: x / (y * y + 1)),
    (mg.maximum, torch.maximum),
    (mg.minimum, torch.minimum),
    (lambda x, y: mg.where(MASK, x, y), lambda x, y: torch.where(MASK_TENSOR, x, y)),
    (lambda x, y: (x @ y.T).softmax() @ x, lambda x, y: (x @ y.T).softmax(-1) @ x),
    (lambda x, y: mg.concatenate([x[:1], y[1:]]), lambda x, y: torch.cat([x[:1], y[1:]])),
    (lambda x, y: mg.stack([x, y]).mean(axis=0), lambda x, y: torch.stack([x, y]).mean(0)),
    (lambda x, y: mg.einsum("ij,kj->ij", x, y.tanh()), lambda x, y: torch.einsum("ij,kj->ij", x, y.tanh())),
    (mg.residual_add, lambda x, y: x + y),
    (lambda x, y: x * y.sum(axis=1, keepdims=True).tanh(), lambda x, y: x * y.sum(1, keepdim=True).tanh()),
]


@pytest.mark.parametrize("seed", range(60))
def test_every_node_of_a_random_graph(seed):
    rng = np.random.default_rng(seed)
    arrays = rng.standard_normal((3, 3, 4))
    ours = [Tensor(array, requires_grad=True) for array in arrays]
    theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
    for _ in range(15):
        x, y = rng.integers(len(ours), size=2)  # often the same node, so nodes have many readers
        if rng.random() < 0.5:
            here, there = UNARY[rng.integers(len(UNARY))]
            ours.append(here(ours[x]))
            theirs.append(there(theirs[x]))
        else:
            here, there = BINARY[rng.integers(len(BINARY))]
            ours.append(here(ours[x], ours[y]))
            theirs.append(there(theirs[x], theirs[y]))
        theirs[-1].retain_grad()

    weights = rng.standard_normal((len(ours), 3, 4))
    sum((t * w).sum() for t, w in zip(ours, weights, strict=True)).backward()
    sum((t * torch.tensor(w)).sum() for t, w in zip(theirs, weights, strict=True)).backward()
    for node, (t, other) in enumerate(zip(ours, theirs, strict=True)):
        scale = max(1.0, other.grad.abs().max().item())
        np.testing.assert_allclose(t.data, other.detach().numpy(), rtol=1e-9, atol=1e-11, err_msg=f"node {node}")
        np.testing.assert_allclose(t.grad, other.grad.numpy(), rtol=1e-9, atol=1e-11 * scale, err_msg=f"node {node}")


def test_all_ways_are_walked():
    """Each pair by itself, so that no random choice leaves one out."""
    rng = np.random.default_rng(0)
    for arity, table in ((1, UNARY), (2, BINARY)):
        for here, there in table:
            arrays = rng.standard_normal((arity, 3, 4))
            ours = [Tensor(array, requires_grad=True) for array in arrays]
            theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
            weights = rng.standard_normal((3, 4))
            here(*ours).backward(weights)
            there(*theirs).backward(torch.tensor(weights))
            for t, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(t.grad, other.grad.numpy(), rtol=1e-9, atol=1e-12)
