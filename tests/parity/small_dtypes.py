"""Random programs on booleans, small integers and float16, op by op beside PyTorch in float64.

Run it with `python -m tests.parity.small_dtypes 10000`; it prints how many programs and ops ran, and each that was off.
Every op of a program is compared by itself: PyTorch gets, in float64, the very numbers that our op was given. So what
is allowed is a few roundings of the result's own type, and nothing that wrapped, overflowed or was lost on the way.
"""

import sys
import warnings

import numpy as np
import torch
from torch.nn import functional

import minigrad as mg
from minigrad import Tensor

DTYPES = [np.bool_, np.uint8, np.int16, np.float16]
EPS = {np.dtype(np.float16): 2.0**-10, np.dtype(np.float64): 1e-12}


def axes_of(x, axis):
    return tuple(range(x.ndim)) if axis is None else axis


def rows(x):
    return x.reshape(-1, x.shape[-1])[:20]


# By name: how minigrad says it, and PyTorch; both take x and an axis.
OPS = {
    "exp": (lambda x, a: mg.exp(x), lambda x, a: x.exp()),
    "expm1": (lambda x, a: mg.expm1(x), lambda x, a: x.expm1()),
    "sin": (lambda x, a: mg.sin(x), lambda x, a: x.sin()),
    "cos": (lambda x, a: mg.cos(x), lambda x, a: x.cos()),
    "sqrt": (lambda x, a: mg.sqrt(abs(x)), lambda x, a: x.abs().sqrt()),
    "sigmoid": (lambda x, a: mg.sigmoid(x), lambda x, a: x.sigmoid()),
    "tanh": (lambda x, a: mg.tanh(x), lambda x, a: x.tanh()),
    "gelu": (lambda x, a: mg.gelu(x), lambda x, a: functional.gelu(x, approximate="tanh")),
    "silu": (lambda x, a: mg.silu(x), lambda x, a: functional.silu(x)),
    "relu": (lambda x, a: mg.relu(x), lambda x, a: x.relu()),
    "sum": (lambda x, a: mg.sum(x, axis=a), lambda x, a: x.sum(axes_of(x, a))),
    "mean": (lambda x, a: mg.mean(x, axis=a), lambda x, a: x.mean(axes_of(x, a))),
    "var": (lambda x, a: mg.var(x, axis=a), lambda x, a: x.var(axes_of(x, a), correction=0)),
    "std": (lambda x, a: mg.std(x, axis=a), lambda x, a: x.std(axes_of(x, a), correction=0)),
    "norm": (lambda x, a: mg.norm(x, axis=a), lambda x, a: torch.linalg.vector_norm(x, dim=axes_of(x, a))),
    "max": (lambda x, a: mg.max(x, axis=a), lambda x, a: x.amax(axes_of(x, a))),
    "cumsum": (lambda x, a: mg.cumsum(x, axis=-1), lambda x, a: x.cumsum(-1)),
    "softmax": (lambda x, a: mg.softmax(x, axis=0), lambda x, a: x.softmax(0)),
    "log_softmax": (lambda x, a: mg.log_softmax(x), lambda x, a: x.log_softmax(-1)),
    "logsumexp": (lambda x, a: mg.logsumexp(x, axis=a), lambda x, a: x.logsumexp(axes_of(x, a))),
    "layer_norm": (lambda x, a: mg.layer_norm(x), lambda x, a: functional.layer_norm(x, x.shape[-1:])),
    "rms_norm": (lambda x, a: mg.rms_norm(x), lambda x, a: functional.rms_norm(x, x.shape[-1:], eps=1e-5)),
    "mse_loss": (lambda x, a: mg.mse_loss(x, x[::-1]), lambda x, a: functional.mse_loss(x, x.flip(0))),
    "cross_entropy": (
        lambda x, a: mg.cross_entropy(x, np.zeros(x.shape[:-1], int)),
        lambda x, a: -x.log_softmax(-1)[..., 0].mean(),
    ),
    "matmul": (lambda x, a: rows(x) @ rows(x).T, lambda x, a: rows(x) @ rows(x).T),
    "einsum": (lambda x, a: mg.einsum("...i,...i->...", x, x), lambda x, a: torch.einsum("...i,...i->...", x, x)),
    "linear": (
        lambda x, a: mg.linear(x, rows(x)[:1].T, 0.5),
        lambda x, a: x @ rows(x)[:1].T + 0.5,
    ),
    "clip": (lambda x, a: mg.clip(x, 0, 1), lambda x, a: x.clip(0, 1)),
    "divide": (lambda x, a: x / 3, lambda x, a: x / 3),
    "times": (lambda x, a: x * 0.5, lambda x, a: x * 0.5),
    "reshape": (lambda x, a: x.reshape(-1), lambda x, a: x.reshape(-1)),
    "getitem": (lambda x, a: x[[0, 0, -1]], lambda x, a: x[[0, 0, -1]]),
    "broadcast_to": (lambda x, a: mg.broadcast_to(x, (50, *x.shape)), lambda x, a: x.broadcast_to(50, *x.shape)),
}


