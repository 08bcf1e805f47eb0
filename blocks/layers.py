"""The small layers that everything else is built of."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from minigrad import Module, Parameter, Tensor, dropout, embedding, layer_norm, linear, rms_norm
from minigrad.types import Rng, TensorLike


def check_lengths(layer: str, **lengths: int) -> None:
    for name, length in lengths.items():
        if length < 1:
            raise ValueError(f"{layer}: {name} is the length of an axis, at least 1; got {length}")


class Linear(Module):
    """y = x W + b.

    Args:
        d_in, d_out: lengths of the last axis of x and of y.
        bias: whether there is a b.
        dtype: of the parameters.
        rng: a NumPy Generator or a seed, for the initial weights: normal with variance 2 / (d_in + d_out)
            (Glorot and Bengio 2010, eq. 16).

    Parameters: weight (d_in, d_out), bias (d_out,).
    """

    def __init__(self, d_in: int, d_out: int, *, bias: bool = True, dtype: DTypeLike = np.float64, rng: Rng = None):
        check_lengths("Linear", d_in=d_in, d_out=d_out)
        rng = np.random.default_rng(rng)
        deviation = np.sqrt(2 / (d_in + d_out))
        self.weight = Parameter((deviation * rng.standard_normal((d_in, d_out))).astype(dtype))
        self.bias = Parameter(np.zeros(d_out, dtype)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1:] != self.weight.shape[:1]:
            raise ValueError(
                f"{self.name or 'Linear'}: x has shape {x.shape}, but its last axis must have length "
                f"{self.weight.shape[0]}, as the weight is {self.weight.shape}"
            )
        return x @ self.weight if self.bias is None else linear(x, self.weight, self.bias)  # (..., d_out)


class LayerNorm(Module):
    """Each token with mean 0 and variance 1, then stretched by `gain` and moved by `bias`; see `minigrad.layer_norm`.

    Parameters: gain (d,), ones at first; bias (d,), zeros at first.
    """

    def __init__(self, d: int, *, eps: float = 1e-5, dtype: DTypeLike = np.float64):
        check_lengths("LayerNorm", d=d)
        self.eps = eps
        self.gain = Parameter(np.ones(d, dtype))
        self.bias = Parameter(np.zeros(d, dtype))

    def forward(self, x: Tensor) -> Tensor:
        return layer_norm(x, self.gain, self.bias, self.eps)


class RMSNorm(Module):
    """Each token divided by its root mean square, then stretched by `gain`; see `minigrad.rms_norm`.

    Parameters: gain (d,), ones at first.
    """

    def __init__(self, d: int, *, eps: float = 1e-5, dtype: DTypeLike = np.float64):
        check_lengths("RMSNorm", d=d)
        self.eps = eps
        self.gain = Parameter(np.ones(d, dtype))

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.gain, self.eps)


def new_norm(kind: str, d: int, eps: float, dtype: DTypeLike) -> LayerNorm | RMSNorm:
    """The norm of this kind, "layer" or "rms"."""
    if kind == "layer":
        return LayerNorm(d, eps=eps, dtype=dtype)
    if kind == "rms":
        return RMSNorm(d, eps=eps, dtype=dtype)
    raise ValueError(f'norm_type is "layer" or "rms"; got {kind!r}')


class Embedding(Module):
    """A table with one learned row for each token or position; see `minigrad.embedding`.

    Parameters: weight (n_rows, d), normal with deviation 0.02 at first (as in GPT-2).
    """

    def __init__(self, n_rows: int, d: int, *, dtype: DTypeLike = np.float64, rng: Rng = None):
        check_lengths("Embedding", n_rows=n_rows, d=d)
        rng = np.random.default_rng(rng)
        self.weight = Parameter((0.02 * rng.standard_normal((n_rows, d))).astype(dtype))

    def forward(self, tokens: TensorLike) -> Tensor:
        return embedding(self.weight, tokens)


class Dropout(Module):
    """Random zeros while training; see `minigrad.dropout`."""

    def __init__(self, p: float = 0.5, *, rng: Rng = None):
        self.p = p
        self.rng = np.random.default_rng(rng)

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.p, self.training, self.rng)
