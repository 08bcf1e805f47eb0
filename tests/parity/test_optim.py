"""Fifty steps of every optimizer beside PyTorch's: the same model, the same batches, the same weights to 1e-10."""

import numpy as np
import pytest

from minigrad import Parameter, cross_entropy
from minigrad.optim import SGD, AdamW, CosineDecay, clip_grad_norm, decay_groups

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")

N_STEPS = 50

OPTIMIZERS = {
    "SGD": (SGD, torch.optim.SGD, {"lr": 0.1}),
    "SGD with momentum": (SGD, torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "SGD with momentum and decay": (SGD, torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}),
    "AdamW": (AdamW, torch.optim.AdamW, {"lr": 1e-2, "weight_decay": 0.0}),
    "AdamW with decay": (
        AdamW,
        torch.optim.AdamW,
        {"lr": 1e-2, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.3},
    ),
}


def start():
    """Weights of a two-layer network, and fifty batches with their classes."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape) for shape in ((6, 8), (8,), (8, 4), (4,))]
    return weights, rng.normal(size=(N_STEPS, 16, 6)), rng.integers(0, 4, (N_STEPS, 16))


def ours(make, decayed, max_norm, schedule):
    weights, batches, targets = start()
    parameters = [Parameter(w) for w in weights]
    W, b, V, c = parameters
    optimizer = make(decay_groups(parameters, decayed) if decayed else parameters)
    for step in range(N_STEPS):
        loss = cross_entropy((batches[step] @ W + b).tanh() @ V + c, targets[step])
        optimizer.zero_grad()
        loss.backward()
        if max_norm:
            clip_grad_norm(parameters, max_norm)
        if schedule:
            optimizer.lr = schedule(step)
        optimizer.step()
    return [p.data for p in parameters]


def theirs(make, decayed, max_norm, schedule):
    weights, batches, targets = start()
    parameters = [torch.tensor(w, requires_grad=True) for w in weights]
    W, b, V, c = parameters
    groups = [{"params": [W, V], "weight_decay": decayed}, {"params": [b, c], "weight_decay": 0.0}]
    optimizer = make(groups if decayed else parameters)
    for step in range(N_STEPS):
        scores = torch.tanh(torch.tensor(batches[step]) @ W + b) @ V + c
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(targets[step]))
        optimizer.zero_grad()
        loss.backward()
        if max_norm:
            torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        if schedule:
            for group in optimizer.param_groups:
                group["lr"] = schedule(step)
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize(
    ("decayed", "max_norm", "schedule"),
    [(None, None, None), (0.2, 0.05, CosineDecay(peak=0.02, n_steps=N_STEPS, warmup=5))],
    ids=["alone", "with groups, clipping and a schedule"],
)
def test_fifty_steps(name, decayed, max_norm, schedule):
    make, make_theirs, options = OPTIMIZERS[name]
    one = ours(lambda p: make(p, **options), decayed, max_norm, schedule)
    two = theirs(lambda p: make_theirs(p, **options), decayed, max_norm, schedule)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_cosine_decay_is_pytorchs():
    parameter = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20, eta_min=0.1)
    schedule = CosineDecay(peak=0.5, n_steps=20, final=0.1)
    for step in range(21):
        assert schedule(step) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        optimizer.step()
        scheduler.step()


def test_clipping_is_pytorchs():
    for size in (1e-3, 1.0, 1e6):
        grads = [size * np.random.default_rng(i).normal(size=(3, i + 1)) for i in range(4)]
        parameters, others = [Parameter(g) for g in grads], [torch.tensor(g, requires_grad=True) for g in grads]
        for p, q, grad in zip(parameters, others, grads, strict=True):
            p.grad, q.grad = grad, torch.tensor(grad)
        length = clip_grad_norm(parameters, 1.0)
        assert length == pytest.approx(torch.nn.utils.clip_grad_norm_(others, 1.0).item(), rel=1e-12)
        for p, q in zip(parameters, others, strict=True):
            np.testing.assert_allclose(p.grad, q.grad.numpy(), rtol=1e-12)
