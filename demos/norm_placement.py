"""With depth the last feed-forward gradient keeps its size after post-norm, and shrinks after pre-norm.

Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", theorem 1. At initialisation, for L
blocks, the gradient of the last feed-forward layer's weights is bounded by a size that does not depend on L with
post-norm, and by one that shrinks like 1 / sqrt(L) with pre-norm. The reason is the norm after the last block: what
pre-norm blocks add up has a variance that grows with L, and the norm divides the gradient by its root.

What to look at: the fitted slopes, that is the power p in |gradient| ~ L^p. The theorem says 0 and -1/2. Each size is a
mean over seeds, each error one standard error of it; a slope agrees if it is no more than two of its errors away. The
other slope is that of the deviation that the last norm divides by: it should be the same with the sign turned, and it
is. It also tells what many seeds show, that the pre-norm slope at these depths is nearer to -0.52 than to -0.50: the
theorem bounds the gradient from above, and the variance grows a little faster than L. The pre-norm stack has its final
norm, as in the paper; without that norm its gradient does not shrink.
"""

import argparse
from typing import NamedTuple

import numpy as np

from blocks import Stack
from demos._charts import plot_by_depth, print_bars, save_plot
from minigrad import Tensor

DEPTHS = (2, 4, 8, 16, 32)
THEOREM = {"post": 0.0, "pre": -0.5}


class Slope(NamedTuple):
    """The power p in |gradient| ~ L^p, with its standard error."""

    value: float
    error: float

    def __str__(self):
        return f"{self.value:+.3f} +- {self.error:.3f}"

    def agrees_with(self, expected):
        return abs(self.value - expected) <= 2 * self.error


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The last feed-forward gradient at initialisation, by depth.")
    parser.add_argument("--seeds", type=int, default=20, help="how many stacks of each depth to average over")
    parser.add_argument("--plot", default="norm_placement.png", help="the file to plot to")
    options = parser.parse_args(arguments)

    curves = []
    for norm, expected in THEOREM.items():
        gradients, deviations = measure(norm, DEPTHS, options.seeds)  # (seeds, depths)
        means, errors = gradients.mean(axis=0), standard_error(gradients)
        curves.append((f"{norm}-norm", DEPTHS, means, errors))
        slope, divided_by = fitted_slope(DEPTHS, gradients), fitted_slope(DEPTHS, deviations)
        verdict = "agrees" if slope.agrees_with(expected) else "does NOT agree"
        bars = [(L, m, f"{m:6.2f} +- {e:.2f}") for L, m, e in zip(DEPTHS, means, errors, strict=True)]
        print_bars(f"{norm}-norm: |dL/dW| of the last feed-forward layer, by the number of blocks", bars)
        print(f"  slope {slope}; the theorem says {expected:+.1f}: {verdict}")
        print(f"  slope of the deviation that the last norm divides by: {divided_by}\n")
    save_plot(
        plot_by_depth,
        options.plot,
        "Gradient of the last feed-forward layer at initialisation",
        "gradient norm |dL/dW|\n(loss per unit of W)",
        "Each point is a mean over stacks with random weights, with one standard error.\n"
        "After post-norm the gradient keeps its size; after pre-norm it shrinks like one over the root of the depth.",
        curves,
    )


def measure(norm, depths, n_seeds, d_model=32, n_tokens=16):
    """At initialisation, with a random direction in the output as the loss.

    Returns:
        |dL/dW| of the last block's down-projection, and the mean deviation that the last norm divides by; both
        (n_seeds, depths).
    """
    gradients, deviations = np.zeros((2, n_seeds, len(depths)))
    for seed, i in np.ndindex(gradients.shape):
        rng = np.random.default_rng([seed, depths[i]])
        stack = Stack(depths[i], d_model, 4, 4 * d_model, norm=norm, rng=rng)
        y = stack(Tensor(rng.normal(size=(n_tokens, d_model))))
        loss = (y * rng.normal(size=y.shape)).sum() / n_tokens**0.5
        loss.backward(retain_grads=False)
        gradients[seed, i] = np.linalg.norm(stack.blocks[-1].feed_forward.down.weight.grad)
        deviations[seed, i] = y.op.s.mean()
    return gradients, deviations


def standard_error(samples):
    """Of the mean over the first axis."""
    return samples.std(axis=0, ddof=1) / len(samples) ** 0.5


def fitted_slope(depths, sizes):
    """A straight line through log |gradient| over log L, fitted for each seed alone: the mean slope, and its error."""
    slopes = np.polyfit(np.log(depths), np.log(sizes).T, 1)[0]  # (seeds,)
    return Slope(float(slopes.mean()), float(standard_error(slopes)))


if __name__ == "__main__":
    main()
