"""Pre-norm or post-norm is a real choice: with depth the last gradient shrinks with the one, and not with the other.

The run builds stacks of L blocks. At initialization the gradient of the last feed-forward layer's weights goes like
L^p. The theorem says p = 0 with post-norm and p = -1/2 with pre-norm (as a bound). The reason is the norm after the
last block: what pre-norm blocks add up has a variance that grows with L, and the norm divides the gradient by its root.
So the deviation that the norm divides by is measured, too: its power is the same with the sign turned.

Each size is a mean over stacks with random weights; a power is fitted for each stack alone, which gives its standard
error. A power agrees if it is within 0.1 of the theorem's, and its error is small enough to tell 0 from -1/2.

Source: Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", theorem 1.
"""

import numpy as np

from blocks import Stack
from demos._charts import print_bars
from demos.claims import holds
from minigrad import Tensor, layer_norm, no_grad

DEPTHS = (2, 4, 8, 16)
SEEDS = 6
T, D_MODEL = 8, 32
THEOREM = {"post": 0.0, "pre": -0.5}


def run():
    for norm, expected in THEOREM.items():
        measured = np.array([sizes(norm, seed) for seed in range(SEEDS)])  # (seeds, depths, 2)
        means = measured[..., 0].mean(axis=0)
        print_bars(
            f"  {norm}-norm: |dL/dW| of the last feed-forward layer, by the number of blocks",
            [(L, mean, f"{mean:6.2f}") for L, mean in zip(DEPTHS, means, strict=True)],
        )
        power, error = fitted_power(measured[..., 0])
        divided_by, its_error = fitted_power(measured[..., 1])
        holds(
            f"{norm}-norm: the power of L is {power:+.2f} +- {error:.2f}, and {expected:+.1f} in the theorem",
            abs(power - expected) < 0.1 and error < 0.05,
        )
        holds(
            f"  that of the deviation which the last norm divides by is {divided_by:+.2f} +- {its_error:.2f}",
            abs(power + divided_by) < 0.1,
        )


def sizes(norm, seed):
    """At each depth |dL/dW| of the last block's down-projection, and the deviation that the last norm divides by.

    The shallower stacks are the first blocks of the deepest one, with a norm at the end, as pre-norm stacks have.
    """
    rng = np.random.default_rng(seed)
    found = []
    x = Tensor(rng.normal(size=(T, D_MODEL)))
    for L, block in enumerate(Stack(DEPTHS[-1], D_MODEL, 2, 4 * D_MODEL, norm=norm, rng=rng).blocks, start=1):
        if L in DEPTHS:
            y = layer_norm(block(x)) if norm == "pre" else block(x)
            grad_y = rng.normal(size=y.shape) / T**0.5
            y.backward(grad_y, retain_grads=False)
            found.append((np.linalg.norm(block.feed_forward.down.weight.grad), y.op.s.mean()))
        with no_grad():
            x = block(x)
    return found


def fitted_power(sizes):
    """The slope of log size over log L, fitted for each seed alone: the mean, and one standard error of it."""
    powers = np.polyfit(np.log(DEPTHS), np.log(sizes).T, 1)[0]  # (seeds,)
    return powers.mean(), powers.std(ddof=1) / len(powers) ** 0.5
