"""The claims of demos/missing_skip.py: the loss hides the fault, the report names it."""

import numpy as np
import pytest

from demos import missing_skip
from demos._pair_sums import all_sequences, loss_of
from demos.missing_skip import faults, model, training_losses


def test_the_loss_does_not_show_it_and_training_hides_it():
    right, mistaken = training_losses(2, False), training_losses(2, True)
    assert right[0] == mistaken[0]
    assert right[-1] < 0.15
    assert mistaken[-1] < 0.15  # it learns all the same
    assert right != mistaken


def test_the_weights_and_the_loss_are_the_same_and_the_gradients_are_not():
    right, mistaken = model(2, False), model(2, True)
    tokens, following = all_sequences()
    for each in (right, mistaken):
        loss_of(each(tokens), following).backward()
    for name, value in right.state_dict().items():
        np.testing.assert_array_equal(value, mistaken.state_dict()[name])
    first, last = right.blocks[0].attention.output.weight, right.blocks[1].feed_forward.down.weight
    assert not np.allclose(first.grad, mistaken.blocks[0].attention.output.weight.grad, rtol=0.1)
    np.testing.assert_array_equal(last.grad, mistaken.blocks[1].feed_forward.down.weight.grad)


@pytest.mark.parametrize("n_blocks", [1, 2, 4])
def test_the_report_names_each_missing_skip_and_nothing_else(n_blocks):
    assert faults(model(n_blocks, False)) == []
    found = faults(model(n_blocks, True))
    assert [(fault.kind, fault.where) for fault in found] == [
        ("missing skip", f"blocks.{i}.feed_forward_residual") for i in range(n_blocks)
    ]
    assert "MistakenAdd.backward" in found[0].text
    assert "missing_skip.py:" in found[0].text


def test_it_prints_what_it_claims(capsys, monkeypatch):
    monkeypatch.setattr(missing_skip, "training_losses", lambda n_blocks, mistaken: [1.0] * 200)
    missing_skip.main()
    printed = capsys.readouterr().out
    assert "Nothing odd" in printed
    assert "2 odd things about the gradient" in printed
