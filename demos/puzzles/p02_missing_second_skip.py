"""A block with one residual.

Symptom: A deep stack of these blocks learns slowly: the gradient at the input is tiny.
Difficulty: easy
Minutes: 5
Tool: residual_gradients (what came over each skip, and through each branch)
"""

import numpy as np

from blocks import FeedForward, LayerNorm, MultiHeadAttention, residual_gradients
from minigrad import Module, Tensor, residual_add


class Block(Module):
    """A pre-norm block: h = x + attention(norm(x)),   y = h + feed_forward(norm(h))."""

    def __init__(self, d_model, n_heads, rng):
        self.attention_norm = LayerNorm(d_model)
        self.attention = MultiHeadAttention(d_model, n_heads, rng=rng)
        self.feed_forward_norm = LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, 4 * d_model, rng=rng)

    def forward(self, x):
        h = residual_add(x, self.attention(self.attention_norm(x)), "attention_residual")
        # right
        return residual_add(h, self.feed_forward(self.feed_forward_norm(h)), "feed_forward_residual")
        # fault
        # return self.feed_forward(self.feed_forward_norm(h))
        # end


def look():
    x = Tensor(np.random.default_rng(0).normal(size=(5, 8)), requires_grad=True, name="x")
    y = x
    for n in range(3):
        y = Block(8, 2, n)(y)
    loss = (y**2).mean()
    loss.backward()
    print("norm of the gradient at x:", np.linalg.norm(x.grad).round(6))
    print(residual_gradients(loss, x))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "Three blocks have six sublayers. How many residuals does the table list?",
    "Each of the two sublayers has a residual of its own.",
    "What the feed-forward network returns has to be added to its input h.",
]
ANSWER = "The second residual was missing, so the whole gradient had to pass through every feed-forward network."
WRONG = [
    "return residual_add(x, self.feed_forward(self.feed_forward_norm(h)), 'feed_forward_residual')",
    "return residual_add(self.feed_forward_norm(h), self.feed_forward(self.feed_forward_norm(h)))",
    "return residual_add(h, self.feed_forward(h), 'feed_forward_residual')",
]
CLUE = "1 residual"


def judge(theirs, rng):
    seed = int(rng.integers(1000))
    x = rng.normal(size=(4, 8))
    must_agree("Block", theirs.Block(8, 2, seed), Block(8, 2, seed), x, rng=rng)


def clue(theirs):
    x = Tensor(np.random.default_rng(0).normal(size=(5, 8)), requires_grad=True)
    count = len(residual_gradients((theirs.Block(8, 2, 0)(x) ** 2).mean(), x))
    return f"{count} residual" + "s" * (count != 1)
