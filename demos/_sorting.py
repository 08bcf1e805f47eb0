"""A task that needs attention: digits, a separator, and the same digits sorted. A small model learns it in seconds."""

import numpy as np

from blocks import LanguageModel
from minigrad import cross_entropy
from minigrad.optim import AdamW

N_DIGITS = 4
SEPARATOR = 6  # behind the digits 0 to 5
VOCAB_SIZE = 7
WORDS = [*"012345", ">"]


def sequences(n, rng):
    """Tokens (n, 2 N_DIGITS): digits, separator, sorted digits but the last; and the sorted digits, (n, N_DIGITS)."""
    digits = rng.integers(0, SEPARATOR, (n, N_DIGITS))
    in_order = np.sort(digits, axis=1)
    return np.concatenate([digits, np.full((n, 1), SEPARATOR), in_order[:, :-1]], axis=1), in_order


def loss_of(scores, in_order):
    """Mean cross-entropy of the sorted digits, in nats."""
    return cross_entropy(scores[..., N_DIGITS:, :].reshape(-1, VOCAB_SIZE), in_order.reshape(-1))


def trained_model(n_steps=200, seed=0, **options):
    """Two pre-norm blocks of width 32, trained for some seconds."""
    rng = np.random.default_rng(seed)
    model = LanguageModel(VOCAB_SIZE, 2 * N_DIGITS, 2, 32, 4, 64, norm="pre", tied=False, rng=seed, **options)
    optimizer = AdamW(model.parameters(), lr=1e-2)
    for step in range(n_steps):
        optimizer.lr = 1e-2 * min(1, (step + 1) / 20) * min(1, (n_steps - step) / (0.5 * n_steps))
        tokens, in_order = sequences(32, rng)
        loss = loss_of(model(tokens), in_order)
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        optimizer.step()
    return model


def accuracy(model, n=200, seed=1):
    """The share of sequences of which every digit is right."""
    tokens, in_order = sequences(n, np.random.default_rng(seed))
    return float((model(tokens).data[:, N_DIGITS:].argmax(-1) == in_order).all(1).mean())
