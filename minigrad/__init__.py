"""minigrad: a tensor autograd over NumPy, small enough to read in one sitting.

Tensors         Tensor no_grad scope
Arithmetic      add subtract multiply divide negative power abs
Functions       exp expm1 log log1p sqrt sin cos tanh sigmoid
Products        matmul einsum linear
Reductions      sum mean max min prod var std norm cumsum logsumexp
Selection       where maximum minimum clip
Shapes          reshape flatten transpose swapaxes squeeze expand_dims broadcast_to
                getitem split concatenate stack
Networks        relu gelu silu softmax log_softmax layer_norm rms_norm dropout
                embedding residual_add
Losses          cross_entropy mse_loss
Models          Module Parameter optim keep_freed_memory
Pictures        draw Graph write_stepper
Debugging       break_at detect_anomaly explain why find find_all
Your own op     Op gradcheck

help(minigrad.softmax) says more about one of them, and print(t.data) shows a tensor's numbers. help(blocks)
lists the Transformer, and what splits its gradient by residual.
"""

import importlib
from typing import TYPE_CHECKING

from minigrad import operators as operators  # gives Tensor its operators
from minigrad import optim as optim
from minigrad.gradcheck import gradcheck
from minigrad.module import Module, Parameter
from minigrad.op import Op
from minigrad.ops.activations import gelu, relu, sigmoid, silu, tanh
from minigrad.ops.arithmetic import add, divide, multiply, negative, subtract
from minigrad.ops.dropout import dropout
from minigrad.ops.elementary import abs, cos, exp, expm1, log, log1p, power, sin, sqrt
from minigrad.ops.embedding import embedding
from minigrad.ops.linear import linear
from minigrad.ops.losses import cross_entropy, mse_loss
from minigrad.ops.normalization import layer_norm, rms_norm
from minigrad.ops.products import einsum, matmul
from minigrad.ops.reductions import cumsum, max, mean, min, norm, prod, std, sum, var
from minigrad.ops.residual import residual_add
from minigrad.ops.selection import clip, maximum, minimum, where
from minigrad.ops.shapes import (
    broadcast_to,
    concatenate,
    expand_dims,
    flatten,
    getitem,
    reshape,
    split,
    squeeze,
    stack,
    swapaxes,
    transpose,
)
from minigrad.ops.softmax import log_softmax, logsumexp, softmax
from minigrad.recording import no_grad, scope
from minigrad.tensor import Tensor

__version__ = "0.1.0"

# Loaded when they are first asked for, so that a script that trains does not wait for what it does not use.
ON_DEMAND = {
    "minigrad.debugging": ("break_at", "detect_anomaly", "explain", "find", "find_all", "why"),
    "minigrad.memory": ("keep_freed_memory",),
    "minigrad.drawing": ("Graph", "draw", "write_stepper"),
}

if TYPE_CHECKING:
    from minigrad.debugging.break_at import break_at
    from minigrad.debugging.detect_anomaly import detect_anomaly
    from minigrad.debugging.explain import explain
    from minigrad.debugging.find import find, find_all
    from minigrad.debugging.why import why
    from minigrad.drawing import Graph, draw, write_stepper
    from minigrad.memory import keep_freed_memory
else:  # unseen by type checkers, which would take it for leave to ask for any name

    def __getattr__(name):
        for module, names in ON_DEMAND.items():
            if name in names:
                return getattr(importlib.import_module(module), name)
        raise AttributeError(f"module 'minigrad' has no attribute {name!r}")


def show_tensor(tensor: Tensor) -> str:
    """What a notebook shows of a tensor."""
    return importlib.import_module("minigrad.drawing.notebook").tensor_html(tensor)


Tensor._repr_html_ = show_tensor  # type: ignore[attr-defined]


def __dir__() -> list[str]:  # for Tab and help(), which would not see what is loaded on demand
    return [*__all__, "__version__", "optim"]


__all__ = [
    "Graph",
    "Module",
    "Op",
    "Parameter",
    "Tensor",
    "abs",
    "add",
    "break_at",
    "broadcast_to",
    "clip",
    "concatenate",
    "cos",
    "cross_entropy",
    "cumsum",
    "detect_anomaly",
    "divide",
    "draw",
    "dropout",
    "einsum",
    "embedding",
    "exp",
    "expand_dims",
    "explain",
    "expm1",
    "find",
    "find_all",
    "flatten",
    "gelu",
    "getitem",
    "gradcheck",
    "keep_freed_memory",
    "layer_norm",
    "linear",
    "log",
    "log1p",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mse_loss",
    "multiply",
    "negative",
    "no_grad",
    "norm",
    "power",
    "prod",
    "relu",
    "reshape",
    "residual_add",
    "rms_norm",
    "scope",
    "sigmoid",
    "silu",
    "sin",
    "softmax",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "tanh",
    "transpose",
    "var",
    "where",
    "why",
    "write_stepper",
]
