"""Tokens in, probabilities out, and a model that learns."""

import numpy as np
import pytest

from blocks import LanguageModel
from minigrad import cross_entropy
from minigrad.optim import AdamW


def small(**options):
    return LanguageModel(vocab_size=10, max_length=8, n_blocks=2, d_model=8, n_heads=2, d_ff=16, rng=0, **options)


def test_probabilities_add_up_to_one():
    probabilities = small().probabilities([[1, 2, 3], [3, 2, 1]])
    assert probabilities.shape == (2, 3, 10)
    np.testing.assert_allclose(probabilities.data.sum(axis=-1), 1)


def test_no_place_sees_what_comes_after_it():
    model = small()
    one, two = model([1, 2, 3, 4]).data, model([1, 2, 9, 9]).data
    np.testing.assert_array_equal(one[:2], two[:2])
    assert not np.allclose(one[2:], two[2:])


def test_tied_matrix_is_one_parameter_and_gets_both_gradients():
    model = small()
    names = [name for name, _ in model.named_parameters()]
    assert names.count("tokens.weight") == 1
    assert "output.weight" not in names
    assert "output.weight" in [name for name, _ in small(tied=False).named_parameters()]
    cross_entropy(model([1, 2]), [2, 3]).backward()
    grad = model.tokens.weight.grad
    assert (np.abs(grad).sum(axis=1) > 0).all()  # scores read every row, the embedding only rows 1 and 2

    step = 1e-6
    for row in (1, 7):
        data = model.tokens.weight.data
        losses = []
        for offset in (-step, step):
            moved = data.copy()
            moved[row, 3] += offset
            model.tokens.weight.data = moved
            losses.append(cross_entropy(model([1, 2]), [2, 3]).item())
        model.tokens.weight.data = data
        assert grad[row, 3] == pytest.approx((losses[1] - losses[0]) / (2 * step), rel=1e-6, abs=1e-9)


def test_it_learns_two_sequences_by_heart():
    model = small()
    data = np.array([[1, 2, 3, 4, 5, 6, 7, 8], [2, 4, 6, 8, 1, 3, 5, 7]])
    optimizer = AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        loss = cross_entropy(model(data[:, :-1]), data[:, 1:])
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        optimizer.step()
    assert loss.item() < 0.05
    assert model([1, 2, 3]).data.argmax(axis=-1).tolist() == [2, 3, 4]


def test_too_long_a_sequence_and_a_token_out_of_range_are_named():
    model = small()
    with pytest.raises(ValueError, match="9 tokens, but there are only 8 positions"):
        model(np.ones(9, int))
    with pytest.raises(IndexError, match="0 to 9; got 10 to 10"):
        model([10])
    with pytest.raises(TypeError, match="integers"):
        model([1.5])
