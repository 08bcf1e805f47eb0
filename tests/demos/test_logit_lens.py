"""The claims of demos/logit_lens.py: the answer comes up on the way, and the gradient asks for what the loss wants."""

import numpy as np

from blocks import gradient_lens, logit_lens
from demos import _sorting
from demos import logit_lens as demo
from demos.residual_stream import TOKENS
from minigrad import cross_entropy


def test_the_answer_is_not_there_at_the_start(sorting_model):
    lens = logit_lens(sorting_model, TOKENS)
    assert lens.top(1)[-1][0][0] == 1
    assert 0 < demo.answer_from(lens) < len(lens.names)
    np.testing.assert_array_equal(lens.logits[-1], sorting_model(TOKENS).data)


def test_the_gradient_asks_for_the_digit_that_the_loss_wants(sorting_model):
    wish = gradient_lens(sorting_model, TOKENS, lambda scores: cross_entropy(scores[-1], demo.WISHED))
    assert wish.top(1)[-1][0][0] == demo.WISHED
    assert all(top[0][1] > 0 for top in wish.top(1))


def test_it_prints_its_tables(sorting_model, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(_sorting, "trained_model", lambda: sorting_model)
    demo.main(["--plot", str(tmp_path / "lens.png")])
    printed = capsys.readouterr().out
    assert printed.count("embeddings") == 3
    assert "bit for bit: True" in printed
