"""The feed-forward network, which transforms each token on its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from blocks.layers import Linear
from minigrad import Module, Tensor, gelu, relu, silu, tanh
from minigrad.types import Rng


def gelu_exact(x: Tensor) -> Tensor:
    return gelu(x, approximate="none")


ACTIVATIONS = {"relu": relu, "gelu": gelu, "gelu_exact": gelu_exact, "silu": silu, "tanh": tanh}


class FeedForward(Module):
    """y = activation(x W_up + b_up) W_down + b_down, for each token alone (Vaswani et al. 2017, eq. 2).

    Args:
        d_model: width of a token.
        d_ff: width inside, commonly 4 d_model.
        activation: "relu", "gelu" (the tanh form, as in GPT-2), "gelu_exact" (as in BERT), "silu" or "tanh".
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        activation: str = "relu",
        *,
        bias: bool = True,
        dtype: DTypeLike = np.float64,
        rng: Rng = None,
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"FeedForward: activation is one of {', '.join(ACTIVATIONS)}, and in a block also "
                f"{' or '.join(GATED)}; got {activation!r}"
            )
        rng = np.random.default_rng(rng)
        self.activation = ACTIVATIONS[activation]
        self.up = Linear(d_model, d_ff, bias=bias, dtype=dtype, rng=rng)
        self.down = Linear(d_ff, d_model, bias=bias, dtype=dtype, rng=rng)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.activation(self.up(x))  # (..., T, d_ff)
        return self.down(hidden)  # (..., T, d_model)


class SwiGLU(Module):
    """y = (silu(x W_gate) * (x W_up)) W_down, for each token alone (Shazeer 2020, eq. 6)."""

    def __init__(self, d_model: int, d_ff: int, *, bias: bool = False, dtype: DTypeLike = np.float64, rng: Rng = None):
        rng = np.random.default_rng(rng)
        self.gate = Linear(d_model, d_ff, bias=bias, dtype=dtype, rng=rng)
        self.up = Linear(d_model, d_ff, bias=bias, dtype=dtype, rng=rng)
        self.down = Linear(d_ff, d_model, bias=bias, dtype=dtype, rng=rng)

    def forward(self, x: Tensor) -> Tensor:
        hidden = silu(self.gate(x)) * self.up(x)  # (..., T, d_ff)
        return self.down(hidden)  # (..., T, d_model)


class GeGLU(SwiGLU):
    """y = (gelu(x W_gate) * (x W_up)) W_down, for each token alone (Shazeer 2020, eq. 6); gelu in its tanh form."""

    def forward(self, x: Tensor) -> Tensor:
        hidden = gelu(self.gate(x)) * self.up(x)  # (..., T, d_ff)
        return self.down(hidden)  # (..., T, d_model)


GATED = {"swiglu": SwiGLU, "geglu": GeGLU}
