"""A block needs two residuals, one around each sublayer; one around the whole block is something else.

The run wires one block both ways. With two residuals the gradient has four routes from the end of the block to its
start, and one of them leads into attention and past the feed-forward network. With one residual there are two routes,
and all that attention is told comes through the feed-forward network. In the second half that network is silent, its
last weights being 0: with one residual attention then learns nothing at all.
"""

import numpy as np

from blocks import TransformerBlock, gradient_paths
from demos.claims import holds
from minigrad import Module, Tensor, residual_add

T, D_MODEL = 6, 16
TITLES = {"two": "two residuals, around the sublayers", "one": "one residual, around the block"}


class OneResidualBlock(Module):
    """y = x + feed_forward(attention(x)): one residual around the whole block."""

    def __init__(self, block):
        self.block = block

    def forward(self, x):
        return residual_add(x, self.block(x), "block_residual")


def run():
    for wiring, n_routes in (("two", 4), ("one", 2)):
        routes, _ = passed(wiring)
        holds(f"{TITLES[wiring]}: {len(routes)} routes", len(routes) == n_routes)
        for route, part in routes.items():
            print(f"    {' '.join(route):14} {np.linalg.norm(part):8.3f}")
    print("  and with a silent feed-forward network:")
    _, told = passed("two", silent=True)
    holds(f"{TITLES['two']}: attention's output map gets a gradient of {told:.1f}", told > 1)
    _, told = passed("one", silent=True)
    holds(f"{TITLES['one']}: attention's output map gets a gradient of {told:.1f}", told == 0)


def passed(wiring, silent=False):
    """The gradient at x by route, and |dL/dW| of attention's output map."""
    rng = np.random.default_rng(0)
    block = TransformerBlock(D_MODEL, 2, 4 * D_MODEL, norm="pre", residual=wiring == "two", rng=rng)
    if silent:
        block.feed_forward.down.weight.data = np.zeros((4 * D_MODEL, D_MODEL))
    x = Tensor(rng.normal(size=(T, D_MODEL)), requires_grad=True)
    y = (OneResidualBlock(block) if wiring == "one" else block)(x)
    loss = (y * rng.normal(size=y.shape)).sum()
    loss.backward()
    return gradient_paths(loss, x), np.linalg.norm(block.attention.output.weight.grad)
