"""A skip that was left out of the backward rule: the loss does not show it, and the fault finder names it.

What to look at: both models begin with the same weights and the same loss, to the last bit, since their forward passes
are the same. With two blocks both learn the task just as well. With four, the mistaken one learns slowly, as if the
learning rate were wrong; no error is raised. `gradient_faults` names the residual, the rule and the line.
"""

import numpy as np

from blocks import LanguageModel, TransformerBlock, gradient_faults
from demos._pair_sums import LENGTH, VOCAB_SIZE, all_sequences, loss_of, train
from minigrad import Graph, residual_add
from minigrad.ops.residual import ResidualAdd

D_MODEL, N_HEADS, D_FF = 24, 2, 48


class MistakenAdd(ResidualAdd):
    """y = skip + branch;   dL/dbranch = dL/dy, but dL/dskip = dL/dy was left out."""

    def backward(self, grad_y):
        return None, grad_y


class MistakenBlock(TransformerBlock):
    """A pre-norm block whose second residual has the mistaken rule."""

    def forward(self, x, mask=None, **options):
        h = residual_add(x, self.attention(self.attention_norm(x), mask, **options), "attention_residual")
        branch = self.feed_forward(self.feed_forward_norm(h))
        return MistakenAdd("feed_forward_residual")(h, branch)


def main():
    print("Loss while training (guessing is 1.61)\n")
    steps = (0, 25, 50, 100, 199)
    print("steps      " + "".join(f"{step:>8}" for step in steps))
    for n_blocks in (2, 4):
        for name, mistaken in (("right", False), ("mistaken", True)):
            losses = training_losses(n_blocks, mistaken)
            print(f"{n_blocks}, {name:8}" + "".join(f"{losses[step]:8.3f}" for step in steps))

    for name, mistaken in (("right", False), ("mistaken", True)):
        print(f"\n\nThe {name} model of 2 blocks, before training:\n")
        print(faults(model(2, mistaken)))


def model(n_blocks, mistaken, seed=0):
    """A language model of pre-norm blocks. Right or mistaken, the weights are the same."""
    right = LanguageModel(VOCAB_SIZE, LENGTH, n_blocks, D_MODEL, N_HEADS, D_FF, norm="pre", rng=seed)
    if not mistaken:
        return right
    weights = right.state_dict()
    right.blocks = [MistakenBlock(D_MODEL, N_HEADS, D_FF, norm="pre", causal=True) for _ in right.blocks]
    right.load_state_dict(weights)
    return right


def training_losses(n_blocks, mistaken, n_steps=200, seed=0):
    return train(model(n_blocks, mistaken, seed), n_steps, np.random.default_rng(seed))


def faults(model):
    """What is odd about the gradient at the embedded tokens, which the first residual reads."""
    tokens, following = all_sequences()
    loss = loss_of(model(tokens), following)
    first_residual = next(node.op for node in Graph(loss).nodes if node.is_residual)
    return gradient_faults(loss, first_residual.inputs[ResidualAdd.SKIP])


if __name__ == "__main__":
    main()
