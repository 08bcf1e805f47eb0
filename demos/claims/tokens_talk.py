"""Attention is the only place where tokens talk: without it no token of a block depends on any other.

The run asks, for each pair of tokens, whether d out[i] / d in[j] is exactly 0 or not. With attention every token
depends on every other one, or, if it is causal, on those before it. Then attention's output map is set to 0, so that
attention says nothing: norms, residuals and the feed-forward network are still there, and only the diagonal is left.
Depth changes nothing about it.
"""

import numpy as np

from blocks import Stack
from demos.claims import holds, print_patterns, token_pattern

T, D_MODEL = 5, 8


def run():
    patterns = {
        "attention": token_pattern(stack(), T, D_MODEL),
        "causal attention": token_pattern(stack(causal=True), T, D_MODEL),
        "attention silenced": token_pattern(silenced(stack()), T, D_MODEL),
    }
    print_patterns(patterns)
    expected = (np.ones((T, T)), np.tri(T), np.eye(T))
    for (title, pattern), right in zip(patterns.items(), expected, strict=True):
        holds(
            f"{title}: {pattern.sum()} of {T * T} pairs depend on each other, and should be {right.sum():.0f}",
            (pattern == right).all(),
        )


def stack(causal=False):
    return Stack(3, D_MODEL, 2, 4 * D_MODEL, norm="pre", causal=causal, rng=0)


def silenced(stack):
    for block in stack.blocks:
        block.attention.output.weight.data = np.zeros((D_MODEL, D_MODEL))
    return stack
