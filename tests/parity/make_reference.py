"""Write tests/minigrad/ops/reference.json: what PyTorch makes of every use of every op, in float64.

Run it with `python -m tests.parity.make_reference`; the tests read the file and need no PyTorch.
"""

import json
import math

import numpy as np
import torch
from torch.nn import functional

from tests.minigrad.ops.uses import MASK, REFERENCE, TARGETS, TOKENS, USES, dropped

CUBE = [(2, 3, 4)]
MASK_TENSOR = torch.tensor(MASK)
KEPT = torch.tensor(dropped(np.ones((4, 5))).data != 0)  # which elements are kept is ours to say


def axes_of(x, axis):
    return tuple(range(x.ndim)) if axis is None else axis


def product(x, axis=None, keepdims=False):
    """torch.prod takes one axis, so several are joined into one first."""
    if x.ndim == 0:
        return x.prod()
    axes = sorted(a % x.ndim for a in np.atleast_1d(axes_of(x, axis)).astype(int))
    kept = [a for a in range(x.ndim) if a not in axes]
    result = x.permute(*kept, *axes).reshape(*(x.shape[a] for a in kept), -1).prod(dim=-1)
    return result.reshape([1 if a in axes else n for a, n in enumerate(x.shape)]) if keepdims else result


def deviation(x, axis=None, keepdims=False, ddof=0):
    return torch.std(x, dim=axes_of(x, axis), keepdim=keepdims, correction=ddof)


def variance(x, axis=None, keepdims=False, ddof=0):
    return torch.var(x, dim=axes_of(x, axis), keepdim=keepdims, correction=ddof)


REDUCTIONS = {
    "sum": lambda x, axis=None, keepdims=False: torch.sum(x, dim=axes_of(x, axis), keepdim=keepdims),
    "mean": lambda x, axis=None, keepdims=False: torch.mean(x, dim=axes_of(x, axis), keepdim=keepdims),
    "max": lambda x, axis=None, keepdims=False: torch.amax(x, dim=axes_of(x, axis), keepdim=keepdims),
    "min": lambda x, axis=None, keepdims=False: torch.amin(x, dim=axes_of(x, axis), keepdim=keepdims),
    "var": variance,
    "std": deviation,
    "norm": lambda x, axis=None, keepdims=False: torch.sqrt(torch.sum(x * x, dim=axes_of(x, axis), keepdim=keepdims)),
    "prod": product,
    "logsumexp": lambda x, axis=None, keepdims=False: torch.logsumexp(x, dim=axes_of(x, axis), keepdim=keepdims),
}
WAYS = {
    "all": {},
    "axis": {"axis": 1},
    "axis from the end": {"axis": -3},
    "axes": {"axis": (0, -1)},
    "axes in another order": {"axis": (2, 0), "keepdims": True},
    "axis kept": {"axis": -1, "keepdims": True},
    "all kept": {"keepdims": True},
    "axis beside axes of length 1": {"axis": 1},
    "0-d": {},
}
EINSUMS = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "bhtd,bhsd->bhts": [(2, 2, 3, 2), (2, 2, 4, 2)],
    "...ij,...jk->...ik": [(1, 2, 3), (4, 3, 2)],
    "...ab,...bc->...ac": [(2, 1, 2, 2, 3), (2, 3, 2)],
    "...ij,jk": [(4, 2, 3), (3, 2)],
    "ij->ji": [(2, 3)],
    "ij->i": [(2, 3)],
    "ij->": [(2, 3)],
    "ii->i": [(3, 3)],
    "ii->": [(3, 3)],
    "ii": [(3, 3)],
    "iij->j": [(3, 3, 2)],
    "iji->j": [(3, 2, 3)],
    "ij,ij->": [(2, 3), (2, 3)],
    "i,j->ij": [(2,), (3,)],
    "i,j,k->kji": [(2,), (3,), (4,)],
    "ij,kl->i": [(2, 3), (4, 2)],
    "ii,i->": [(3, 3), (3,)],
    "ii,ij->ji": [(3, 3), (3, 2)],
    ",ij->ij": [(), (2, 3)],
    "ba": [(2, 3)],
    "ij,j,jk->ik": [(2, 3), (3,), (3, 2)],
}


