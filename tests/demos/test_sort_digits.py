"""The parts of demos/sort_digits.py, and what it prints; its full run is in demos/README.md."""

import numpy as np
import pytest

from blocks import LanguageModel
from blocks.checkpoint import load_checkpoint
from demos import sort_digits

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_sorting_is_asked_for_the_sorted_digits_alone():
    tokens, targets = sort_digits.batch(50, np.random.default_rng(0))
    assert tokens.shape == targets.shape == (50, 16)
    assert (tokens[:, 8] == sort_digits.BAR).all() and (targets[:, :8] == -1).all()
    np.testing.assert_array_equal(targets[:, 8:], np.sort(tokens[:, :8], axis=1))
    np.testing.assert_array_equal(tokens[:, 9:], targets[:, 8:-1])


def test_sorting_prints_and_saves(capsys, tmp_path):
    sort_digits.main(["--steps", "30", "--seeds", "2"])
    printed = capsys.readouterr().out
    for words in ("seed 1:", "exactly right", "after step 30", "block 1, head 3", "next digit"):
        assert words in printed
    model = LanguageModel(**load_checkpoint(tmp_path / "sort_digits.npz").config)
    assert sort_digits.in_order(model, np.array([[1, 2, 3, 4, 5, 6, 7, 8]])).shape == (1, 8)
    rows = [line.split() for line in printed.splitlines() if line.startswith("block ")]
    for row in rows:  # the shares of a head are all of its attention, to the rounding of a percent
        assert sum(int(cell[:-1]) for cell in row[4:]) == pytest.approx(100, abs=2)


def test_a_model_that_sorts_counts_as_exact_and_one_that_does_not_as_none(monkeypatch):
    monkeypatch.setattr(sort_digits, "in_order", lambda model, digits: np.sort(digits, axis=1))
    assert sort_digits.exact(None) == 1
    monkeypatch.setattr(sort_digits, "in_order", lambda model, digits: np.sort(digits, axis=1)[:, ::-1])
    assert sort_digits.exact(None) < 0.01
