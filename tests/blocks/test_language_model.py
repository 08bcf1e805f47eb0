"""Tokens in, probabilities out, and a model that learns."""

import json

import numpy as np
import pytest

from blocks import KeyValueCache, LanguageModel
from minigrad import cross_entropy, no_grad
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


ORDERS = [{"positions": "learned"}, {"positions": "sinusoidal"}, {"positions": "rotary", "n_kv_heads": 1}]


@pytest.mark.parametrize("options", ORDERS, ids=lambda options: options["positions"])
def test_no_score_depends_on_any_later_token(options):
    model = small(**options)
    tokens = np.array([1, 2, 3, 4, 5, 6])
    scores = model(tokens).data
    for place in range(1, 6):
        moved = tokens.copy()
        moved[place:] = (tokens[place:] + place) % 10
        np.testing.assert_array_equal(model(moved).data[:place], scores[:place])
        assert (model(moved).data[place] != scores[place]).all()


@pytest.mark.parametrize("options", ORDERS, ids=lambda options: options["positions"])
def test_a_padded_batch_gives_each_sequence_the_scores_it_has_alone(options):
    model = small(**options)
    sequences = [[1, 2, 3, 4, 5], [6, 7], [8]]
    tokens = np.array([[1, 2, 3, 4, 5], [0, 0, 0, 6, 7], [9, 9, 9, 9, 8]])
    key_mask = np.array([[1, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]) > 0
    position_ids = np.maximum(key_mask.cumsum(axis=-1) - 1, 0)
    scores = model(tokens, key_mask=key_mask, position_ids=position_ids).data
    for row, sequence in zip(scores, sequences, strict=True):
        np.testing.assert_allclose(row[-len(sequence) :], model(sequence).data, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", ORDERS, ids=lambda options: options["positions"])
def test_a_cache_changes_no_score(options):
    model = small(**options)
    tokens = np.array([[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]])
    cache = [KeyValueCache() for _ in model.blocks]
    with no_grad():
        parts = [model(tokens[:, start:stop], cache=cache).data for start, stop in ((0, 3), (3, 4), (4, 6))]
    np.testing.assert_allclose(np.concatenate(parts, axis=1), model(tokens).data, rtol=1e-12, atol=1e-14)


def test_the_config_builds_a_model_of_the_same_shapes():
    model = small(positions="rotary", norm_type="rms", activation="swiglu", n_kv_heads=1, tied=False, dtype=np.float32)
    twin = LanguageModel(**json.loads(json.dumps(model.config)))
    twin.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(twin([1, 2, 3]).data, model([1, 2, 3]).data)
    assert twin.tokens.weight.dtype == np.float32


def test_sml_a_tokens_that_are_no_sequence():
    model = small()
    with pytest.raises(ValueError, match=r"a sequence of integers, such as model\(\[3\]\); got one number"):
        model(3)
    with pytest.raises(ValueError, match="the sequences have different lengths"):
        model([[1, 2], [3]])
    for empty in ([], [[]]):
        with pytest.raises(ValueError, match="there are no tokens to read"):
            model(empty)


def test_position_ids_that_do_not_fit():
    model = small()
    with pytest.raises(IndexError, match="positions go from 0 to 7; got 0 to 8"):
        model([1, 2], position_ids=[0, 8])
    with pytest.raises(ValueError, match=r"position_ids have the shape of the tokens, \(2,\), or \(2,\); got \(3,\)"):
        model([1, 2], position_ids=[0, 1, 2])
    with pytest.raises(TypeError, match="position_ids are integers; got dtype float64"):
        model([1, 2], position_ids=[0.0, 1.0])


def test_options_that_do_not_exist():
    with pytest.raises(ValueError, match='positions is "learned", "sinusoidal", "rotary" or None; got \'alibi\''):
        small(positions="alibi")
    with pytest.raises(ValueError, match='norm_type is "layer" or "rms"; got \'batch\''):
        small(norm_type="batch")
    with pytest.raises(ValueError, match="a cache for each of the 2 blocks is needed; got 1"):
        small()([1], cache=[KeyValueCache()])
