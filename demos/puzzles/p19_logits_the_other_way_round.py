"""It trains, and talks about something else.

Symptom: The loss goes down a little and stays there. Logits and targets fit together, no shape is refused.
Difficulty: hard
Minutes: 15
Tool: backward, and the gradient of an inner tensor: hidden.grad
"""

import numpy as np

from minigrad import Tensor, cross_entropy


def loss_of(hidden, table, targets):
    """Cross-entropy of the next token. hidden (B, T, d), table (V, d), targets (B, T)."""
    scores = table @ hidden.swapaxes(-1, -2)  # (B, V, T)
    # right
    logits = scores.swapaxes(-1, -2)  # (B, T, V)
    # fault
    # shape = scores.shape
    # logits = scores.reshape(shape[0], shape[2], shape[1])
    # end
    return cross_entropy(logits, targets)


def look():
    rng = np.random.default_rng(0)
    hidden = Tensor(rng.normal(size=(1, 4, 3)), requires_grad=True, name="hidden")
    table = Tensor(rng.normal(size=(5, 3)), requires_grad=True, name="table")
    targets = np.array([[0, 1, 2, 3]])
    loss_of(hidden, table, targets).backward()
    one_by_one = np.zeros((1, 4, 3))
    for t in range(4):
        one = Tensor(hidden.data[:, t : t + 1], requires_grad=True)
        loss_of(one, table, targets[:, t : t + 1]).backward()
        one_by_one[:, t] = one.grad[:, 0] / 4
    print("gradient at hidden, all tokens at once:\n", hidden.grad.round(3))
    print("the same, one token at a time:\n", one_by_one.round(3))


if __name__ == "__main__":
    look()

# Teacher

from demos.puzzles.puzzle import must_agree

HINTS = [
    "A sequence of one token is right; longer ones are not. What happens to (B, V, T) when T is 1?",
    "Which numbers stand side by side in memory in (B, V, T), and which in (B, T, V)?",
    "Axes are exchanged by swapaxes; reshape only cuts the row of numbers elsewhere.",
]
ANSWER = "reshape gave (B, V, T) the shape (B, T, V) without moving a number, so the classes of many tokens were mixed."
WRONG = [
    "logits = scores.transpose(0, 1, 2).reshape(hidden.shape[0], hidden.shape[1], -1)",
    "logits = scores.swapaxes(0, 1).reshape(hidden.shape[0], hidden.shape[1], -1)",
    "logits = scores.flatten().reshape(hidden.shape[0], hidden.shape[1], -1)",
]
CLUE = "together and alone differ"


def judge(theirs, rng):
    targets = rng.integers(6, size=(2, 4))
    must_agree(
        "loss_of",
        with_targets(theirs.loss_of, targets),
        with_targets(loss_of, targets),
        rng.normal(size=(2, 4, 3)),
        rng.normal(size=(6, 3)),
        rng=rng,
    )


def with_targets(function, targets):
    return lambda hidden, table: function(hidden, table, targets)


def clue(theirs):
    rng = np.random.default_rng(0)
    hidden, table = rng.normal(size=(1, 4, 3)), rng.normal(size=(5, 3))
    targets = np.array([[0, 1, 2, 3]])
    together = theirs.loss_of(Tensor(hidden), Tensor(table), targets).item()
    alone = np.mean(
        [theirs.loss_of(Tensor(hidden[:, t : t + 1]), Tensor(table), targets[:, t : t + 1]).item() for t in range(4)]
    )
    return f"together and alone {'agree' if np.isclose(together, alone) else 'differ'}"
