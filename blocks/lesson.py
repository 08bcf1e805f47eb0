"""The numbers of the lesson's worked example: three tokens of width 4, one head, a hidden layer of 8."""

import numpy as np

from blocks.transformer import TransformerBlock
from minigrad import Tensor


def lesson_block(norm: str | None = "post") -> tuple[TransformerBlock, Tensor]:
    """The lesson's block and its input, with the lesson's numbers.

    Every array is drawn and rounded as the lesson does it: seed 10, x first, then the four attention matrices and
    the two of the feed-forward network. Its biases are zeros, so they are left out. It adds 1e-8 to the deviation where
    eps stands under the root here; both are too small to show.

    Args:
        norm: "post" as in the lesson's code, "pre" as in its flowchart, or None.

    Returns:
        (block, x), where x has shape (3, 4) and requires_grad=True.

    >>> block, x = lesson_block()
    >>> block(x).data.round(4)
    array([[ 1.6756, -0.1978, -0.9137, -0.5641],
           [ 1.6443, -0.8359, -0.0362, -0.7722],
           [-0.4629, -1.3349,  0.4586,  1.3392]])
    """
    randn = np.random.RandomState(10).randn
    x = Tensor(np.round(randn(3, 4) * 0.5, 3), requires_grad=True, name="x")
    block = TransformerBlock(d_model=4, n_heads=1, d_ff=8, norm=norm, bias=False, eps=1e-9)
    attention, feed_forward = block.attention, block.feed_forward
    for linear in (
        attention.query,
        attention.key,
        attention.value,
        attention.output,
        feed_forward.up,
        feed_forward.down,
    ):
        linear.weight.data = np.round(randn(*linear.weight.shape) * 0.4, 2)
    return block, x
