"""What demos/trace_one_call.py prints, and that its gradient is the slope."""

import numpy as np
import pytest

from blocks import residual_gradients
from blocks.data import CharTokenizer
from demos import trace_one_call
from minigrad import find, log_softmax

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_one_call_is_traced_there_and_back(capsys):
    trace_one_call.main(["--steps", "5", "--sentence", "the cat"])
    printed = capsys.readouterr().out
    for words in (
        "(7, 24)",
        "(2, 7, 7)",
        "block 1  feed-forward, its end",
        "The next letter is",
        "6 't'",
        "skip share",
    ):
        assert words in printed


def test_the_gradient_that_is_traced_is_the_slope_of_the_probability():
    """By residual and by letter: the gradient at the embeddings predicts what a small step does to ln p."""
    tokenizer = CharTokenizer("".join(trace_one_call.LINES))
    model = trace_one_call.trained(tokenizer, 24, 3)
    tokens = tokenizer.encode("the cat")
    log_p = log_softmax(model(tokens))[-1, 4]
    log_p.backward()
    embedded = find(log_p, "add")
    np.testing.assert_allclose(residual_gradients(log_p)[0].total, embedded.grad, rtol=1e-10, atol=1e-14)
    step = 1e-6
    row = model.positions.weight.data.copy()
    row[3, 5] += step
    model.positions.weight.data = row
    slope = (log_softmax(model(tokens))[-1, 4].item() - log_p.item()) / step
    assert embedded.grad[3, 5] == pytest.approx(slope, rel=1e-4, abs=1e-8)
