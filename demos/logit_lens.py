"""What a trained model would say after each residual, and what the gradient asks for there.

A small model has learned to sort digits. The stream behind each of its residuals is read as if the model ended there.

What to look at: in the first table, where in depth the answer at each position comes up; before that, the model would
say something else. In the last one, what a loss asks of the stream that wants another digit on purpose, a 5 where a 1
belongs: the gradient points to 5 at every depth, and not to the 1 that the model says. It is largest at the embeddings,
which are short, so that a norm right behind them makes much of a small step.
"""

import argparse

import numpy as np

from blocks import gradient_lens, logit_lens
from demos import _sorting
from demos._charts import save_plot
from demos.residual_stream import TOKENS, in_words
from minigrad import cross_entropy

WISHED = 5


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The stream of a trained model, read in the vocabulary.")
    parser.add_argument("--plot", default="logit_lens.png", help="the file to plot the lens to")
    options = parser.parse_args(arguments)

    model = _sorting.trained_model()
    lens = logit_lens(model, TOKENS, words=_sorting.WORDS)
    print(lens.table(position=None), "\n")
    print(lens.table(k=3), "\n")
    depth = answer_from(lens)
    print(f"After {in_words(TOKENS)} the answer {lens.word(lens.top(1)[-1][0][0])} stands from {lens.names[depth]} on.")
    same = np.array_equal(lens.logits[-1], model(TOKENS).data)
    print(f"The last row is the model's own scores, bit for bit: {same}.\n")

    wish = gradient_lens(model, TOKENS, lambda scores: cross_entropy(scores[-1], WISHED), words=_sorting.WORDS)
    print(wish.table(k=3))
    save_plot(lens.plot, options.plot)


def answer_from(lens):
    """The first depth from which on the first token at the last position stays the same."""
    first = [top[0][0] for top in lens.top(1)]
    depth = len(first) - 1
    while depth and first[depth - 1] == first[-1]:
        depth -= 1
    return depth


if __name__ == "__main__":
    main()
