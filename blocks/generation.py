"""From one token to the next: prompts, the loop of `LanguageModel.generate`, and how a token is drawn."""

from __future__ import annotations

import numpy as np

from blocks.attention import KeyValueCache
from blocks.layers import Dropout
from minigrad import Tensor, no_grad, softmax
from minigrad.types import TensorLike


def continuation(model, prompts, one, max_new_tokens, stops, cache, sampling):
    """The loop of `LanguageModel.generate`, whose arguments have been checked."""
    tokens, is_real = padded(prompts)  # (B, T) and (B, T)
    stopped = np.zeros(len(tokens), bool)
    reader = Reader(model, cache)
    for _ in range(max_new_tokens):
        new = sample(reader.next_scores(tokens, is_real), **sampling)  # (B,)
        new = np.where(stopped, tokens[:, -1], new)
        tokens = np.concatenate([tokens, new[:, None]], axis=1)
        is_real = np.concatenate([is_real, np.ones_like(is_real[:, :1])], axis=1)
        yield int(new[0]) if one else new
        stopped = stopped | np.isin(new, stops)
        if stopped.all():
            return


class Reader:
    """Reads growing sequences with a model, and gives the scores of what comes next.

    Attributes:
        n_read: the number of columns that the cache holds.
    """

    def __init__(self, model, cache):
        self.model, self.uses_cache = model, cache
        self.dropouts = [each for each in model.modules() if isinstance(each, Dropout) and each.p and each.training]
        self.forget()

    def forget(self):
        self.cache = [KeyValueCache() for _ in self.model.blocks] if self.uses_cache else None
        self.n_read = 0

    def next_scores(self, tokens, is_real):
        """The scores (B, V) behind the last of tokens (B, T), of which those count that are real."""
        if tokens.shape[1] > self.model.max_length:  # every token moves to another position
            tokens, is_real = tokens[:, -self.model.max_length :], is_real[:, -self.model.max_length :]
            self.forget()
        position_ids = np.maximum(is_real.cumsum(axis=1) - 1, 0)
        new = slice(self.n_read, None)
        key_mask = None if is_real.all() else is_real
        for dropout in self.dropouts:
            dropout.training = False
        try:
            with no_grad():
                scores = self.model(
                    tokens[:, new], key_mask=key_mask, position_ids=position_ids[:, new], cache=self.cache
                )
        finally:
            for dropout in self.dropouts:
                dropout.training = True
        self.n_read = tokens.shape[1] if self.uses_cache else 0
        return scores.data[:, -1]


def sample(scores, *, temperature=1.0, top_k=None, top_p=None, rng=None):
    """One token for each row of scores (B, V), drawn as `LanguageModel.generate` says."""
    if temperature == 0:
        return scores.argmax(axis=-1)
    scores = scores.astype(np.float64) / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        kth = np.partition(scores, -top_k, axis=-1)[:, -top_k, None]
        scores = np.where(scores < kth, -np.inf, scores)
    p = softmax(scores).data  # (B, V)
    if top_p is not None:
        order = np.argsort(-p, axis=-1, kind="stable")
        sorted_p = np.take_along_axis(p, order, axis=-1)
        before = sorted_p.cumsum(axis=-1) - sorted_p  # the probability of all that are likelier
        p = np.take_along_axis(np.where(before < top_p, sorted_p, 0), order.argsort(axis=-1), axis=-1)
    below = p.cumsum(axis=-1)
    drawn = rng.random((len(p), 1)) * below[:, -1:]
    return (below > drawn).argmax(axis=-1)  # the first token whose stretch of [0, 1) reaches past the number drawn


def check_sampling(max_new_tokens, temperature, top_k, top_p):
    if not isinstance(max_new_tokens, (int, np.integer)) or max_new_tokens < 0:
        raise ValueError(f"generate: max_new_tokens is a whole number, 0 or more; got {max_new_tokens!r}")
    if not 0 <= temperature < np.inf:
        raise ValueError(f"generate: temperature is 0 or larger; got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"generate: top_k is a number of tokens, 1 or more; got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"generate: top_p is a probability, above 0 and at most 1; got {top_p}")


def as_prompts(tokens):
    """The prompts as a list of arrays of integers, and whether only one was given."""
    if isinstance(tokens, (Tensor, np.ndarray)):
        tokens = tokens.data if isinstance(tokens, Tensor) else tokens
        one = tokens.ndim < 2
    else:
        tokens = list(tokens) if not np.isscalar(tokens) else tokens
        one = np.isscalar(tokens) or not tokens or np.ndim(tokens[0]) == 0
    prompts = [as_tokens(prompt) for prompt in ([tokens] if one else tokens)]
    for prompt in prompts:
        if prompt.ndim != 1:
            raise ValueError(f"generate: a prompt is a sequence of integers; got one of shape {prompt.shape}")
    return prompts, one


def padded(sequences):
    """Sequences of different lengths as one array (B, T), padded in front with 0, and where it holds real tokens."""
    T = max((len(sequence) for sequence in sequences), default=0)
    is_real = np.array([[place >= T - len(sequence) for place in range(T)] for sequence in sequences], bool)
    tokens = np.zeros((len(sequences), T), np.result_type(np.int64, *sequences))
    tokens[is_real] = np.concatenate(sequences)
    return tokens, is_real


def as_tokens(tokens: TensorLike) -> np.ndarray:
    """Tokens as an array (..., T), with T at least 1."""
    try:
        array = np.asarray(tokens.data if isinstance(tokens, Tensor) else tokens)
    except ValueError as error:  # NumPy: an inhomogeneous shape
        raise ValueError(
            "LanguageModel: the sequences have different lengths. Pad them in front to one length, and say with "
            "key_mask which tokens are real"
        ) from error
    if array.ndim == 0:
        raise ValueError(f"LanguageModel: tokens are a sequence of integers, such as model([{array}]); got one number")
    if array.shape[-1] == 0:
        raise ValueError(f"LanguageModel: there are no tokens to read: their shape is {array.shape}")
    return array
