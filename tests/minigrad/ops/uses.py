"""Every op in all the ways it can be used: what each way is called, its op, and how minigrad says it.

tests/parity/make_reference.py says the same in PyTorch, and writes inputs, values and gradients to reference.json.
"""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import minigrad as mg
from minigrad import Op

REFERENCE = Path(__file__).with_name("reference.json")


class Use(NamedTuple):
    """One way to use an op. `function` takes the tensors whose gradients are looked at."""

    op: str
    function: object


def dropped(x):
    return mg.dropout(x, 0.25, rng=np.random.default_rng(7))


MASK = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]])
TARGETS = np.array([[2, 0, 3], [3, 3, 1]])
TOKENS = np.array([[1, 4, 1], [0, 1, 2]])

USES = {
    # arithmetic
    "add": Use("Add", lambda x, y: x + y),
    "add, broadcast to the right": Use("Add", lambda x, y: x + y),
    "add, both broadcast": Use("Add", lambda x, y: x + y),
    "add, 0-d and matrix": Use("Add", lambda x, y: x + y),
    "add, to itself": Use("Add", lambda x: x + x),
    "add, empty": Use("Add", lambda x, y: x + y),
    "subtract": Use("Subtract", lambda x, y: x - y),
    "subtract, both broadcast": Use("Subtract", lambda x, y: x - y),
    "subtract, from a number": Use("Subtract", lambda x: 3 - x),
    "multiply": Use("Multiply", lambda x, y: x * y),
    "multiply, both broadcast": Use("Multiply", lambda x, y: x * y),
    "multiply, column and matrix": Use("Multiply", lambda x, y: x * y),
    "multiply, by itself": Use("Multiply", lambda x: x * x),
    "divide": Use("Divide", lambda x, y: x / y),
    "divide, both broadcast": Use("Divide", lambda x, y: x / y),
    "divide, a number by it": Use("Divide", lambda x: 6 / x),
    "negative": Use("Negative", lambda x: -x),
    "power, number": Use("Power", lambda x: x**3),
    "power, fraction": Use("Power", lambda x: x**-1.5),
    "power, both": Use("Power", lambda x, p: x**p),
    "power, both broadcast": Use("Power", lambda x, p: x**p),
    "power, of a number": Use("Power", lambda p: 2**p),
    "residual_add": Use("ResidualAdd", mg.residual_add),
    # elementary
    "exp": Use("Exp", mg.exp),
    "log": Use("Log", mg.log),
    "sqrt": Use("Sqrt", mg.sqrt),
    "abs": Use("Abs", abs),
    "expm1": Use("Expm1", mg.expm1),
    "log1p": Use("Log1p", mg.log1p),
    "sin": Use("Sin", mg.sin),
    "cos": Use("Cos", mg.cos),
    "exp, 0-d": Use("Exp", mg.exp),
    "log, empty": Use("Log", mg.log),
    # activations
    "relu": Use("Relu", mg.relu),
    "sigmoid": Use("Sigmoid", mg.sigmoid),
    "tanh": Use("Tanh", mg.tanh),
    "gelu": Use("Gelu", mg.gelu),
    "gelu, exact": Use("Gelu", lambda x: mg.gelu(x, approximate="none")),
    "silu": Use("Silu", mg.silu),
    # selection
    "where": Use("Where", lambda x, y: mg.where(MASK, x, y)),
    "where, both broadcast": Use("Where", lambda x, y: mg.where(MASK, x, y)),
    "where, mask broadcast": Use("Where", lambda x, y: mg.where(MASK, x, y)),
    "where, method": Use("Where", lambda x: x.where(MASK, -2)),
    "maximum": Use("Maximum", mg.maximum),
    "maximum, both broadcast": Use("Maximum", mg.maximum),
    "minimum": Use("Minimum", mg.minimum),
    "minimum, both broadcast": Use("Minimum", mg.minimum),
    "clip": Use("Clip", lambda x: x.clip(-0.5, 0.75)),
    "clip, low only": Use("Clip", lambda x: x.clip(low=0.1)),
    "clip, high only": Use("Clip", lambda x: x.clip(high=0.1)),
    "clip, array bounds": Use("Clip", lambda x: x.clip(np.array([[-1.0], [0.2]]), np.array([0.1, 0.5, 2.0]))),
    # reductions
    **{
        f"{name}, {text}": Use(name.capitalize(), lambda x, name=name, options=options: getattr(mg, name)(x, **options))
        for name in ("sum", "mean", "max", "min", "var", "std", "norm", "prod", "logsumexp")
        for text, options in {
            "all": {},
            "axis": {"axis": 1},
            "axis from the end": {"axis": -3},
            "axes": {"axis": (0, -1)},
            "axes in another order": {"axis": (2, 0), "keepdims": True},
            "axis kept": {"axis": -1, "keepdims": True},
            "all kept": {"keepdims": True},
            "axis beside axes of length 1": {"axis": 1},
            "0-d": {},
        }.items()
        if not (name in ("var", "std") and text == "0-d")
    },
    "var, ddof": Use("Var", lambda x: x.var(axis=1, ddof=1)),
    "std, ddof": Use("Std", lambda x: x.std(axis=(0, 2), ddof=1)),
    "sum, empty": Use("Sum", lambda x: x.sum(axis=0)),
    "sum, no axes": Use("Sum", lambda x: x.sum(axis=())),
    "prod, with zeros": Use("Prod", lambda x: x.prod(axis=-1)),
    "prod, empty": Use("Prod", lambda x: x.prod(axis=1)),
    "cumsum": Use("Cumsum", lambda x: x.cumsum(axis=1)),
    "cumsum, from the end": Use("Cumsum", lambda x: x.cumsum(axis=-1)),
    "cumsum, all": Use("Cumsum", lambda x: x.cumsum()),
    "cumsum, empty": Use("Cumsum", lambda x: x.cumsum(axis=-1)),
    # softmax
    "softmax": Use("Softmax", mg.softmax),
    "softmax, axis": Use("Softmax", lambda x: x.softmax(axis=0)),
    "softmax, axis from the end": Use("Softmax", lambda x: x.softmax(axis=-2)),
    "softmax, one element": Use("Softmax", mg.softmax),
    "log_softmax": Use("LogSoftmax", mg.log_softmax),
    "log_softmax, axis": Use("LogSoftmax", lambda x: x.log_softmax(axis=0)),
    "log_softmax, axis from the end": Use("LogSoftmax", lambda x: x.log_softmax(axis=-2)),
    # normalization
    "layer_norm": Use("LayerNorm", mg.layer_norm),
    "layer_norm, no gain": Use("LayerNorm", lambda x: x.layer_norm(eps=1e-3)),
    "layer_norm, one token": Use("LayerNorm", mg.layer_norm),
    "rms_norm": Use("RmsNorm", mg.rms_norm),
    "rms_norm, no gain": Use("RmsNorm", lambda x: x.rms_norm(eps=1e-3)),
    # products
    "matmul": Use("Matmul", lambda x, y: x @ y),
    "matmul, square": Use("Matmul", lambda x, y: x @ y),
    "matmul, vectors": Use("Matmul", lambda x, y: x @ y),
    "matmul, vector by itself": Use("Matmul", lambda x: x @ x),
    "matmul, vector by matrix": Use("Matmul", lambda x, y: x @ y),
    "matmul, matrix by vector": Use("Matmul", lambda x, y: x @ y),
    "matmul, batch by matrix": Use("Matmul", lambda x, y: x @ y),
    "matmul, matrix by batch": Use("Matmul", lambda x, y: x @ y),
    "matmul, batch by batch": Use("Matmul", lambda x, y: x @ y),
    "matmul, both broadcast": Use("Matmul", lambda x, y: x @ y),
    "matmul, batch by vector": Use("Matmul", lambda x, y: x @ y),
    "matmul, vector by batch": Use("Matmul", lambda x, y: x @ y),
    "matmul, empty sum": Use("Matmul", lambda x, y: x @ y),
    "matmul, empty batch": Use("Matmul", lambda x, y: x @ y),
    "matmul, array on the left": Use("Matmul", lambda y: np.arange(6.0).reshape(2, 3) @ y),
    **{
        f"einsum, {subscripts}": Use("Einsum", lambda *xs, subscripts=subscripts: mg.einsum(subscripts, *xs))
        for subscripts in (
            "ij,jk->ik",
            "ij,jk",
            "bhtd,bhsd->bhts",
            "...ij,...jk->...ik",
            "...ij,jk",
            "...ab,...bc->...ac",
            "ij->ji",
            "ij->i",
            "ij->",
            "ii->i",
            "ii->",
            "ii",
            "iij->j",
            "iji->j",
            "ij,ij->",
            "i,j->ij",
            "i,j,k->kji",
            "ij,kl->i",
            "ii,i->",
            "ii,ij->ji",
            ",ij->ij",
            "ba",
            "ij,j,jk->ik",
        )
    },
    "linear": Use("Linear", mg.linear),
    "linear, one token": Use("Linear", mg.linear),
    "linear, batch": Use("Linear", mg.linear),
    "linear, no token": Use("Linear", mg.linear),
    # shapes
    "reshape": Use("Reshape", lambda x: x.reshape(3, -1)),
    "reshape, to 0-d": Use("Reshape", lambda x: x.reshape(())),
    "reshape, empty": Use("Reshape", lambda x: x.reshape(0, 4)),
    "flatten": Use("Reshape", mg.flatten),
    "squeeze": Use("Squeeze", mg.squeeze),
    "squeeze, axis": Use("Squeeze", lambda x: x.squeeze(axis=1)),
    "squeeze, axes": Use("Squeeze", lambda x: x.squeeze((0, -2))),
    "squeeze, to 0-d": Use("Squeeze", mg.squeeze),
    "expand_dims": Use("ExpandDims", lambda x: x.expand_dims(0)),
    "expand_dims, from the end": Use("ExpandDims", lambda x: x.expand_dims(axis=-2)),
    "expand_dims, axes": Use("ExpandDims", lambda x: x.expand_dims((0, -1))),
    "expand_dims, 0-d": Use("ExpandDims", lambda x: x.expand_dims(0)),
    "transpose": Use("Transpose", lambda x: x.transpose()),
    "transpose, T": Use("Transpose", lambda x: x[0].T),
    "transpose, cycle": Use("Transpose", lambda x: x.transpose((1, 2, 0))),
    "transpose, other cycle": Use("Transpose", lambda x: x.transpose(2, 0, 1)),
    "transpose, cycle of a cube": Use("Transpose", lambda x: x.transpose(1, 2, 0)),
    "transpose, from the end": Use("Transpose", lambda x: x.transpose(-2, 0, -1)),
    "swapaxes": Use("Swapaxes", lambda x: x.swapaxes(0, 2)),
    "swapaxes, from the end": Use("Swapaxes", lambda x: x.swapaxes(-1, -2)),
    "broadcast_to": Use("BroadcastTo", lambda x: x.broadcast_to((2, 3, 4))),
    "broadcast_to, middle": Use("BroadcastTo", lambda x: x.broadcast_to((5, 2, 3, 4))),
    "broadcast_to, 0-d": Use("BroadcastTo", lambda x: x.broadcast_to((2, 2))),
    "getitem, int": Use("Getitem", lambda x: x[1]),
    "getitem, int from the end": Use("Getitem", lambda x: x[-1, 2]),
    "getitem, slice": Use("Getitem", lambda x: x[:2, 1:]),
    "getitem, step": Use("Getitem", lambda x: x[::2, ::-1]),
    "getitem, new axis": Use("Getitem", lambda x: x[:, None, ..., 0]),
    "getitem, list with repeats": Use("Getitem", lambda x: x[[0, 0, 2]]),
    "getitem, two lists with repeats": Use("Getitem", lambda x: x[[0, 0, 2, 0], [1, 1, 3, 1]]),
    "getitem, array and slice": Use("Getitem", lambda x: x[1:, np.array([[3, 0], [3, 3]])]),
    "getitem, mask": Use("Getitem", lambda x: x[MASK]),
    "getitem, mask of rows": Use("Getitem", lambda x: x[[True, False, True]]),
    "getitem, nothing": Use("Getitem", lambda x: x[1:1]),
    "getitem, all": Use("Getitem", lambda x: x[...]),
    "split": Use("Getitem", lambda x: mg.split(x, 3)[1]),
    "split, last axis": Use("Getitem", lambda x: x.split([1, 3], axis=-1)[1]),
    "split, in another order": Use("Concatenate", lambda x: mg.concatenate(x.split([2, 3], axis=1)[::-1], axis=1)),
    "concatenate": Use("Concatenate", lambda x, y: mg.concatenate([x, y])),
    "concatenate, last axis": Use("Concatenate", lambda x, y, z: mg.concatenate([x, y, z], axis=-1)),
    "concatenate, flat": Use("Concatenate", lambda x, y: mg.concatenate([x, y], axis=None)),
    "concatenate, with an array": Use("Concatenate", lambda x: mg.concatenate([np.ones((1, 3)), x, x])),
    "concatenate, with an empty one": Use("Concatenate", lambda x, y: mg.concatenate([x, y])),
    "stack": Use("Stack", lambda x, y: mg.stack([x, y])),
    "stack, last axis": Use("Stack", lambda x, y, z: mg.stack([x, y, z], axis=-1)),
    "stack, middle axis": Use("Stack", lambda x, y: mg.stack([x, y], axis=1)),
    "stack, 0-d": Use("Stack", lambda x, y: mg.stack([x, y])),
    # losses, embedding, dropout
    "cross_entropy": Use("CrossEntropy", lambda z: mg.cross_entropy(z, TARGETS)),
    "cross_entropy, one row": Use("CrossEntropy", lambda z: mg.cross_entropy(z, 2)),
    "cross_entropy, sum": Use("CrossEntropy", lambda z: mg.cross_entropy(z, TARGETS, reduction="sum")),
    "cross_entropy, each row": Use("CrossEntropy", lambda z: mg.cross_entropy(z, TARGETS, reduction="none")),
    "cross_entropy, smoothed": Use("CrossEntropy", lambda z: mg.cross_entropy(z, TARGETS, label_smoothing=0.2)),
    "cross_entropy, without some rows": Use("CrossEntropy", lambda z: mg.cross_entropy(z, TARGETS, ignore_index=3)),
    "cross_entropy, each row, smoothed, without some": Use(
        "CrossEntropy",
        lambda z: mg.cross_entropy(z, TARGETS, ignore_index=0, label_smoothing=0.1, reduction="none"),
    ),
    "mse_loss": Use("MseLoss", mg.mse_loss),
    "mse_loss, one number": Use("MseLoss", mg.mse_loss),
    "embedding": Use("Embedding", lambda weight: mg.embedding(weight, TOKENS)),
    "embedding, one token": Use("Embedding", lambda weight: mg.embedding(weight, 3)),
    "embedding, no token": Use("Embedding", lambda weight: mg.embedding(weight, [])),
    "dropout": Use("Dropout", dropped),
}


def reference():
    """By use: its inputs, the weights of its result, its value and its gradients, from PyTorch in float64."""
    stored = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return {
        name: {key: [as_array(item) for item in items] for key, items in numbers.items()}
        for name, numbers in stored.items()
    }


def as_array(item):
    return np.array(item["data"], dtype=np.float64).reshape(item["shape"])


def all_ops():
    """Every op class of minigrad, by name."""
    return {name: op for name, op in all_classes().items() if not is_shared(op)}


def all_classes():
    """The classes of minigrad.ops by name: the ops, and what some of them share."""
    found, unseen = {}, [Op]
    while unseen:
        for op in unseen.pop().__subclasses__():
            unseen.append(op)
            if op.__module__.startswith("minigrad.ops."):
                found[op.__name__] = op
    return found


def is_shared(op):
    """True for what several ops are built on, such as Reduction for sum and mean: no function calls it."""
    return bool(op.__subclasses__()) and function_of(op) is None


def function_of(op):
    """The function that calls an op, which has its name and stands in its file; None if there is none."""
    return getattr(sys.modules[op.__module__], function_name(op), None)


def function_name(op):
    return object.__new__(op).name
