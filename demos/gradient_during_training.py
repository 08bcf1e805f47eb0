"""How the gradient through each residual changes while a model learns, pre-norm beside post-norm.

Two models of four blocks, alike but for the place of their norms, learn to sort digits. Every few steps three things
are measured at each of the eight residuals: the skip's share of the gradient, the gradient's norm, and how much the
step changed the sublayer's weights, |change| / |weights|.

What to look at: the first row of the maps, where the pre-norm model begins with almost nothing over the first skip. The
reason is the size of the embeddings, which start with a deviation of 0.02. The norm in front of the first attention
divides its input by that deviation, and so multiplies the gradient through the branch by 1 / 0.03 or so, while over the
skip it comes as it is. The demo checks that this is the reason: with embeddings fifty times larger the skip has most of
it from the start. The share could grow with the embeddings alone, and these hardly grow in so few steps.
"""

import argparse
from textwrap import fill

import numpy as np

from blocks import LanguageModel, residual_gradients
from blocks.training import Progress
from demos._charts import save_plot
from demos.sort_digits import BAR, LENGTH, batch
from minigrad import cross_entropy, keep_freed_memory
from minigrad.optim import AdamW, CosineDecay, clip_grad_norm
from minigrad.precision import norm as length_of
from minigrad.residuals.plots import caption, saved
from minigrad.residuals.tables import Table

