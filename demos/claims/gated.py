"""A gated feed-forward network multiplies two views of a token, where the plain one only bends each number.

SwiGLU is (silu(x W_gate) * (x W_up)) W_down. The run doubles a large token: the plain network with relu doubles its
result, and the gated one, being a product of two, makes it four times as large. Then it looks at the slopes: behind a
relu about half of the hidden numbers pass no gradient back, behind a gate each does. The third matrix is paid for with
width: with 2/3 of the hidden numbers both networks have the same number of weights.

Source: Shazeer 2020, "GLU Variants Improve Transformer", eq. 6 and section 3.
"""

import numpy as np

from blocks import FeedForward, SwiGLU
from demos.claims import holds
from minigrad import Tensor, find

D_MODEL = 12
D_FF = 4 * D_MODEL


def run():
    plain = FeedForward(D_MODEL, D_FF, bias=False, rng=0)
    gated = SwiGLU(D_MODEL, 2 * D_FF // 3, rng=0)
    sizes = [sum(parameter.size for parameter in network.parameters()) for network in (plain, gated)]
    holds(
        f"{sizes[0]:,} weights with a hidden width of {D_FF}, {sizes[1]:,} gated with {2 * D_FF // 3}",
        sizes[0] == sizes[1],
    )

    for network, name, expected in ((plain, "relu", 2), (gated, "gated", 4)):
        grown = growth(network)
        holds(f"{name}: twice the token makes {grown:.3f} times the result", abs(grown - expected) < 0.01)
    silent = shut(plain)
    holds(f"relu: {silent:.0%} of the hidden numbers pass no gradient back", 0.3 < silent < 0.7)
    silent = shut(gated)
    holds(f"gated: {silent:.0%} of them", silent == 0)


def growth(network, scale=100.0):
    """|f(2x)| / |f(x)| at a large token, where a gate is either open or shut."""
    x = scale * np.random.default_rng(0).normal(size=(1, D_MODEL))
    return np.linalg.norm(network(Tensor(2 * x)).data) / np.linalg.norm(network(Tensor(x)).data)


def shut(network):
    """The share of the first layer's results whose gradient is exactly 0."""
    x = Tensor(np.random.default_rng(0).normal(size=(8, D_MODEL)), requires_grad=True)
    loss = (network(x) ** 2).sum()
    loss.backward()
    return (find(loss, "up.matmul").grad == 0).mean()
