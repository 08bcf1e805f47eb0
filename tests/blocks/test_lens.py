"""The lenses: the last depth is the model itself, and each depth is what a model that ended there would say."""

import numpy as np
import pytest

from blocks import LanguageModel, gradient_lens, logit_lens
from blocks.data import CharTokenizer
from minigrad import Tensor, cross_entropy, layer_norm, no_grad

TOKENS, FOLLOWING = [1, 5, 2, 7], [5, 2, 7, 3]
SIZES = {"vocab_size": 11, "max_length": 8, "d_model": 16, "n_heads": 2, "d_ff": 32}


def model_with(n_blocks=3, **options):
    model = LanguageModel(**SIZES, n_blocks=n_blocks, rng=0, **options)
    rng = np.random.default_rng(1)
    for parameter in model.parameters():
        parameter.data = parameter.data + (0.3 * rng.normal(size=parameter.shape)).astype(parameter.dtype)
    return model


def mean_loss(logits):
    return cross_entropy(logits.reshape(-1, 11), FOLLOWING)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("norm", ["pre", "post", None])
@pytest.mark.parametrize("tied", [True, False])
def test_the_last_depth_is_the_model_bit_for_bit(norm, tied, dtype):
    model = model_with(norm=norm, tied=tied, dtype=dtype)
    lens = logit_lens(model, TOKENS)
    assert lens.names[0] == "embeddings"
    assert lens.names[-1] == "blocks.2.feed_forward_residual"
    assert lens.logits.shape == (7, 4, 11)
    np.testing.assert_array_equal(lens.logits[-1], model(TOKENS).data)
    np.testing.assert_allclose(lens.probabilities.sum(-1), 1, rtol=1e-6)


def test_each_depth_is_the_stream_there_through_the_models_end():
    """Behind a whole block it is a model that has no more blocks; mid-block and at the start, by hand."""
    model = model_with()
    lens = logit_lens(model, TOKENS)
    blocks = list(model.blocks)
    for n in (0, 1, 2):
        model.blocks = blocks[:n]
        np.testing.assert_allclose(lens.logits[2 * n], model(TOKENS).data, rtol=1e-12)
    x = model.embed(TOKENS)
    h = x + blocks[0].attention(blocks[0].attention_norm(x))
    by_hand = layer_norm(h, model.final_norm.gain, model.final_norm.bias) @ model.tokens.weight.T
    np.testing.assert_allclose(lens.logits[1], by_hand.data, rtol=1e-12)


def test_batches_dropout_and_gradients_are_left_alone():
    model = model_with(dropout=0.5)
    batch = np.array([TOKENS, FOLLOWING])
    lens = logit_lens(model, Tensor(batch))
    assert model.training
    assert all(module.training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert lens.logits.shape == (7, 2, 4, 11)
    np.testing.assert_array_equal(lens.logits[-1], model.eval()(batch).data)
    assert lens.top(1, (1, -1))[-1][0][0] == lens.logits[-1, 1, -1].argmax()
    np.testing.assert_array_equal(lens.logits, logit_lens(model, batch).logits)


@pytest.mark.parametrize("tied", [True, False])
def test_the_gradient_read_in_the_vocabulary(tied):
    """A step of the stream along a token's direction changes the loss by minus the reading: finite differences."""
    model = model_with(tied=tied)
    lens = gradient_lens(model, TOKENS, mean_loss)
    assert lens.readings.shape == (7, 4, 11)
    directions = model.tokens.weight.data if tied else model.output.weight.data.T  # (V, d_model)
    h = model.embed(TOKENS).data

    def loss_at(h):
        stream = Tensor(h)
        for block in model.blocks:
            stream = block(stream)
        stream = model.final_norm(stream)
        return mean_loss(stream @ model.tokens.weight.T if tied else model.output(stream)).item()

    for t, v in ((0, 3), (2, 10), (3, 0)):
        step = np.zeros_like(h)
        step[t] = 1e-6 * directions[v]
        slope = (loss_at(h + step) - loss_at(h - step)) / 2e-6
        assert lens.readings[0, t, v] == pytest.approx(-slope, rel=1e-5, abs=1e-8)


def test_tables_words_and_dicts():
    model = model_with()
    lens = logit_lens(model, TOKENS, words=[*"abcdefghi", "\n", " "])
    text = str(lens)
    for name in lens.names:
        assert name in text
    best, probability = lens.top(1)[-1][0]
    assert f"{lens.word(best)} {probability:.0%}" in text.splitlines()[-3]
    assert lens.word(9) == "'\\n'"
    assert lens.word(10) == "' '"
    every = str(lens.table(position=None)).splitlines()
    assert every[2].split() == ["behind", "b", "f", "c", "h"]
    assert logit_lens(model, TOKENS, words="abcdefghijk".__getitem__).word(3) == "d"
    assert "<table>" in lens._repr_html_()
    assert [row["name"] for row in lens.to_dicts()] == lens.names
    assert "depths, tokens (4,)" in repr(lens)
    deep = str(logit_lens(model_with(20), TOKENS))
    assert "26 of 41 depths" in deep
    assert "blocks.19.feed_forward_residual" in deep


def test_the_heat_map(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install matplotlib")
    lens = logit_lens(model_with(), np.array([TOKENS, FOLLOWING]))
    figure = lens.plot(tmp_path / "lens.png", sequence=1)
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert shown == [str(v) for v in lens.logits[:, 1].argmax(-1).ravel()]
    assert (tmp_path / "lens.png").stat().st_size > 1000
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), lens.probabilities[:, 1].max(-1))


def test_nothing_recorded_is_said():
    with no_grad(), pytest.raises(ValueError, match="nothing was recorded"):
        logit_lens(model_with(), TOKENS)


def test_words_of_a_tokenizer():
    tokenizer = CharTokenizer("abcdefghijk")
    lens = logit_lens(model_with(), tokenizer.encode("bfch"), words=tokenizer.decode)
    assert str(lens.table(position=None)).splitlines()[2].split() == ["behind", "b", "f", "c", "h"]
