"""A small task that needs attention and arithmetic: each token is the sum of the two before it, modulo 5."""

import numpy as np

from minigrad import cross_entropy
from minigrad.optim import AdamW

VOCAB_SIZE = 5
LENGTH = 8


def sequences(starts):
    """The sequences that begin with these pairs, (n, 2): tokens, (n, LENGTH), and the token after each, (n, LENGTH)."""
    tokens = list(np.transpose(starts))
    while len(tokens) <= LENGTH:
        tokens.append((tokens[-1] + tokens[-2]) % VOCAB_SIZE)
    tokens = np.stack(tokens, axis=1)
    return tokens[:, :-1], tokens[:, 1:]


def random_sequences(n, rng):
    return sequences(rng.integers(0, VOCAB_SIZE, (n, 2)))


def all_sequences():
    """Each of the 25 sequences that there are."""
    return sequences(np.indices((VOCAB_SIZE, VOCAB_SIZE)).reshape(2, -1).T)


def loss_of(scores, following):
    """Mean cross-entropy in nats, without the first place, where the next token cannot be known yet.

    Guessing costs ln 5 = 1.61.
    """
    return cross_entropy(scores[:, 1:].reshape(-1, VOCAB_SIZE), following[:, 1:].reshape(-1))


def train(model, n_steps, rng, lr=4e-3, n_sequences=16):
    """Train with AdamW, with a short warm-up and a slow end; returns the loss at each step."""
    optimizer = AdamW(model.parameters(), lr=lr)
    losses = []
    for step in range(n_steps):
        optimizer.lr = lr * min(1, (step + 1) / 30) * min(1, (n_steps - step) / (0.3 * n_steps))
        tokens, following = random_sequences(n_sequences, rng)
        loss = loss_of(model(tokens), following)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        optimizer.step()
    return losses


def accuracy(model, tokens, following):
    """The share of places, from the second on, at which the likeliest token is the right one."""
    return float(np.mean(model(tokens).data.argmax(axis=-1)[:, 1:] == following[:, 1:]))
