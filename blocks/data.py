"""Text as tokens, and tokens as batches: what a language model reads while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from minigrad.types import Rng


class CharTokenizer:
    """One token for each character that a text has, numbered in the order of the alphabet.

    >>> tokenizer = CharTokenizer("hello")
    >>> tokenizer.encode("hole")
    array([1, 3, 2, 0])
    >>> tokenizer.decode([1, 3, 2, 0])
    'hole'
    """

    def __init__(self, text: str):
        self.characters = "".join(sorted(set(text)))  # all that has to be kept: CharTokenizer(characters) is the same
        self.vocab_size = len(self.characters)
        self.token_of = {character: token for token, character in enumerate(self.characters)}

    def encode(self, text: str) -> np.ndarray:
        """The tokens of a text, (T,); ValueError for a character that the vocabulary lacks."""
        try:
            return np.array([self.token_of[character] for character in text], np.int64)
        except KeyError as error:
            place = text.index(error.args[0])
            raise ValueError(
                f"CharTokenizer: {error.args[0]!r} (at {place}) is not in the text that the vocabulary was made of"
            ) from None

    def decode(self, tokens: ArrayLike) -> str:
        """The text of tokens, (T,); IndexError for a number that is no token."""
        tokens = np.ravel(tokens).astype(np.int64)
        if tokens.size and not (tokens.min() >= 0 and tokens.max() < self.vocab_size):
            raise IndexError(f"tokens go from 0 to {self.vocab_size - 1}; got {tokens.min()} to {tokens.max()}")
        return "".join(self.characters[token] for token in tokens)


class ByteTokenizer:
    """One token for each byte of a text in UTF-8, so that any text can be read.

    >>> tokenizer = ByteTokenizer()
    >>> tokenizer.encode("é!")
    array([195, 169,  33])
    >>> tokenizer.decode([195, 169, 33])
    'é!'
    """

    vocab_size = 256

    def encode(self, text: str) -> np.ndarray:
        """The bytes of a text, (T,)."""
        return np.frombuffer(text.encode(), np.uint8).astype(np.int64)

    def decode(self, tokens: ArrayLike) -> str:
        """The text of bytes, (T,); what is no UTF-8, such as half of a character, becomes U+FFFD."""
        return bytes(np.ravel(tokens).astype(np.int64).tolist()).decode(errors="replace")


def split_held_out(tokens: ArrayLike, held_out: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """The first part, to train on, and the last, to measure on; `held_out` is the size of the latter.

    In one piece each, so that no window of the one overlaps with the other.

    >>> split_held_out(range(10), 0.2)
    (array([0, 1, 2, 3, 4, 5, 6, 7]), array([8, 9]))
    """
    if not 0 < held_out < 1:
        raise ValueError(f"split_held_out: held_out is a part of the tokens, between 0 and 1; got {held_out!r}")
    tokens = np.asarray(tokens)
    n = len(tokens) - round(held_out * len(tokens))
    return tokens[:n], tokens[n:]


def random_windows(tokens: ArrayLike, n: int, length: int, rng: Rng = None) -> tuple[np.ndarray, np.ndarray]:
    """A batch: windows of `length` tokens from random places, and for each token the one that follows it.

    Returns:
        inputs and targets, (n, length) each.

    Raises:
        ValueError: fewer than length + 1 tokens.

    >>> random_windows([5, 6, 7, 8], n=1, length=3)
    (array([[5, 6, 7]]), array([[6, 7, 8]]))
    """
    tokens = np.asarray(tokens)
    if len(tokens) <= length:
        raise ValueError(f"random_windows: a window and its targets are {length + 1} tokens; there are {len(tokens)}")
    starts = np.random.default_rng(rng).integers(0, len(tokens) - length, n)
    windows = tokens[starts[:, None] + np.arange(length + 1)]  # (n, length + 1)
    return windows[:, :-1], windows[:, 1:]


def all_windows(tokens: ArrayLike, length: int) -> tuple[np.ndarray, np.ndarray]:
    """All tokens but a rest, cut into windows one behind the other: inputs and targets, as in `random_windows`.

    >>> all_windows(range(8), length=3)
    (array([[0, 1, 2],
           [3, 4, 5]]), array([[1, 2, 3],
           [4, 5, 6]]))
    """
    tokens = np.asarray(tokens)
    n = (len(tokens) - 1) // length
    if n < 1:
        raise ValueError(f"all_windows: a window and its targets are {length + 1} tokens; there are {len(tokens)}")
    return tokens[: n * length].reshape(n, length), tokens[1 : n * length + 1].reshape(n, length)


def padded(sequences: Iterable[Sequence[int]], pad: int = 0, *, front: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of different lengths as one array.

    Args:
        sequences: tokens; none of them empty.
        pad: the token to fill up with.
        front: fill up in front, as generation needs it, instead of behind.

    Returns:
        tokens (B, T), and real (B, T): True where a token is one of the sequence's own. As targets, the others are
        marked by ``np.where(real, tokens, -1)``, and left out by ``cross_entropy(..., ignore_index=-1)``.

    >>> padded([[1, 2, 3], [4]])
    (array([[1, 2, 3],
           [4, 0, 0]]), array([[ True,  True,  True],
           [ True, False, False]]))
    """
    listed = [np.asarray(sequence, np.int64) for sequence in sequences]
    if not listed or any(sequence.ndim != 1 or not sequence.size for sequence in listed):
        raise ValueError("padded: takes a list of sequences of tokens, none of them empty")
    T = max(len(sequence) for sequence in listed)
    tokens = np.full((len(listed), T), pad, np.int64)
    real = np.zeros((len(listed), T), bool)
    for row, sequence in enumerate(listed):
        place = slice(T - len(sequence), T) if front else slice(len(sequence))
        tokens[row, place], real[row, place] = sequence, True
    return tokens, real
