"""What the lesson claims about a Transformer block, one file for each claim: `python -m demos.claims` runs them.

A claim is a module: its docstring says what is claimed, and its `run()` prints the numbers that decide it, and raises
`RefutedError` where they do not agree.
"""

import numpy as np

from minigrad import Tensor

IN_READING_ORDER = (
    "parts_of_a_block",
    "tokens_talk",
    "feed_forward_alone",
    "same_shape",
    "norm_statistics",
    "residuals_carry",
    "two_residuals",
    "without_feed_forward",
    "norm_placement",
    "parameters",
    "gated",
)


class RefutedError(Exception):
    """The numbers do not agree with the claim."""


def holds(sentence, condition):
    """Print the sentence, which has the number in it, if the condition is true; else raise `RefutedError` with it."""
    if not condition:
        raise RefutedError(sentence)
    print(f"  {sentence}")


def token_pattern(function, n_tokens, d_model):
    """Which tokens of the result depend on which tokens of the input, of any function of a tensor (T, d_model).

    Returns:
        Booleans, (T, T): whether d out[i] / d in[j] is other than exactly 0, at a random input.
    """
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(n_tokens, d_model)), requires_grad=True)
    out = function(x)  # (T, d_model)
    pattern = np.zeros((n_tokens, n_tokens), dtype=bool)
    for i in range(n_tokens):
        grad_out = np.zeros(out.shape)
        grad_out[i] = rng.normal(size=d_model)
        x.zero_grad()
        out.backward(grad_out)
        pattern[i] = (x.grad != 0).any(axis=-1)
    return pattern


def print_patterns(patterns):
    """Patterns side by side, each under its title: `#` where token i (row) depends on token j (column)."""
    widths = [max(len(title), 2 * len(pattern)) for title, pattern in patterns.items()]
    print("  " + "   ".join(f"{title:{width}}" for title, width in zip(patterns, widths, strict=True)))
    for rows in zip(*patterns.values(), strict=True):
        cells = (" ".join("#" if depends else "." for depends in row) for row in rows)
        print("  " + "   ".join(f"{text:{width}}" for text, width in zip(cells, widths, strict=True)).rstrip())
