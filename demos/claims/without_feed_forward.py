"""Without the feed-forward network a block can mix what tokens hold, but hardly compute anything new from one token.

What attention gives a token is a weighted mean of the values, which are linear in the tokens: its weights are not
negative and sum to 1. For one token alone the weight is 1, so attention and residuals, at any depth, are one linear
map: f(a + b) = f(a) + f(b). The run measures that. Then it trains 2 blocks to tell from two signs in one token
whether they are equal, which no linear map can: without feed-forward networks the loss stays at ln 2, a guess. Norms
bend the map a little, since they divide by the token's deviation; so here there are none.
"""

import numpy as np

from blocks import Linear, Stack
from demos.claims import holds
from minigrad import Module, Tensor, cross_entropy
from minigrad.optim import AdamW

D_MODEL = 8
SIGNS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
EQUAL = np.array([1, 0, 0, 1])


class Nothing(Module):
    """Stands where the feed-forward network was, and adds nothing to the residual."""

    def forward(self, x):
        return x * 0.0


class EqualSigns(Module):
    """Two signs in one token; two scores, for "not equal" and "equal"."""

    def __init__(self, feed_forward):
        self.embed = Linear(2, D_MODEL, rng=0)
        self.stack = stack(feed_forward)
        self.output = Linear(D_MODEL, 2, rng=1)

    def forward(self, signs):  # (B, 1, 2)
        return self.output(self.stack(self.embed(signs)))  # (B, 1, 2)


def run():
    weights, values = attention_alone()
    holds(
        f"attention weights: the least is {weights.min():.2f}, each row sums to {weights.sum(axis=-1).mean():.2f}",
        convex(weights),
    )
    spread = (np.ptp(weights @ values, axis=-2) / np.ptp(values, axis=-2)).max()
    holds(f"  so a feature has at most {spread:.0%} of the spread that it had among the values", spread <= 1)
    for feed_forward, title in ((False, "without"), (True, "with")):
        bent = bend(stack(feed_forward))
        straight = bent < 1e-12
        holds(f"{title} feed-forward networks f(a + b) is f(a) + f(b) up to {bent:.0e} of it", straight != feed_forward)
    loss = trained(feed_forward=False)
    holds(f"two signs, without: the loss is {loss:.3f}, a guess {np.log(2):.3f}", loss > np.log(2) - 0.01)
    loss = trained(feed_forward=True)
    holds(f"two signs, with: the loss is {loss:.3f}", loss < 0.1)


def convex(weights):
    """Whether each row makes a weighted mean."""
    return weights.min() >= 0 and np.allclose(weights.sum(axis=-1), 1)


def stack(feed_forward):
    """Two blocks without norms and biases, so that what is left to bend is the activation."""
    stack = Stack(2, D_MODEL, 2, 4 * D_MODEL, norm=None, bias=False, rng=0)
    if not feed_forward:
        for block in stack.blocks:
            block.feed_forward = Nothing()
    return stack


def attention_alone():
    """The weights (H, T, T) and values (H, T, d) of one attention."""
    attention = stack(False).blocks[0].attention
    x = Tensor(np.random.default_rng(0).normal(size=(5, D_MODEL)))
    attention(x)
    values = attention.value(x).data.reshape(5, 2, D_MODEL // 2).swapaxes(0, 1)
    return attention.weights, values


def bend(stack):
    """|f(a + b) - f(a) - f(b)| / |f(a + b)|, for single tokens; 0 for a linear map."""
    a, b = np.random.default_rng(0).normal(size=(2, 1, D_MODEL))
    both = stack(Tensor(a + b)).data
    return np.linalg.norm(both - stack(Tensor(a)).data - stack(Tensor(b)).data) / np.linalg.norm(both)


def trained(feed_forward, n_steps=60):
    """The loss after training, in nats."""
    model = EqualSigns(feed_forward)
    optimizer = AdamW(model.parameters(), lr=0.02)
    for _ in range(n_steps):
        loss = cross_entropy(model(Tensor(SIGNS[:, None, :])).reshape(4, 2), EQUAL)
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        optimizer.step()
    return loss.item()
