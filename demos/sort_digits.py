"""Two blocks learn to sort eight digits, and their heads show how they do it.

The model reads eight digits and a bar, `3 1 4 1 5 9 2 6 |`, and writes them in order, one at a time: 1 1 2 3 4 5 6 9.
It is trained from three seeds; a sequence counts only if all eight digits are right.

What to look at: the table of heads. "Next digit" is how much of a head's attention, while it writes, goes to those
places of the input that hold the digit that it is about to write: looking there is copying. Others look at what was
written before, to know how far they are. In the picture a row is a place that writes, and its darkest field is what the
head looks at.
"""

import argparse

import numpy as np

from blocks import LanguageModel
from blocks.checkpoint import save_checkpoint
from blocks.training import Progress, train_step
from demos._charts import save_plot
from minigrad import keep_freed_memory, no_grad
from minigrad.optim import AdamW, CosineDecay, decay_groups
from minigrad.residuals.plots import caption, saved
from minigrad.residuals.tables import Table

LENGTH = 8
BAR = 10  # the token behind the input
SHAPE = {"n_blocks": 2, "d_model": 48, "n_heads": 4, "d_ff": 192, "activation": "gelu"}


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Two blocks learn to sort eight digits.")
    parser.add_argument("--steps", type=int, default=400, help="steps of 64 sequences, for each seed")
    parser.add_argument("--seeds", type=int, default=3, help="how many models to train")
    parser.add_argument("--plot", default="sort_digits.png", help="the file to plot to")
    parser.add_argument("--checkpoint", default="sort_digits.npz", help="the file to save the last model to")
    options = parser.parse_args(arguments)
    keep_freed_memory()

    for seed in range(options.seeds):
        model, optimizer, progress = trained(seed, options.steps)
        print(f"seed {seed}: {exact(model):.1%} of 2,000 new sequences exactly right")
        if progress.interrupted:
            break
    save_checkpoint(options.checkpoint, model, optimizer, step=progress.done)
    print(f"Saved to {options.checkpoint} after step {progress.done}\n")
    print(heads_in_words(model))
    save_plot(plot_heads, options.plot, model)


def trained(seed, n_steps):
    rng = np.random.default_rng(seed)
    model = LanguageModel(BAR + 1, 2 * LENGTH, **SHAPE, dtype=np.float32, rng=rng)
    optimizer = AdamW(decay_groups(model.parameters(), 0.01), betas=(0.9, 0.98))
    schedule = CosineDecay(peak=3e-3, n_steps=n_steps, warmup=n_steps // 20)
    progress = Progress(n_steps, label=f"seed {seed}")
    for step in progress:
        optimizer.lr = schedule(step)
        tokens, targets = batch(64, rng)
        progress.show(train_step(model, optimizer, tokens, targets, ignore_index=-1), tokens.size)
    return model, optimizer, progress


def batch(n, rng):
    """Sequences and, for each place, the token after it, (n, 2 LENGTH) each; what is no sorted digit yet is -1."""
    digits = rng.integers(0, 10, (n, LENGTH))
    whole = np.concatenate([digits, np.full((n, 1), BAR), np.sort(digits, axis=1)], axis=1)  # (n, 2 LENGTH + 1)
    targets = whole[:, 1:].copy()
    targets[:, :LENGTH] = -1
    return whole[:, :-1], targets


def in_order(model, digits):
    """What the model writes behind the digits, (n, LENGTH), each time the likeliest token."""
    prompts = np.concatenate([digits, np.full((len(digits), 1), BAR)], axis=1)
    return np.stack(list(model.generate(prompts, LENGTH, temperature=0)), axis=1)


def exact(model, n=2000):
    """The part of new sequences, from a seed that no training uses, of which all digits are right."""
    digits = np.random.default_rng(12345).integers(0, 10, (n, LENGTH))
    return (in_order(model, digits) == np.sort(digits, axis=1)).all(axis=1).mean()


def attention(model, tokens):
    """The weights of each block and head, (n_blocks, n, H, T, T)."""
    with no_grad():
        model(tokens)
    return np.stack([block.attention.weights for block in model.blocks])


def heads_in_words(model, n=500):
    """Where each head looks while it writes, as a table of shares."""
    tokens, targets = batch(n, np.random.default_rng(54321))
    weights = attention(model, tokens)[:, :, :, LENGTH:]  # (n_blocks, n, H, writing, T)
    writing = targets[:, LENGTH:, None]  # (n, writing, 1): the digit that comes next
    is_input = np.arange(2 * LENGTH) < LENGTH
    places = {
        "next digit": (tokens[:, None] == writing) & is_input,  # (n, writing, T)
        "other digits of the input": (tokens[:, None] != writing) & is_input,
        "bar": np.broadcast_to(tokens[:, None] == BAR, (n, LENGTH, 2 * LENGTH)),
        "written digits": np.broadcast_to(np.arange(2 * LENGTH) > LENGTH, (n, LENGTH, 2 * LENGTH)),
    }
    rows = []
    for block, head in np.ndindex(weights.shape[0], weights.shape[2]):
        shares = [(weights[block, :, head] * place).sum(axis=-1).mean() for place in places.values()]
        rows.append((f"block {block}, head {head}", *(f"{share:.0%}" for share in shares)))
    return str(Table("Where each head looks while it writes, by share of its attention", ("head", *places), rows))


def plot_heads(model, path):
    """One sequence: a map for each head, of how much each place that writes attends to each place before it."""
    from matplotlib.figure import Figure  # noqa: PLC0415  optional

    digits = np.array([[3, 1, 4, 1, 5, 9, 2, 6]])
    tokens = np.concatenate([digits, [[BAR]], np.sort(digits)], axis=1)[:, :-1]
    names = [str(token) if token < BAR else "|" for token in tokens[0]]
    weights = attention(model, tokens)[:, 0]  # (n_blocks, H, T, T)
    n_blocks, n_heads = weights.shape[:2]
    figure = Figure(figsize=(3 * n_heads, 2.4 * n_blocks + 0.5), layout="constrained")
    for axes, (block, head) in zip(figure.subplots(n_blocks, n_heads).flat, np.ndindex(n_blocks, n_heads), strict=True):
        axes.imshow(weights[block, head, LENGTH:], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axes.set_title(f"block {block}, head {head}", fontsize=9)
        axes.set_xticks(range(len(names)), names, fontsize=8)
        rows = [f"{read} writes {digit}" for read, digit in zip(names[LENGTH:], np.sort(digits)[0], strict=True)]
        axes.set_yticks(range(LENGTH), rows, fontsize=7)
    caption(
        figure,
        "How much each place that writes (rows, from the bar on) attends to each token (columns): white is nothing, "
        "dark blue all.",
    )
    return saved(figure, path)


if __name__ == "__main__":
    main()
