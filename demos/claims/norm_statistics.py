"""Right after a norm each token has mean 0 and deviation 1; where it has not, look for a wrong axis or a wrong eps.

The run normalizes tokens of deviation 3, 1 and 0.02 (an embedding at the start of training), and a constant one, with
the norm as it should be and with the mistakes that are made most. Normalized over the tokens instead of within each,
every statistic is off. With an eps that is too large only small tokens show it, so look at those. With an eps beside
the root instead of inside the statistics are right, and the fault is in the gradient: the root of 0 has an infinite
slope, so a constant token's gradient is NaN.

Source: Ba, Kiros, Hinton 2016, eq. 3.
"""

import numpy as np

from demos.claims import holds
from minigrad import Tensor, layer_norm, sqrt

DEVIATIONS = (3.0, 1.0, 0.02, 0.0)
D_MODEL = 64


def run():
    print(
        "  deviation of the token      " + "".join(f"{deviation:>10}" for deviation in DEVIATIONS) + "   largest mean"
    )
    right = statistics("right", layer_norm)
    wrong_axis = statistics("over the wrong axis", over_the_tokens)
    large_eps = statistics("eps = 0.1", with_large_eps)
    beside = statistics("eps beside the root", with_eps_beside_the_root)

    means, deviations, _ = right
    holds(f"right: every mean is 0 up to {abs(means).max():.0e}", abs(means).max() < 1e-12)
    holds(
        f"  and every deviation of 1 or more becomes {deviations[:2].min():.4f}", abs(deviations[:2] - 1).max() < 1e-4
    )
    holds(f"  a deviation of 0.02 becomes {deviations[2]:.3f}, since eps is 1e-5", 0.97 < deviations[2] < 1)
    means, deviations, _ = wrong_axis
    holds(f"over the wrong axis: a mean of {abs(means).max():.2f}", abs(means).max() > 0.1)
    holds(f"  and deviations that still differ, from {deviations.min():.2f} on", deviations.min() < 0.9)
    _, deviations, _ = large_eps
    holds(f"eps = 0.1: a deviation of 1 becomes {deviations[1]:.2f}, which hides it", deviations[1] > 0.9)
    holds(f"  and one of 0.02 becomes {deviations[2]:.2f}, which shows it", deviations[2] < 0.1)
    holds(f"eps beside the root: a constant token's gradient is {beside[2]}, not {right[2]:.0f}", np.isnan(beside[2]))
    holds("  while the gradient of the right norm is finite", np.isfinite(right[2]))


def statistics(title, norm):
    """Each token's mean and deviation behind the norm, (T,) each, and the size of the constant token's gradient."""
    rng = np.random.default_rng(0)
    tokens = rng.normal(size=(len(DEVIATIONS), D_MODEL))
    tokens = (tokens - tokens.mean(axis=-1, keepdims=True)) / tokens.std(axis=-1, keepdims=True)
    x = Tensor(0.5 + np.array(DEVIATIONS)[:, None] * tokens, requires_grad=True)  # (T, d)
    y = norm(x)
    grad_y = np.zeros(y.shape)
    grad_y[-1] = np.eye(D_MODEL)[0]  # of the constant token's first number
    with np.errstate(divide="ignore", invalid="ignore"):  # of the root of 0, the mistake that is to be seen
        y.backward(grad_y)
    means, deviations = y.data.mean(axis=-1), y.data.std(axis=-1)
    print(f"  {title:28}" + "".join(f"{deviation:>10.4f}" for deviation in deviations) + f"{abs(means).max():>15.0e}")
    return means, deviations, np.linalg.norm(x.grad[-1])


def over_the_tokens(x):
    return layer_norm(x.T).T


def with_large_eps(x):
    return layer_norm(x, eps=0.1)


def with_eps_beside_the_root(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / (sqrt((centred * centred).mean(axis=-1, keepdims=True)) + 1e-8)