SHAPE = {"n_blocks": 4, "d_model": 32, "n_heads": 4, "d_ff": 64, "activation": "gelu"}
MEASURES = ("skip's share of the gradient", "gradient norm at the residual", "update / weights of the sublayer")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The gradient at each residual while a model learns.")
    parser.add_argument("--steps", type=int, default=300, help="steps of 32 sequences, for each of the two models")
    parser.add_argument("--plot", default="gradient_during_training.png", help="the file to plot to")
    options = parser.parse_args(arguments)
    keep_freed_memory()

    runs = {norm: trained(norm, options.steps, every=max(1, options.steps // 60)) for norm in ("pre", "post")}
    for norm, (_, measured, losses) in runs.items():
        print(f"\n{table_of(norm, measured)}\n\nLoss: {losses[0]:.2f} at first, {losses[-1]:.2f} at last")
    print(f"\n{in_two_sentences(runs)}")
    save_plot(plot_runs, options.plot, runs)


def model_of(norm, scale=1.0, seed=0):
    """A model whose embeddings are `scale` times as large as usual."""
    model = LanguageModel(BAR + 1, 2 * LENGTH, norm=norm, **SHAPE, dtype=np.float32, rng=seed)
    for embedding in (model.tokens, model.positions):
        embedding.weight.data = embedding.weight.data * np.float32(scale)
    return model


def trained(norm, n_steps, every):
    """Train, and measure at every so many steps.

    Returns:
        the steps that were measured, (n,); MEASURES at them, (3, residuals, n); the losses.
    """
    rng = np.random.default_rng(0)
    model = model_of(norm)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.98))
    schedule = CosineDecay(peak=2e-3, n_steps=n_steps, warmup=n_steps // 10)
    steps, measured, losses = [], [], []
    progress = Progress(n_steps, label=f"{norm}-norm")
    for step in progress:
        optimizer.lr = schedule(step)
        tokens, targets = batch(32, rng)
        loss = cross_entropy(model(tokens), targets, ignore_index=-1)
        residuals = residual_gradients(loss) if step % every == 0 else None
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        clip_grad_norm(model.parameters(), 1.0)
        before = model.state_dict()
        optimizer.step()
        if residuals is not None:
            steps.append(step)
            shares, norms = [r.skip_share for r in residuals], [length_of(r.total) for r in residuals]
            measured.append((shares, norms, [change_of(sublayer, before) for sublayer in sublayers(model)]))
        losses.append(loss.item())
        progress.show(losses[-1], tokens.size)
    return np.array(steps), np.moveaxis(np.array(measured), 0, -1), losses


def sublayers(model):
    """The sublayer of each residual, in order."""
    return [sublayer for block in model.blocks for sublayer in (block.attention, block.feed_forward)]


def change_of(sublayer, before):
    """|change| / |weights| of a sublayer over one step, all its parameters as one vector; `before` by full name."""
    parameters = sublayer.parameters()
    change = np.concatenate([(p.data - before[p.name]).ravel() for p in parameters])
    return length_of(change) / length_of(np.concatenate([before[p.name].ravel() for p in parameters]))


def table_of(norm, measured):
    """The three measures at the first and the last step."""
    (first, last) = measured[:, :, 0], measured[:, :, -1]
    rows = []
    for i in range(measured.shape[1]):
        name = f"block {i // 2}, {'feed-forward' if i % 2 else 'attention'}"
        share, size, change = ((a[i], b[i]) for a, b in zip(first, last, strict=True))
        rows.append(
            (
                name,
                "{:.1%} -> {:.1%}".format(*share),
                "{:.1e} -> {:.1e}".format(*size),
                "{:.1e} -> {:.1e}".format(*change),
            )
        )
    header = ("residual", "skip share", "gradient norm", "update / weights")
    return Table(f"{norm}-norm, from the first step to the last", header, rows)


def in_two_sentences(runs):
    """What is seen, with the numbers of this run; and the check of the reason."""
    pre, post = runs["pre"][1], runs["post"][1]
    large = first_share(model_of("pre", scale=50))
    pre_first, pre_last = pre[0, 1:, 0].mean(), pre[0, 1:, -1].mean()
    post_first, post_last = post[0, 1:, 0].mean(), post[0, 1:, -1].mean()
    return fill(
        f"Over the first attention's skip comes {pre[0, 0, 0]:.2%} of the pre-norm model's gradient at first, and "
        f"{pre[0, 0, -1]:.2%} at last: the norm divides the small embeddings by their deviation, which multiplies what "
        f"comes back through the branch (with embeddings fifty times as large the skip has {large:.0%} from the start, "
        f"and with post-norm, whose branches read the stream as it is, {post[0, 0, 0]:.0%}). At the residuals behind "
        f"it the skip has {pre_first:.0%} on average at first and {pre_last:.0%} at last in the pre-norm model, and "
        f"{post_first:.0%} and {post_last:.0%} in the post-norm model: what the branches learn takes a part of the "
        f"gradient.",
        width=112,
    )


def first_share(model):
    """The skip's share at the first residual, before training."""
    tokens, targets = batch(32, np.random.default_rng(0))
    return residual_gradients(cross_entropy(model(tokens), targets, ignore_index=-1))[0].skip_share


def plot_runs(runs, path):
    """Three maps for each model, training step by residual."""
    from matplotlib.colors import LogNorm  # noqa: PLC0415  optional
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(10, 7.5), layout="constrained")
    grid = figure.subplots(len(MEASURES), len(runs), sharex=True, sharey=True)
    for row, measure in enumerate(MEASURES):
        values = np.concatenate([measured[row].ravel() for _, measured, _ in runs.values()])
        values = values[values > 0]
        scale = {"vmin": 0, "vmax": 1} if row == 0 else {"norm": LogNorm(np.percentile(values, 2), values.max())}
        for axes, (norm, (steps, measured, _)) in zip(grid[row], runs.items(), strict=True):
            n = measured.shape[1]
            extent = (steps[0], 2 * steps[-1] - steps[-2] if len(steps) > 1 else 1, n - 0.5, -0.5)
            image = axes.imshow(measured[row], aspect="auto", extent=extent, interpolation="nearest", **scale)
            axes.set_yticks(range(n), [f"{i // 2} {'feed-forward' if i % 2 else 'attention'}" for i in range(n)])
            axes.set_title(f"{norm}-norm: {measure}", fontsize=10)
        figure.colorbar(image, ax=list(grid[row]))
    for axes in grid[-1]:
        axes.set_xlabel("training step")
    caption(
        figure,
        "Each row of a map is one residual, named by its block and sublayer, from the input (top) to the output. A "
        "share is the part that came over the skip, along the whole gradient there.",
    )
    return saved(figure, path)


if __name__ == "__main__":
    main()
