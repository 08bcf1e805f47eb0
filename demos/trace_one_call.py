"""One sentence through every stage of a language model, down to the next letter's probabilities, and back.

A small model learns five lines by heart first, letter by letter. Then one of them, without its end, goes through: text,
tokens, embeddings, positions, the stream through two blocks, scores, probabilities, the next letter. Of each stage the
shape is printed, and the first numbers of the last letter, which is the one that the next letter is read from.

The way back is the gradient of the logarithm of the next letter's probability. What to look at: which letters of the
sentence it reaches most, since the model chose by them; and, at each residual, how much of it came over the skip.
"""

import argparse

import numpy as np

from blocks import LanguageModel, residual_gradients
from blocks.data import CharTokenizer, padded
from blocks.training import Progress, train_step
from demos._charts import print_bars
from minigrad import find, log_softmax
from minigrad.optim import AdamW, CosineDecay
from minigrad.precision import norm
from minigrad.residuals.tables import Table

LINES = (
    "the cat sat on the mat.",
    "the dog dug in the fog.",
    "a fish has a wish.",
    "the bee is in the tree.",
    "an owl has a towel.",
)
SENTENCE = "the bee is in the tre"

BLOCK_STAGES = (  # what a block does, and the op whose result it is
    ("norm: each letter has mean 0 and deviation 1", "attention_norm.layer_norm"),
    ("queries: what each letter looks for", "attention.query.linear"),
    ("keys: what it offers", "attention.key.linear"),
    ("values: what it hands over", "attention.value.linear"),
    ("weights: how much it attends to each letter, by head", "attention.softmax"),
    ("heads together, through one map", "attention.output.linear"),
    ("residual: the stream and what attention wrote", "attention_residual"),
    ("norm", "feed_forward_norm.layer_norm"),
    ("feed-forward, in the middle", "feed_forward.gelu"),
    ("feed-forward, its end", "feed_forward.down.linear"),
    ("residual: the stream and what it wrote", "feed_forward_residual"),
)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="One sentence through every stage of a language model, and back.")
    parser.add_argument("--sentence", default=SENTENCE, help="what the model reads; letters of its lines")
    parser.add_argument("--steps", type=int, default=150, help="steps of training before")
    options = parser.parse_args(arguments)

    tokenizer = CharTokenizer("".join(LINES) + options.sentence)
    model = trained(tokenizer, max(len(options.sentence), 24), options.steps)
    tokens = tokenizer.encode(options.sentence)  # (T,)
    scores = model(tokens)  # (T, V)
    log_p = log_softmax(scores)  # (T, V)
    likeliest = int(scores.data[-1].argmax())
    log_p_next = log_p[-1, likeliest]  # a number
    log_p_next.backward()

    print(f"\nText         {options.sentence!r}")
    print(f"Tokens       {tokens.shape}: {' '.join(map(str, tokens))}\n")
    print(forward_table(model, log_p_next, scores))
    p = np.exp(log_p.data[-1])  # (V,)
    bars = [(repr(tokenizer.decode(token)), p[token], f"{p[token]:.1%}") for token in np.argsort(-p)[:5]]
    print_bars("\nProbabilities of the next letter", bars, 1.0)
    print(f"\nThe next letter is {tokenizer.decode(likeliest)!r}: {options.sentence + tokenizer.decode(likeliest)!r}\n")

    embedded = find(log_p_next, "add")  # (T, d_model)
    sizes = np.linalg.norm(embedded.grad, axis=-1)  # (T,)
    bars = [(f"{place:2} {options.sentence[place]!r}", size, f"{size:.1e}") for place, size in enumerate(sizes)]
    print_bars("And back: the gradient of ln p(next letter) at each letter's embedding, its norm", bars)
    print(f"\n{residual_gradients(log_p_next, embedded)}")


def trained(tokenizer, max_length, n_steps):
    model = LanguageModel(tokenizer.vocab_size, max_length, 2, 24, 2, 96, activation="gelu", rng=0)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.98))
    schedule = CosineDecay(peak=1e-2, n_steps=n_steps, warmup=n_steps // 10)
    tokens, real = padded([tokenizer.encode(line) for line in LINES])  # (B, T)
    targets = np.where(real, tokens, -1)
    progress = Progress(n_steps, label="learning five lines")
    for step in progress:
        optimizer.lr = schedule(step)
        progress.show(train_step(model, optimizer, tokens[:, :-1], targets[:, 1:], ignore_index=-1), tokens.size)
    return model


def forward_table(model, loss, scores):
    """Each stage: its shape, and how its numbers begin at the last letter."""
    stages = [
        ("token embeddings: one row of the table for each token", find(loss, "tokens.embedding")),
        ("position embeddings", find(loss, "positions.embedding")),
        ("their sum, where the stream begins", find(loss, "add")),
    ]
    for i in range(len(model.blocks)):
        stages += [(f"block {i}  {words}", find(loss, f"blocks.{i}.{op}")) for words, op in BLOCK_STAGES]
    stages += [("norm at the end", find(loss, "final_norm.layer_norm")), ("scores: one for each letter", scores)]
    rows = []
    for words, tensor in stages:
        numbers = tensor.data[..., -1, :].reshape(-1)[:4]
        rows.append(
            (words, str(tensor.shape), f"{norm(tensor.data):.3g}", " ".join(f"{number:7.3f}" for number in numbers))
        )
    return Table("The way there", ("stage", "shape", "norm", "at the last letter"), rows)


if __name__ == "__main__":
    main()
