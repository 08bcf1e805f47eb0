"""The parts of demos/train_on_python_docs.py, and a short run; its full run is in demos/README.md."""

import numpy as np
import pytest

from blocks.checkpoint import load_checkpoint
from blocks.data import CharTokenizer, split_held_out
from demos import train_on_python_docs

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_ngrams_count():
    """By hand: the last token of 0 0 1 0 0 1 | 0; after 1 there was one 0, after 0 1 too, and two tokens in all."""
    learned, held_out = np.array([0, 0, 1, 0, 0, 1]), np.array([0])
    assert train_on_python_docs.ngram_loss(learned, held_out, 1, 2) == pytest.approx(-np.log(4.1 / 6.2))
    assert train_on_python_docs.ngram_loss(learned, held_out, 2, 2) == pytest.approx(-np.log(1.1 / 1.2))
    assert train_on_python_docs.ngram_loss(learned, held_out, 3, 2) == pytest.approx(-np.log(1.1 / 1.2))
    assert train_on_python_docs.ngram_loss(learned, held_out, 4, 2) == pytest.approx(-np.log(1.1 / 1.2))


def test_the_docs_are_learned_saved_and_gone_on_with(capsys, monkeypatch):
    monkeypatch.setattr(train_on_python_docs, "text_of_the_docs", lambda: "The cat sat on the mat. " * 40)
    small = {"n_blocks": 1, "d_model": 16, "n_heads": 2, "d_ff": 32}
    monkeypatch.setattr(train_on_python_docs, "CONFIG", train_on_python_docs.CONFIG | small)
    train_on_python_docs.main(["--steps", "6", "--checkpoint", "whole.npz"])
    printed = capsys.readouterr().out
    for words in ("held out", "4-gram", "model", "after step 6 of 6", "writes after 'The '"):
        assert words in printed

    class Stopped(train_on_python_docs.Progress):
        def show(self, loss, n_tokens):
            super().show(loss, n_tokens)
            if self.done == 2:
                self.interrupt()  # as Ctrl-C does, in the third step

    with monkeypatch.context() as patch:
        patch.setattr(train_on_python_docs, "Progress", Stopped)
        train_on_python_docs.main(["--steps", "6", "--checkpoint", "part.npz"])
    assert "after step 3 of 6" in capsys.readouterr().out
    train_on_python_docs.main(["--steps", "6", "--checkpoint", "part.npz", "--resume"])
    whole, part = load_checkpoint("whole.npz"), load_checkpoint("part.npz")
    for name, weights in whole.weights.items():
        np.testing.assert_array_equal(weights, part.weights[name], err_msg=name)


def test_the_text_inside_python_is_what_the_demo_says():
    text = train_on_python_docs.text_of_the_docs()
    assert len(text) > 300_000
    learned, held_out = split_held_out(CharTokenizer(text).encode(text)[:50_000])
    losses = [train_on_python_docs.ngram_loss(learned, held_out, n, len(set(text))) for n in (1, 2, 3)]
    assert losses[0] > losses[1] > losses[2] > 1