# By use: the shapes of its inputs, and how PyTorch says it.
def cross_entropy(z, **options):
    return functional.cross_entropy(z.reshape(6, 4), torch.tensor(TARGETS).reshape(6), **options)


TORCH = {
    "add": ([(2, 3), (2, 3)], lambda x, y: x + y),
    "add, broadcast to the right": ([(4, 2, 3), (3,)], lambda x, y: x + y),
    "add, both broadcast": ([(3, 1), (1, 4)], lambda x, y: x + y),
    "add, 0-d and matrix": ([(), (2, 3)], lambda x, y: x + y),
    "add, to itself": ([(2, 3)], lambda x: x + x),
    "add, empty": ([(0, 3), (3,)], lambda x, y: x + y),
    "subtract": ([(2, 3), (2, 3)], lambda x, y: x - y),
    "subtract, both broadcast": ([(3, 1), (2, 1, 4)], lambda x, y: x - y),
    "subtract, from a number": ([(2, 3)], lambda x: 3 - x),
    "multiply": ([(2, 3), (2, 3)], lambda x, y: x * y),
    "multiply, both broadcast": ([(3, 1), (2, 1, 4)], lambda x, y: x * y),
    "multiply, column and matrix": ([(2, 1), (2, 3)], lambda x, y: x * y),
    "multiply, by itself": ([(2, 3)], lambda x: x * x),
    "divide": ([(2, 3), (2, 3)], lambda x, y: x / y),
    "divide, both broadcast": ([(3, 1), (2, 1, 4)], lambda x, y: x / y),
    "divide, a number by it": ([(2, 3)], lambda x: 6 / x),
    "negative": ([(2, 3)], lambda x: -x),
    "power, number": ([(2, 3)], lambda x: x**3),
    "power, fraction": ([(2, 3)], lambda x: x**-1.5),
    "power, both": ([(2, 3), (2, 3)], lambda x, p: x**p),
    "power, both broadcast": ([(3, 1), (2, 1, 4)], lambda x, p: x**p),
    "power, of a number": ([(2, 3)], lambda p: 2**p),
    "residual_add": ([(2, 3), (2, 3)], lambda x, y: x + y),
    "exp": ([(2, 3)], torch.exp),
    "log": ([(2, 3)], torch.log),
    "sqrt": ([(2, 3)], torch.sqrt),
    "abs": ([(2, 3)], torch.abs),
    "expm1": ([(2, 3)], torch.expm1),
    "log1p": ([(2, 3)], torch.log1p),
    "sin": ([(2, 3)], torch.sin),
    "cos": ([(2, 3)], torch.cos),
    "exp, 0-d": ([()], torch.exp),
    "log, empty": ([(2, 0)], torch.log),
    "relu": ([(3, 4)], torch.relu),
    "sigmoid": ([(3, 4)], torch.sigmoid),
    "tanh": ([(3, 4)], torch.tanh),
    "gelu": ([(3, 4)], lambda x: functional.gelu(x, approximate="tanh")),
    "gelu, exact": ([(3, 4)], functional.gelu),
    "silu": ([(3, 4)], functional.silu),
    "where": ([(3, 4), (3, 4)], lambda x, y: torch.where(MASK_TENSOR, x, y)),
    "where, both broadcast": ([(3, 1), (4,)], lambda x, y: torch.where(MASK_TENSOR, x, y)),
    "where, mask broadcast": ([(2, 3, 4), ()], lambda x, y: torch.where(MASK_TENSOR, x, y)),
    "where, method": ([(3, 4)], lambda x: torch.where(MASK_TENSOR, x, -2.0)),
    "maximum": ([(3, 4), (3, 4)], torch.maximum),
    "maximum, both broadcast": ([(3, 1), (4,)], torch.maximum),
    "minimum": ([(3, 4), (3, 4)], torch.minimum),
    "minimum, both broadcast": ([(3, 1), (4,)], torch.minimum),
    "clip": ([(3, 4)], lambda x: torch.clip(x, -0.5, 0.75)),
    "clip, low only": ([(3, 4)], lambda x: torch.clip(x, min=0.1)),
    "clip, high only": ([(3, 4)], lambda x: torch.clip(x, max=0.1)),
    "clip, array bounds": (
        [(2, 3)],
        lambda x: torch.minimum(
            torch.maximum(x, torch.tensor([[-1.0], [0.2]], dtype=x.dtype)),
            torch.tensor([0.1, 0.5, 2.0], dtype=x.dtype),
        ),
    ),
    **{
        f"{name}, {text}": (
            {"0-d": [()], "axis beside axes of length 1": [(1, 3, 1)]}.get(text, CUBE),
            lambda x, reduction=reduction, options=options: reduction(x, **options),
        )
        for name, reduction in REDUCTIONS.items()
        for text, options in WAYS.items()
        if f"{name}, {text}" in USES
    },
    "var, ddof": (CUBE, lambda x: variance(x, axis=1, ddof=1)),
    "std, ddof": (CUBE, lambda x: deviation(x, axis=(0, 2), ddof=1)),
    "sum, empty": ([(0, 3)], lambda x: x.sum(dim=0)),
    "sum, no axes": ([(2, 3)], lambda x: x * 1),
    "prod, with zeros": ([(3, 3)], lambda x: x.prod(dim=-1)),
    "prod, empty": ([(2, 0)], lambda x: x.prod(dim=1)),
    "cumsum": (CUBE, lambda x: x.cumsum(1)),
    "cumsum, from the end": (CUBE, lambda x: x.cumsum(-1)),
    "cumsum, all": (CUBE, lambda x: x.reshape(-1).cumsum(0)),
    "cumsum, empty": ([(2, 0)], lambda x: x.cumsum(-1)),
    "softmax": ([(2, 3)], lambda x: x.softmax(-1)),
    "softmax, axis": (CUBE, lambda x: x.softmax(0)),
    "softmax, axis from the end": (CUBE, lambda x: x.softmax(-2)),
    "softmax, one element": ([(3, 1)], lambda x: x.softmax(-1)),
    "log_softmax": ([(2, 3)], lambda x: x.log_softmax(-1)),
    "log_softmax, axis": (CUBE, lambda x: x.log_softmax(0)),
    "log_softmax, axis from the end": (CUBE, lambda x: x.log_softmax(-2)),
    "layer_norm": ([(2, 3, 4), (4,), (4,)], lambda x, gain, bias: functional.layer_norm(x, (4,), gain, bias, 1e-5)),
    "layer_norm, no gain": ([(2, 3)], lambda x: functional.layer_norm(x, (3,), eps=1e-3)),
    "layer_norm, one token": ([(4,), (4,), (4,)], lambda x, gain, bias: functional.layer_norm(x, (4,), gain, bias)),
    "rms_norm": ([(2, 3, 4), (4,)], lambda x, gain: functional.rms_norm(x, (4,), gain, 1e-5)),
    "rms_norm, no gain": ([(2, 3)], lambda x: functional.rms_norm(x, (3,), eps=1e-3)),
    "matmul": ([(2, 3), (3, 4)], torch.matmul),
    "matmul, square": ([(3, 3), (3, 3)], torch.matmul),
    "matmul, vectors": ([(3,), (3,)], torch.matmul),
    "matmul, vector by itself": ([(3,)], lambda x: x @ x),
    "matmul, vector by matrix": ([(3,), (3, 4)], torch.matmul),
    "matmul, matrix by vector": ([(2, 3), (3,)], torch.matmul),
    "matmul, batch by matrix": ([(5, 2, 3), (3, 4)], torch.matmul),
    "matmul, matrix by batch": ([(2, 3), (5, 3, 4)], torch.matmul),
    "matmul, batch by batch": ([(5, 2, 3), (5, 3, 4)], torch.matmul),
    "matmul, both broadcast": ([(5, 1, 2, 3), (2, 3, 2)], torch.matmul),
    "matmul, batch by vector": ([(5, 2, 3), (3,)], torch.matmul),
    "matmul, vector by batch": ([(3,), (5, 3, 2)], torch.matmul),
    "matmul, empty sum": ([(2, 0), (0, 3)], torch.matmul),
    "matmul, empty batch": ([(0, 2, 3), (3, 4)], torch.matmul),
    "matmul, array on the left": ([(3, 2)], lambda y: torch.arange(6, dtype=y.dtype).reshape(2, 3) @ y),
    **{
        f"einsum, {subscripts}": (shapes, lambda *xs, subscripts=subscripts: torch.einsum(subscripts, *xs))
        for subscripts, shapes in EINSUMS.items()
    },
    "linear": ([(2, 3), (3, 4), (4,)], lambda x, weight, bias: functional.linear(x, weight.T, bias)),
    "linear, one token": ([(3,), (3, 4), (4,)], lambda x, weight, bias: functional.linear(x, weight.T, bias)),
    "linear, batch": ([(2, 2, 3), (3, 4), (4,)], lambda x, weight, bias: functional.linear(x, weight.T, bias)),
    "linear, no token": ([(0, 3), (3, 4), (4,)], lambda x, weight, bias: functional.linear(x, weight.T, bias)),
    "reshape": (CUBE, lambda x: x.reshape(3, -1)),
    "reshape, to 0-d": ([(1, 1)], lambda x: x.reshape(())),
    "reshape, empty": ([(2, 0)], lambda x: x.reshape(0, 4)),
    "flatten": (CUBE, torch.flatten),
    "squeeze": ([(1, 2, 1, 3)], torch.squeeze),
    "squeeze, axis": ([(1, 1, 3)], lambda x: x.squeeze(1)),
    "squeeze, axes": ([(1, 2, 1, 3)], lambda x: x.squeeze((0, -2))),
    "squeeze, to 0-d": ([(1, 1)], torch.squeeze),
    "expand_dims": ([(2, 3)], lambda x: x.unsqueeze(0)),
    "expand_dims, from the end": ([(2, 3)], lambda x: x.unsqueeze(-2)),
    "expand_dims, axes": ([(2, 3)], lambda x: x.unsqueeze(0).unsqueeze(-1)),
    "expand_dims, 0-d": ([()], lambda x: x.unsqueeze(0)),
    "transpose": (CUBE, lambda x: x.permute(2, 1, 0)),
    "transpose, T": (CUBE, lambda x: x[0].T),
    "transpose, cycle": (CUBE, lambda x: x.permute(1, 2, 0)),
    "transpose, other cycle": (CUBE, lambda x: x.permute(2, 0, 1)),
    "transpose, cycle of a cube": ([(2, 2, 2)], lambda x: x.permute(1, 2, 0)),
    "transpose, from the end": (CUBE, lambda x: x.permute(1, 0, 2)),
    "swapaxes": (CUBE, lambda x: x.swapaxes(0, 2)),
    "swapaxes, from the end": (CUBE, lambda x: x.swapaxes(1, 2)),
    "broadcast_to": ([(3, 1)], lambda x: x.broadcast_to(2, 3, 4)),
    "broadcast_to, middle": ([(2, 1, 4)], lambda x: x.broadcast_to(5, 2, 3, 4)),
    "broadcast_to, 0-d": ([()], lambda x: x.broadcast_to(2, 2)),
    "getitem, int": ([(3, 4)], lambda x: x[1]),
    "getitem, int from the end": ([(3, 4)], lambda x: x[-1, 2]),
    "getitem, slice": ([(3, 4)], lambda x: x[:2, 1:]),
    "getitem, step": ([(3, 4)], lambda x: x[::2].flip(1)),
    "getitem, new axis": ([(3, 4)], lambda x: x[:, None, ..., 0]),
    "getitem, list with repeats": ([(3, 4)], lambda x: x[[0, 0, 2]]),
    "getitem, two lists with repeats": ([(3, 4)], lambda x: x[[0, 0, 2, 0], [1, 1, 3, 1]]),
    "getitem, array and slice": ([(3, 4)], lambda x: x[1:, torch.tensor([[3, 0], [3, 3]])]),
    "getitem, mask": ([(3, 4)], lambda x: x[MASK_TENSOR]),
    "getitem, mask of rows": ([(3, 4)], lambda x: x[torch.tensor([True, False, True])]),
    "getitem, nothing": ([(3, 4)], lambda x: x[1:1]),
    "getitem, all": ([(3, 4)], lambda x: x[...]),
    "split": ([(6, 2)], lambda x: x.tensor_split(3)[1]),
    "split, last axis": ([(2, 4)], lambda x: x.tensor_split([1, 3], dim=-1)[1]),
    "split, in another order": ([(2, 4)], lambda x: torch.cat(x.tensor_split([2, 3], dim=1)[::-1], dim=1)),
    "concatenate": ([(2, 3), (1, 3)], lambda x, y: torch.cat([x, y])),
    "concatenate, last axis": ([(2, 1), (2, 3), (2, 2)], lambda x, y, z: torch.cat([x, y, z], dim=-1)),
    "concatenate, flat": ([(2, 3), (2,)], lambda x, y: torch.cat([x.reshape(-1), y])),
    "concatenate, with an array": ([(2, 3)], lambda x: torch.cat([torch.ones(1, 3, dtype=x.dtype), x, x])),
    "concatenate, with an empty one": ([(0, 3), (2, 3)], lambda x, y: torch.cat([x, y])),
    "stack": ([(2, 3), (2, 3)], lambda x, y: torch.stack([x, y])),
    "stack, last axis": ([(2, 3)] * 3, lambda x, y, z: torch.stack([x, y, z], dim=-1)),
    "stack, middle axis": ([(2, 3), (2, 3)], lambda x, y: torch.stack([x, y], dim=1)),
    "stack, 0-d": ([(), ()], lambda x, y: torch.stack([x, y])),
    "cross_entropy": ([(2, 3, 4)], cross_entropy),
    "cross_entropy, sum": ([(2, 3, 4)], lambda z: cross_entropy(z, reduction="sum")),
    "cross_entropy, each row": ([(2, 3, 4)], lambda z: cross_entropy(z, reduction="none").reshape(2, 3)),
    "cross_entropy, smoothed": ([(2, 3, 4)], lambda z: cross_entropy(z, label_smoothing=0.2)),
    "cross_entropy, without some rows": ([(2, 3, 4)], lambda z: cross_entropy(z, ignore_index=3)),
    "cross_entropy, each row, smoothed, without some": (
        [(2, 3, 4)],
        lambda z: cross_entropy(z, ignore_index=0, label_smoothing=0.1, reduction="none").reshape(2, 3),
    ),
    "cross_entropy, one row": ([(4,)], lambda z: functional.cross_entropy(z, torch.tensor(2))),
    "mse_loss": ([(2, 3), (2, 3)], functional.mse_loss),
    "mse_loss, one number": ([(2, 3), ()], lambda y, t: ((y - t) ** 2).mean()),
    "embedding": ([(5, 2)], lambda weight: functional.embedding(torch.tensor(TOKENS), weight)),
    "embedding, one token": ([(5, 2)], lambda weight: weight[3]),
    "embedding, no token": ([(5, 2)], lambda weight: weight[:0]),
    "dropout": ([(4, 5)], lambda x: x * KEPT / 0.75),
}
POSITIVE = ("log", "sqrt", "power, fraction", "power, both")