def first_array(rng):
    shape = [(rng.integers(1, 6),), (rng.integers(1, 5), rng.integers(1, 6)), (3, 2, 4), (3000,), (2500, 2)]
    shape = tuple(int(n) for n in shape[rng.choice(5, p=[0.3, 0.3, 0.3, 0.05, 0.05])])
    dtype = DTYPES[rng.integers(4)]
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if dtype == np.float16:
        return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4)).astype(np.float16)
    return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def is_near(got, right, eps):
    """Within a few roundings of a number as large as the largest; what the type cannot hold may be inf."""
    right = np.asarray(right)
    holds = np.abs(right) < (6e4 if eps > 1e-6 else 1e300)
    largest = np.abs(right[np.isfinite(right) & holds]).max(initial=0)
    allowed = 6 * eps * (np.abs(right) + largest) + (1e-6 if eps > 1e-6 else 1e-12)
    with np.errstate(all="ignore"):
        return bool((~holds | (np.abs(got.astype(np.float64) - right) <= allowed)).all())


def run(seed):
    """One program of up to three ops: how many ops ran, and what was wrong, in words."""
    rng = np.random.default_rng(seed)
    array, wrong, ran = first_array(rng), [], 0
    for _ in range(rng.integers(1, 4)):
        name = list(OPS)[rng.integers(len(OPS))]
        axis = None if rng.random() < 0.5 else int(rng.integers(array.ndim)) if array.ndim else None
        too_large = (
            array.dtype.kind in "iu" and np.abs(array.astype(np.float64)).max() > 1e6
        )  # even 64 bits have an end
        if not array.ndim or too_large or not np.isfinite(array).all():
            break
        here, there = OPS[name]
        floating = array.dtype == np.float16  # gradients in float64 are compared in test_random_graphs.py
        x, other = Tensor(array, requires_grad=floating), torch.tensor(array.astype(np.float64), requires_grad=floating)
        what = f"seed {seed}: {name} of {array.dtype}{list(array.shape)}, axis {axis}"
        y, expected = here(x, axis), there(other, axis)
        ran += 1
        if y.dtype not in EPS and y.dtype.kind == "f":
            wrong.append(f"{what}: dtype {y.dtype}")
        eps = EPS.get(y.dtype, 1e-12)
        if y.shape != tuple(expected.shape) or not is_near(y.data, expected.detach().numpy(), eps):
            wrong.append(f"{what}: {y.data.ravel()[:4]} for {expected.detach().numpy().ravel()[:4]}")
        if floating and np.isfinite(y.data).all():
            weights = rng.standard_normal(y.shape).astype(y.dtype)
            y.backward(weights)
            expected.backward(torch.tensor(weights.astype(np.float64)))
            if x.grad.dtype != array.dtype or not is_near(x.grad, other.grad.numpy(), eps):
                wrong.append(f"{what}: gradient {x.grad.ravel()[:4]} for {other.grad.numpy().ravel()[:4]}")
        array = y.data
    return ran, wrong


def main(programs):
    ops = off = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(programs):
            ran, wrong = run(seed)
            ops += ran
            off += bool(wrong)
            for words in wrong:
                print(words)
    print(f"{programs} programs, {ops} ops, {off} programs off")
    return off


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10_000)
