"""Text as tokens, and tokens as batches."""

import numpy as np
import pytest

from blocks.data import ByteTokenizer, CharTokenizer, all_windows, padded, random_windows, split_held_out
from minigrad import cross_entropy

TEXT = "Grüße, 世界! 🙂\n\tend\x00"


@pytest.mark.parametrize("tokenizer", [CharTokenizer(TEXT), ByteTokenizer()], ids=["characters", "bytes"])
@pytest.mark.parametrize("text", [TEXT, TEXT[::-1], "", "e"])
def test_text_comes_back(tokenizer, text):
    tokens = tokenizer.encode(text)
    assert tokens.dtype == np.int64 and tokens.ndim == 1
    assert not tokens.size or (tokens.min() >= 0 and tokens.max() < tokenizer.vocab_size)
    assert tokenizer.decode(tokens) == text


def test_the_characters_are_all_that_has_to_be_kept():
    tokenizer = CharTokenizer(TEXT)
    again = CharTokenizer(tokenizer.characters)
    np.testing.assert_array_equal(tokenizer.encode(TEXT), again.encode(TEXT))


def test_what_tokenizers_refuse():
    with pytest.raises(ValueError, match=r"'z' \(at 1\) is not in the text that the vocabulary was made of"):
        CharTokenizer("abc").encode("az")
    for wrong in (-1, 3):
        with pytest.raises(IndexError, match=f"0 to 2; got {wrong} to {wrong}"):
            CharTokenizer("abc").decode([wrong])
    assert ByteTokenizer().decode([0xC3]) == "\ufffd"  # half of a character, as generation may leave it
    with pytest.raises(ValueError, match="range"):
        ByteTokenizer().decode([256])


def test_split_held_out():
    train, held_out = split_held_out(np.arange(101), 0.1)
    np.testing.assert_array_equal([*train, *held_out], np.arange(101))
    assert len(held_out) == 10
    for wrong in (0, 1, -0.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            split_held_out([1, 2], wrong)


def test_random_windows_reach_every_place_and_no_further():
    tokens = np.arange(10)
    inputs, targets = random_windows(tokens, 1000, 4, rng=0)
    assert inputs.shape == targets.shape == (1000, 4)
    np.testing.assert_array_equal(targets, inputs + 1)
    np.testing.assert_array_equal(np.diff(inputs, axis=1), 1)
    assert set(inputs[:, 0]) == set(range(6))
    np.testing.assert_array_equal(inputs, random_windows(tokens, 1000, 4, rng=0)[0])
    with pytest.raises(ValueError, match="11 tokens; there are 10"):
        random_windows(tokens, 1, 10)


def test_all_windows_read_each_target_once():
    inputs, targets = all_windows(np.arange(12), 4)
    np.testing.assert_array_equal(inputs.ravel(), np.arange(8))
    np.testing.assert_array_equal(targets.ravel(), np.arange(1, 9))
    assert all_windows(np.arange(9), 4)[1].max() == 8  # the last target is the last token
    with pytest.raises(ValueError, match="5 tokens; there are 4"):
        all_windows(np.arange(4), 4)


def test_padded_in_front_and_behind():
    for front in (False, True):
        tokens, real = padded([[1, 2, 3], [4], [5, 6]], pad=9, front=front)
        assert tokens.shape == real.shape == (3, 3) and real.dtype == bool
        assert [row[mask].tolist() for row, mask in zip(tokens, real, strict=True)] == [[1, 2, 3], [4], [5, 6]]
        assert (tokens[~real] == 9).all()
        assert real[1].tolist() == ([False, False, True] if front else [True, False, False])
    for wrong in ([], [[1], []], [[[1]]]):
        with pytest.raises(ValueError, match="none of them empty"):
            padded(wrong)


def test_padding_does_not_count_in_the_loss():
    tokens, real = padded([[1, 2, 3], [4]])
    scores = np.random.default_rng(0).normal(size=(2, 3, 5))
    loss = cross_entropy(scores, np.where(real, tokens, -1), ignore_index=-1)
    alone = cross_entropy(np.concatenate([scores[0], scores[1, :1]]), [1, 2, 3, 4])
    assert loss.item() == pytest.approx(alone.item(), rel=1e-12)
