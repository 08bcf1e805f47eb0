"""What splitting the gradient costs, in plain backward passes: `python -m tests.benchmarks.path_tools`."""

import time

import numpy as np

from blocks import Stack, gradient_faults, gradient_paths, residual_gradients
from minigrad import Tensor
from tests.benchmarks.measuring import interleaved, median, ratio

DEPTHS = (1, 2, 3, 4, 6, 8, 12)
RESIDUALS_TARGET = 1.2


def main(seconds=0.5):
    print("Pre-norm stacks of L blocks, d_model 64, 4 heads, d_ff 256, 32 tokens, float64, in turn in one run.")
    print("Medians of the ratios to loss.backward(), quartiles in brackets.\n")
    print(f"{'L':>3} {'backward':>10}   {'residual_gradients':22} {'gradient_faults':22} by length             target")
    for n_blocks in DEPTHS:
        loss, x = loss_and_input(n_blocks)
        times = interleaved(
            {
                "backward": loss.backward,
                "residuals": lambda loss=loss, x=x: residual_gradients(loss, x),
                "faults": lambda loss=loss, x=x: gradient_faults(loss, x),
                "length": lambda loss=loss, x=x: gradient_paths(loss, x, by="length"),
            },
            seconds,
        )
        ratios = "".join(
            f"{in_brackets(*ratio(times, name, 'backward')):23}" for name in ("residuals", "faults", "length")
        )
        print(f"{n_blocks:3} {median(times['backward']) * 1e3:8.2f}ms   {ratios}{2 * n_blocks + 2}")
    print(f"\nTargets: residual_gradients {RESIDUALS_TARGET}; by length 2 L + 2.")

    loss, x = loss_and_input(48)
    start = time.perf_counter()
    parts = gradient_paths(loss, x, by="length")
    print(f"48 blocks, by length: {len(parts)} lengths in {time.perf_counter() - start:.1f} s.")


def in_brackets(middle, low, high):
    return f"{middle:.2f} [{low:.2f} {high:.2f}]"


def loss_and_input(n_blocks, d_model=64, n_tokens=32):
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(n_tokens, d_model)), requires_grad=True)
    y = Stack(n_blocks, d_model, 4, 4 * d_model, norm="pre", rng=rng)(x)
    return (y * rng.normal(size=y.shape)).sum(), x


if __name__ == "__main__":
    main()
