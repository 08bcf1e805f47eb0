"""The feed-forward network acts on each position alone, with the same weights at every position.

The run asks which tokens of the result depend on which tokens that came in (only the diagonal does), and computes the
same tokens three times: together, one by one, and in another order. Each token comes out the same every time; attention
fails the second of these.
"""

import numpy as np

from blocks import FeedForward, MultiHeadAttention, SwiGLU
from demos.claims import holds, print_patterns, token_pattern
from minigrad import Tensor

T, D_MODEL = 5, 8


def run():
    sublayers = {
        "feed-forward": FeedForward(D_MODEL, 4 * D_MODEL, rng=0),
        "gated": SwiGLU(D_MODEL, 4 * D_MODEL, rng=0),
        "attention": MultiHeadAttention(D_MODEL, 2, rng=0),
    }
    patterns = {name: token_pattern(sublayer, T, D_MODEL) for name, sublayer in sublayers.items()}
    print_patterns(patterns)
    rng = np.random.default_rng(1)
    x, order = rng.normal(size=(T, D_MODEL)), rng.permutation(T)
    for name in ("feed-forward", "gated"):
        off_diagonal = patterns[name][~np.eye(T, dtype=bool)].sum()
        holds(f"{name}: {off_diagonal} tokens depend on another one", off_diagonal == 0)
        together, alone, reordered = outputs(sublayers[name], x, order)
        holds(
            f"  one by one it differs by {largest(together, alone):.0e}, in another order by "
            f"{largest(together[order], reordered):.0e}",
            max(largest(together, alone), largest(together[order], reordered)) < 1e-12,
        )
    together, alone, _ = outputs(sublayers["attention"], x, order)
    holds(f"attention: one by one it differs by {largest(together, alone):.1f}", largest(together, alone) > 0.1)


def outputs(sublayer, x, order):
    """Of all tokens together, one by one, and in another order; (T, d_model) each."""
    one_by_one = [sublayer(Tensor(x[i : i + 1])).data for i in range(len(x))]
    return sublayer(Tensor(x)).data, np.concatenate(one_by_one), sublayer(Tensor(x[order])).data


def largest(a, b):
    return np.abs(a - b).max()
