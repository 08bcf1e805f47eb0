"""Most of the gradient comes through short paths, and deleting one block hurts little.

Source: Veit, Wilber, Belongie 2016, "Residual Networks Behave Like Ensembles of Relatively Shallow Networks". In a
residual network of 110 layers they found most of the gradient on paths of 10 to 34 layers, and single modules could be
deleted with little harm; in a network without residuals every deletion was fatal.

What to look at: a small language model of 12 blocks has 24 residuals, so 2^24 routes, most of which pass about 12
branches. In the first chart nearly all of the gradient sits far below that. In the second one, most blocks can be left
out of the trained model. Two things differ from the paper. Its authors sampled paths and summed their norms; here the
parts are exact and vectors, so a share is a component along the whole gradient. And here the first two blocks cannot be
spared; in the paper it was the modules that change the resolution.
"""

import argparse

import numpy as np

from blocks import LanguageModel, gradient_paths, plot_path_lengths
from demos._charts import print_bars, save_plot
from demos._pair_sums import LENGTH, VOCAB_SIZE, accuracy, all_sequences, loss_of, train
from minigrad import Graph, no_grad
from minigrad.ops.residual import ResidualAdd
from minigrad.residuals.tables import share


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The gradient by path length, and what deleting one block costs.")
    parser.add_argument("--plot", default="short_paths.png", help="the file to plot the path lengths to")
    options = parser.parse_args(arguments)

    print("Training a model of 12 blocks, and one without residuals ...")
    model, loss = trained_model()
    _, plain_loss = trained_model(residual=False)
    print(f"loss with residuals {loss:.2f}, without them {plain_loss:.2f}; guessing is {np.log(VOCAB_SIZE):.2f}\n")

    paths = path_lengths(model)
    shares = shares_of(paths)
    print_bars(
        "Share of the gradient at the embeddings, by the number of branches passed",
        [(length, max(part, 0), f"{part:.1%}") for length, part in shares.items() if abs(part) >= 0.001],
    )
    print(
        f"  The other lengths, up to {max(shares)}, carry less than 0.1% each. Mean length, weighted with the shares: "
        f"{mean_length(shares):.1f};\n  over all 2^{max(shares)} routes: {max(shares) / 2:.0f}. Paths of up to "
        f"{length_of(shares, 0.9)} branches carry 90% or more.\n"
    )

    whole, without = deletions(model)
    print_bars(
        f"Next tokens that are right, of the whole model {whole:.0%}, and without block",
        [(i, right, f"{right:.0%}") for i, right in enumerate(without)],
    )
    little = sum(right > 0.9 for right in without)
    print(f"  {little} of {len(without)} blocks can be deleted with more than 90% still right; guessing is 20%.")
    save_plot(plot_path_lengths, options.plot, paths)


def trained_model(n_blocks=12, n_steps=200, residual=True, seed=0):
    """A language model of pre-norm blocks, trained on the task, and its loss on all sequences of the task."""
    model = LanguageModel(VOCAB_SIZE, LENGTH, n_blocks, 24, 2, 48, norm="pre", residual=residual, rng=seed)
    train(model, n_steps, np.random.default_rng(seed))
    tokens, following = all_sequences()
    with no_grad():
        return model, loss_of(model(tokens), following).item()


def path_lengths(model):
    """The gradient at the embedded tokens, by path length."""
    tokens, following = all_sequences()
    loss = loss_of(model(tokens), following)
    first_residual = next(node.op for node in Graph(loss).nodes if node.is_residual)
    return gradient_paths(loss, first_residual.inputs[ResidualAdd.SKIP], by="length")


def shares_of(paths):
    whole = sum(paths.values())
    return {length: share(part, whole) for length, part in paths.items()}


def mean_length(shares):
    return sum(length * part for length, part in shares.items())


def length_of(shares, fraction):
    """Up to which length the shares have added up to this fraction."""
    sums = np.cumsum(list(shares.values()))
    return int(np.argmax(sums >= fraction))


def deletions(model):
    """The accuracy of the model, and that of the model without each of its blocks."""
    tokens, following = all_sequences()
    blocks = model.blocks
    without = []
    with no_grad():
        whole = accuracy(model, tokens, following)
        for i in range(len(blocks)):
            model.blocks = blocks[:i] + blocks[i + 1 :]
            without.append(accuracy(model, tokens, following))
    model.blocks = blocks
    return whole, without


if __name__ == "__main__":
    main()
