"""Residuals carry the gradient through any depth: without them it vanishes.

With y = x + f(x) the gradient at x is dL/dy as it is, and what came through the branch besides. The run takes what came
over the skip out of the gradient at each of 48 residuals, and compares it with what arrived there. Then it compares
the gradient at the input of a stack with that at its output, by depth. Without residuals it is a product of slopes, and
each block takes about half of it. With residuals it even grows, and norms hold it back.

Source: He et al. 2016, "Identity Mappings in Deep Residual Networks", eq. 5.
"""

import numpy as np

from blocks import Stack, residual_gradients
from demos._charts import print_log_bars
from demos.claims import holds
from minigrad import Tensor

DEPTHS = (1, 6, 12, 24)
T, D_MODEL = 4, 16


def run():
    residuals, arriving = parted_and_arriving()
    holds(f"24 blocks have {len(residuals)} residuals", len(residuals) == 48)
    change = max(np.abs(r.skip - grad).max() for r, grad in zip(residuals, arriving, strict=True))
    holds(f"  and over each skip the gradient passes as it is: the largest difference is {change:.0e}", change < 1e-12)
    plain = bars("no residual, no norm", norm=None, residual=False)
    bare = bars("residuals, no norm", norm=None)
    normed = bars("residuals, pre-norm", norm="pre")
    factor = (plain[-1] / plain[0]) ** (1 / (DEPTHS[-1] - DEPTHS[0]))
    holds(f"without residuals {plain[-1]:.0e} is left after 24 blocks: a factor of {factor:.2f} each", plain[-1] < 1e-6)
    holds(f"with residuals it never falls: {min(bare):.1f} at least", min(bare) > 0.5)
    holds(f"  and norms keep it from growing: {normed[-1]:.1f} after 24 blocks, not {bare[-1]:.0e}", normed[-1] < 100)


def parted_and_arriving():
    """At each residual of 24 pre-norm blocks the two parts of the gradient, and what arrives there from above."""
    x, y, grad_y = passed(24, norm="pre")
    residuals = residual_gradients((y * grad_y).sum(), x)
    return residuals, [*(above.total for above in residuals[1:]), grad_y]


def bars(title, **options):
    """|dL/dx| / |dL/dy| at each depth, for a random direction in the output as the loss; printed as bars."""
    found = []
    for n_blocks in DEPTHS:
        x, y, grad_y = passed(n_blocks, **options)
        y.backward(grad_y, retain_grads=False)
        found.append(np.linalg.norm(x.grad) / np.linalg.norm(grad_y))
    print_log_bars(f"  {title}", [(L, size, f"{size:.0e}") for L, size in zip(DEPTHS, found, strict=True)], 1e-9, 1e9)
    return found


def passed(n_blocks, **options):
    """A random input, what a stack with random weights makes of it, and a random gradient there."""
    rng = np.random.default_rng(0)
    stack = Stack(n_blocks, D_MODEL, 2, 4 * D_MODEL, final_norm=False, rng=rng, **options)
    x = Tensor(rng.normal(size=(T, D_MODEL)), requires_grad=True)
    y = stack(x)
    return x, y, rng.normal(size=y.shape)
