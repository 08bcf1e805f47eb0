"""The claims of demos/short_paths.py, as numbers, on the model that it trains."""

import numpy as np
import pytest

from demos import short_paths


@pytest.fixture(scope="module")
def trained():
    return short_paths.trained_model()


def test_the_model_has_learned_and_one_without_residuals_has_not(trained):
    _, loss = trained
    assert loss < 0.2
    _, plain_loss = short_paths.trained_model(n_steps=100, residual=False)
    assert plain_loss == pytest.approx(np.log(5), abs=0.15)


def test_most_of_the_gradient_is_on_short_paths(trained):
    model, _ = trained
    shares = short_paths.shares_of(short_paths.path_lengths(model))
    assert list(shares) == list(range(25))
    assert sum(shares.values()) == pytest.approx(1, abs=1e-9)
    assert short_paths.mean_length(shares) < 8  # 12 over all routes
    assert short_paths.length_of(shares, 0.9) <= 10
    assert max(abs(shares[length]) for length in range(13, 25)) < 0.05


def test_most_blocks_can_be_deleted(trained):
    model, _ = trained
    blocks = list(model.blocks)
    whole, without = short_paths.deletions(model)
    assert whole > 0.95
    assert len(without) == 12
    assert sum(right > 0.8 for right in without) >= 8
    assert without[0] < 0.6  # and some cannot be spared
    assert model.blocks == blocks


def test_it_prints_what_it_claims(capsys, monkeypatch, tmp_path):
    quick = short_paths.trained_model(n_blocks=2, n_steps=5)
    monkeypatch.setattr(short_paths, "trained_model", lambda residual=True: quick)
    short_paths.main(["--plot", str(tmp_path / "paths.png")])
    printed = capsys.readouterr().out
    for words in ("guessing is 1.61", "Mean length", "branches carry 90%", "blocks can be deleted"):
        assert words in printed
