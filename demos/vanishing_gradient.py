"""Without residuals the gradient vanishes with depth, and one residual around a block is not two around its sublayers.

Source: He et al. 2016, "Identity Mappings in Deep Residual Networks", eq. 5: behind n residuals dL/dx is dL/dy plus
what came through the branches, so depth alone does not make it vanish. Without residuals it is a product of n slopes.

What to look at: in the first table each block without a residual takes half of the gradient, and after 24 blocks
nothing is left. With residuals it does not vanish; without norms it grows instead, and norms hold it back. Below it,
one residual goes around the whole block: the gradient has two routes, not four, and all that attention is told comes
through the feed-forward network. If that is silent (here its last weights are 0), attention learns nothing.
"""

import argparse

import numpy as np

from blocks import Stack, TransformerBlock, gradient_paths
from demos._charts import plot_by_depth, print_log_bars, save_plot
from minigrad import Module, Tensor, residual_add

DEPTHS = (1, 2, 4, 8, 16, 24)
WIRINGS = {
    ("none", None): "no residual, no norm",
    ("one", None): "one residual around the block, no norm",
    ("two", None): "two around its sublayers, no norm",
    ("two", "pre"): "two around its sublayers, pre-norm",
}


class OneResidualBlock(Module):
    """y = x + feed_forward(attention(x)): one residual around the whole block."""

    def __init__(self, block):
        self.block = block

    def forward(self, x):
        return residual_add(x, self.block(x), "block_residual")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The gradient's size at the input, with and without residuals.")
    parser.add_argument("--seeds", type=int, default=5, help="how many stacks of each depth to average over")
    parser.add_argument("--plot", default="vanishing_gradient.png", help="the file to plot to")
    options = parser.parse_args(arguments)

    print("|dL/dx| / |dL/dy| of a stack, by the number of blocks (bars on a logarithmic scale)\n")
    curves = []
    for (wiring, norm), title in WIRINGS.items():
        logs = np.log10(sizes(wiring, norm, DEPTHS, options.seeds))  # (seeds, depths)
        means = 10 ** logs.mean(axis=0)
        curves.append((title, DEPTHS, means, None))
        factor = (means[-1] / means[0]) ** (1 / (DEPTHS[-1] - DEPTHS[0]))
        print_log_bars(title, [(L, mean, f"{mean:.1e}") for L, mean in zip(DEPTHS, means, strict=True)], 1e-8, 1e8)
        print(f"  a factor of {factor:.2f} for each block\n")

    print("One block whose feed-forward network is silent")
    for wiring, title in (("one", "one residual around the block"), ("two", "two around its sublayers")):
        routes, gradient = silent_feed_forward(wiring)
        print(f"  {title:29}  {routes} routes, |dL/dW| of attention's output map {gradient:.3g}")
    save_plot(
        plot_by_depth,
        options.plot,
        "Gradient at the input of a stack at initialisation",
        "gradient norm at the input\nover that at the output",
        "Each point is a geometric mean over stacks with random weights.\n"
        "Without residuals the gradient vanishes; with them it grows, unless norms hold it.",
        curves,
    )


def wired(wiring, norm, n_blocks, rng, d_model=16):
    """The blocks of a stack, wired up with no residual, one or two."""
    stack = Stack(n_blocks, d_model, 4, 4 * d_model, norm=norm, residual=wiring == "two", rng=rng)
    return [OneResidualBlock(block) for block in stack.blocks] if wiring == "one" else stack.blocks


def sizes(wiring, norm, depths, n_seeds, d_model=16, n_tokens=8):
    """|dL/dx| / |dL/dy| for a random direction in the output as the loss; (n_seeds, depths)."""
    found = np.zeros((n_seeds, len(depths)))
    for seed, i in np.ndindex(found.shape):
        rng = np.random.default_rng([seed, depths[i]])
        y = x = Tensor(rng.normal(size=(n_tokens, d_model)), requires_grad=True)
        for block in wired(wiring, norm, depths[i], rng, d_model):
            y = block(y)
        grad_y = rng.normal(size=y.shape)
        y.backward(grad_y)
        found[seed, i] = np.linalg.norm(x.grad) / np.linalg.norm(grad_y)
    return found


def silent_feed_forward(wiring, seed=0):
    """For one block whose feed-forward network gives 0: the number of routes, and |dL/dW| of attention's output map."""
    rng = np.random.default_rng(seed)
    block = TransformerBlock(16, 4, 64, norm="pre", residual=wiring == "two", rng=rng)
    block.feed_forward.down.weight.data = np.zeros((64, 16))
    x = Tensor(rng.normal(size=(8, 16)), requires_grad=True)
    y = (OneResidualBlock(block) if wiring == "one" else block)(x)
    loss = (y * rng.normal(size=y.shape)).sum()
    loss.backward()
    return len(gradient_paths(loss, x)), float(np.linalg.norm(block.attention.output.weight.grad))


if __name__ == "__main__":
    main()
