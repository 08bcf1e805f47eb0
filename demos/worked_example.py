"""The lesson's worked example: every number of its expected output, in its order.

What to look at: each array keeps the shape (3, 4), and after each norm every token has mean 0 and deviation 1. The
steps are written out here one by one; the last line checks that the block itself computes the same.
"""

import numpy as np

from blocks import lesson_block
from minigrad import residual_add


def main():
    block, x = lesson_block()
    print("Input X (embeddings + positional info):\n", x.data)

    attention_output = block.attention(x)  # (3, 4)
    show("Attention output:", attention_output)

    norm_1 = block.attention_norm(residual_add(x, attention_output))  # (3, 4)
    show("After residual + LayerNorm #1:", norm_1)
    show_statistics(norm_1)

    feed_forward_output = block.feed_forward(norm_1)  # (3, 4), through (3, 8)
    show("FFN output:", feed_forward_output)

    norm_2 = block.feed_forward_norm(residual_add(norm_1, feed_forward_output))  # (3, 4)
    show("After residual + LayerNorm #2 (Transformer block OUTPUT):", norm_2)
    show_statistics(norm_2)

    print("\nInput shape:", x.shape, "-> Output shape:", norm_2.shape, "(UNCHANGED)")
    assert np.array_equal(block(x).data, norm_2.data)


def show(title, tensor):
    print(f"\n{title}\n", np.round(tensor.data, 4))


def show_statistics(tensor):
    print("Per-token mean (should be ~0):", np.round(tensor.data.mean(axis=-1), 6))
    print("Per-token std (should be ~1):", np.round(tensor.data.std(axis=-1), 6))


if __name__ == "__main__":
    main()
