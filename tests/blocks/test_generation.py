"""Generation: the cache changes nothing, batches are as their prompts alone, and tokens are drawn as asked."""

import inspect

import numpy as np
import pytest

from blocks import LanguageModel
from blocks.generation import Reader, padded, sample
from minigrad import Tensor, no_grad

ORDERS = [{"positions": "learned"}, {"positions": "sinusoidal"}, {"positions": "rotary", "n_kv_heads": 1}]
each_order = pytest.mark.parametrize("options", ORDERS, ids=lambda options: options["positions"])


def small(**options):
    model = LanguageModel(vocab_size=12, max_length=8, n_blocks=2, d_model=8, n_heads=2, d_ff=16, rng=0, **options)
    rng = np.random.default_rng(1)
    for parameter in model.parameters():  # far from uniform probabilities
        parameter.data = (parameter.data + 0.3 * rng.normal(size=parameter.shape)).astype(parameter.dtype)
    return model


def by_hand(model, prompt, n):
    """Greedy, read anew for each token, the last max_length of them."""
    tokens = list(prompt)
    for _ in range(n):
        tokens.append(int(model(tokens[-model.max_length :]).data[-1].argmax()))
    return tokens[len(prompt) :]


@each_order
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cache", [True, False])
def test_greedy_also_past_the_window(options, dtype, cache):
    model = small(dtype=dtype, **options)
    got = list(model.generate([1, 2, 3], 12, temperature=0, cache=cache))
    assert got == by_hand(model, [1, 2, 3], 12)
    assert all(type(token) is int for token in got)
    long = list(range(11))
    assert list(model.generate(long, 3, temperature=0, cache=cache)) == by_hand(model, long, 3)


@each_order
def test_scores_with_and_without_the_cache(options):
    model = small(**options)
    tokens, is_real = padded([np.arange(12) % 12, np.array([5, 3, 2, 1])])
    for n in range(1, 6):  # the second prompt begins within the window, then leaves it
        readers = Reader(model, True), Reader(model, False)
        for stop in range(12 - n, 13):
            with_cache, without = (reader.next_scores(tokens[:, :stop], is_real[:, :stop]) for reader in readers)
            np.testing.assert_allclose(with_cache[0], without[0], rtol=1e-12, atol=1e-12)
            if stop > 8:
                np.testing.assert_allclose(with_cache[1], without[1], rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(without[1], model(tokens[1, 8:stop]).data[-1], rtol=1e-12, atol=1e-12)


@each_order
@pytest.mark.parametrize("cache", [True, False])
def test_a_batch_of_prompts_is_as_each_alone(options, cache):
    model = small(**options)
    prompts = [[1, 2, 3, 4, 5], [6], [7, 8, 9]]
    steps = list(model.generate(prompts, 11, temperature=0, cache=cache))
    assert all(step.shape == (3,) for step in steps)
    for prompt, got in zip(prompts, np.transpose(steps).tolist(), strict=True):
        assert got == by_hand(model, prompt, 11)
    assert next(model.generate([[1, 2]], 1)).shape == (1,)
    array = np.array([[1, 2], [3, 4]])
    assert next(model.generate(array, 1, rng=0)).tolist() == next(model.generate(Tensor(array), 1, rng=0)).tolist()


def test_tokens_come_one_by_one_and_nothing_is_left_switched():
    model = small(dropout=0.5)
    model.blocks[0].eval()
    tokens = model.generate([1], 5, rng=0)
    assert inspect.isgenerator(tokens)
    first = next(tokens)
    assert model.training and model.dropout.training and not model.blocks[0].dropout.training
    assert (Tensor(1.0, requires_grad=True) * 2).requires_grad
    twin = small().eval()
    assert [first, *tokens] == list(twin.generate([1], 5, rng=0))
    assert model.tokens.weight.grad is None


def test_stop():
    model = small()
    whole = list(model.generate([1, 2], 20, rng=3))
    token = whole[4]
    assert list(model.generate([1, 2], 20, rng=3, stop=token)) == whole[: whole.index(token) + 1]
    two = {whole[2], whole[6]}
    first = min(whole.index(each) for each in two)
    assert list(model.generate([1, 2], 20, rng=3, stop=two)) == whole[: first + 1]

    rows = np.transpose(list(model.generate([[1], [2]], 20, temperature=0)))
    stop = int(rows[0, 0])
    stopped = np.transpose(list(model.generate([[1], [2]], 20, temperature=0, stop=stop)))
    assert (stopped[0] == stop).all()
    n = stopped.shape[1]
    assert stopped[1].tolist() == rows[1, :n].tolist() and (n == 20 or stopped[1, -1] == stop)


def test_sampling_follows_the_probabilities():
    rng = np.random.default_rng(0)
    p = np.array([0.5, 0.3, 0.15, 0.05])
    scores = np.tile(np.log(p), (40_000, 1))

    def frequencies(**options):
        return np.bincount(sample(scores, rng=rng, **options), minlength=4) / len(scores)

    for options, expected in (
        ({}, p),
        ({"temperature": 0.5}, p**2 / (p**2).sum()),
        ({"top_k": 2}, np.array([5, 3, 0, 0]) / 8),
        ({"top_k": 9}, p),
        ({"top_p": 0.79}, np.array([5, 3, 0, 0]) / 8),
        ({"top_p": 0.81}, np.array([50, 30, 15, 0]) / 95),
        ({"top_p": 0.01}, np.array([1, 0, 0, 0])),
        ({"top_k": 3, "top_p": 0.6}, np.array([5, 3, 0, 0]) / 8),
        ({"temperature": 0}, np.array([1, 0, 0, 0])),
    ):
        np.testing.assert_allclose(frequencies(**options), expected, atol=0.012)
        assert (frequencies(**options)[expected == 0] == 0).all()


def test_one_seed_one_text():
    model = small()
    assert list(model.generate([1], 9, rng=5)) == list(model.generate([1], 9, rng=5))
    assert list(model.generate([1], 9, rng=5)) != list(model.generate([1], 9, rng=6))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([], 3), ValueError, "there are no tokens to read"),
        (([[1], []], 3), ValueError, "there are no tokens to read"),
        ((3, 3), ValueError, "a sequence of integers"),
        (([[[1]]], 3), ValueError, r"a prompt is a sequence of integers; got one of shape \(1, 1\)"),
        (([1], -1), ValueError, "max_new_tokens is a whole number, 0 or more; got -1"),
        (([1], 1.5), ValueError, "max_new_tokens is a whole number, 0 or more; got 1.5"),
        (([1], 3, {"temperature": -1}), ValueError, "temperature is 0 or larger; got -1"),
        (([1], 3, {"temperature": np.nan}), ValueError, "temperature is 0 or larger; got nan"),
        (([1], 3, {"top_k": 0}), ValueError, "top_k is a number of tokens, 1 or more; got 0"),
        (([1], 3, {"top_p": 0.0}), ValueError, "top_p is a probability, above 0 and at most 1; got 0"),
    ],
)
def test_bad_input_is_refused_before_the_first_token(arguments, error, words):
    tokens, n, *options = arguments
    with pytest.raises(error, match=words):
        small().generate(tokens, n, **(options[0] if options else {}))


def test_tokens_that_the_model_does_not_know():
    with pytest.raises(IndexError, match="0 to 11; got 12 to 12"):
        next(small().generate([12], 1))
    with pytest.raises(TypeError, match="integers"):
        next(small().generate([1.5], 1))


def test_no_new_tokens():
    with no_grad():
        assert list(small().generate([1], 0)) == []
