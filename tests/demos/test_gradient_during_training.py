"""The claims of demos/gradient_during_training.py about the first step, and what it prints."""

import pytest

from demos import gradient_during_training

pytestmark = pytest.mark.usefixtures("in_an_empty_folder")


def test_the_first_skip_has_next_to_nothing_because_the_embeddings_are_small():
    assert gradient_during_training.first_share(gradient_during_training.model_of("pre")) < 0.01
    assert gradient_during_training.first_share(gradient_during_training.model_of("pre", scale=50)) > 0.5
    assert gradient_during_training.first_share(gradient_during_training.model_of("post")) > 0.5


def test_the_gradient_during_training_prints_what_it_claims(capsys):
    gradient_during_training.main(["--steps", "6"])
    printed = capsys.readouterr().out
    for words in ("pre-norm, from the first step", "post-norm, from the first", "block 3, feed-forward", "fifty times"):
        assert words in printed
    steps, measured, losses = gradient_during_training.trained("pre", 5, every=2)
    assert steps.tolist() == [0, 2, 4] and measured.shape == (3, 8, 3) and len(losses) == 5