def make_inputs(name, rng):
    """Numbers of both signs, each of another size and none near 0: no op has a kink or a tie there."""
    shapes = TORCH[name][0]
    sizes = [math.prod(shape) for shape in shapes]
    numbers = rng.choice(np.arange(100, 2500), sum(sizes), replace=False) / 1000
    numbers *= rng.choice([-1, 1], numbers.shape)
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    arrays = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    if name.startswith(POSITIVE):
        arrays[0] = np.abs(arrays[0])
    if name == "prod, with zeros":
        arrays[0][0, 1] = arrays[0][1, 0] = arrays[0][1, 2] = 0
    return arrays


def run(name):
    rng = np.random.default_rng(list(name.encode()))  # its own, so that a new use changes no other
    inputs = make_inputs(name, rng)
    leaves = [torch.tensor(array, requires_grad=True) for array in inputs]
    y = TORCH[name][1](*leaves)
    weights = rng.uniform(0.5, 1.5, tuple(y.shape)).round(3)
    y.backward(torch.tensor(weights))
    grads = [leaf.grad.numpy() for leaf in leaves]
    numbers = {"inputs": inputs, "weights": [weights], "value": [y.detach().numpy()], "grads": grads}
    return {key: [{"shape": list(a.shape), "data": a.tolist()} for a in arrays] for key, arrays in numbers.items()}


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(run(name))}" for name in USES]
    REFERENCE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
