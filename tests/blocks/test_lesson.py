"""The lesson's worked example, to the four decimals that it prints."""

import numpy as np
import pytest

from blocks import lesson_block
from minigrad import Tensor

X = [[0.666, 0.358, -0.773, -0.004], [0.311, -0.36, 0.133, 0.054], [0.002, -0.087, 0.217, 0.602]]
ATTENTION = [[0.0025, -0.0263, 0.0496, -0.0689], [0.0042, -0.0223, 0.0435, -0.0615], [0.0045, -0.0213, 0.0419, -0.0598]]
NORM_1 = [[1.1912, 0.5414, -1.4936, -0.239], [1.1068, -1.5577, 0.5769, -0.126], [-0.6725, -1.1314, 0.3359, 1.4679]]
FEED_FORWARD = [[1.9638, 0.1528, 1.2474, 0.4519], [3.1725, 0.1888, -0.1246, -1.0979], [0.2807, -0.3287, 0.4014, 0.3484]]
NORM_2 = [[1.6756, -0.1978, -0.9137, -0.5641], [1.6443, -0.8359, -0.0362, -0.7722], [-0.4629, -1.3349, 0.4586, 1.3392]]


def test_every_printed_number():
    block, x = lesson_block()
    attention = block.attention(x)
    norm_1 = block.attention_norm(x + attention)
    feed_forward = block.feed_forward(norm_1)
    norm_2 = block.feed_forward_norm(norm_1 + feed_forward)
    steps = zip((x, attention, norm_1, feed_forward, norm_2), (X, ATTENTION, NORM_1, FEED_FORWARD, NORM_2), strict=True)
    for got, printed in steps:
        np.testing.assert_array_equal(np.round(got.data, 4) + 0.0, printed)
    np.testing.assert_array_equal(block(x).data, norm_2.data)


@pytest.mark.parametrize("norm", ["post", "pre", None])
def test_variants_have_the_same_numbers(norm):
    block, x = lesson_block(norm)
    assert block.norm == norm and x.requires_grad and x.name == "x"
    post, _ = lesson_block()
    assert (block.attention.output.weight.data == post.attention.output.weight.data).all()
    assert block(x).shape == (3, 4)


def test_drawing_the_numbers_leaves_numpys_global_generator_alone():
    np.random.seed(7)
    before = np.random.get_state()[1].copy()
    lesson_block()
    assert (np.random.get_state()[1] == before).all()


def test_batches_of_the_lesson():
    block, x = lesson_block()
    y = block(Tensor(np.stack([x.data, 2 * x.data])))
    np.testing.assert_allclose(y.data[0], block(x).data, rtol=1e-12)
