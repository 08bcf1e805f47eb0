"""A language model learns the text of Python's own documentation, and predicts it better than counting does.

The text is inside CPython (`pydoc_data.topics`, what `help("topics")` shows), so nothing is downloaded: about 465,000
characters, of which the last tenth is held out. Beside the model stand n-grams, which guess the next character by how
often each followed the n - 1 before it.

What to look at: the held-out loss against the table of n-grams, and the text that the model writes at the end. Ctrl-C
ends the training after a whole step and saves it; `--resume` goes on from there as if it had not been stopped.
"""

import argparse
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np

from blocks import LanguageModel
from blocks.checkpoint import load_checkpoint, save_checkpoint
from blocks.data import CharTokenizer, random_windows, split_held_out
from blocks.training import Progress, held_out_loss, train_step
from demos._charts import print_bars
from minigrad import keep_freed_memory
from minigrad.optim import AdamW, CosineDecay, decay_groups

LENGTH, BATCH = 64, 16
CONFIG = {"max_length": LENGTH, "n_blocks": 4, "d_model": 128, "n_heads": 4, "d_ff": 512, "activation": "gelu"}
MOST_N = 4


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Train a language model on the documentation inside CPython.")
    parser.add_argument("--steps", type=int, default=1000, help="steps of 16 windows of 64 characters")
    parser.add_argument("--checkpoint", type=Path, default=Path("python_docs.npz"), help="the file to save to")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--prompt", default="The ", help="what the text at the end begins with")
    options = parser.parse_args(arguments)
    keep_freed_memory()

    tokenizer = CharTokenizer(text_of_the_docs())
    train_tokens, held_out = split_held_out(tokenizer.encode(text_of_the_docs()))
    print(f"{len(train_tokens):,} characters to train on, {len(held_out):,} held out; {tokenizer.vocab_size} kinds\n")
    counted = [ngram_loss(train_tokens, held_out, n, tokenizer.vocab_size) for n in range(1, MOST_N + 1)]

    rng = np.random.default_rng(0)
    model = LanguageModel(tokenizer.vocab_size, **CONFIG, positions="rotary", dtype=np.float32, rng=rng)
    optimizer = AdamW(decay_groups(model.parameters(), 0.1), betas=(0.9, 0.98))
    start = 0
    if options.resume:
        checkpoint = load_checkpoint(options.checkpoint)
        checkpoint.restore(model, optimizer, rng)
        start = checkpoint.step
    schedule = CosineDecay(peak=3e-3, n_steps=options.steps, warmup=min(100, options.steps // 10), final=1e-4)
    progress = Progress(options.steps, start)
    for step in progress:
        optimizer.lr = schedule(step)
        tokens, targets = random_windows(train_tokens, BATCH, LENGTH, rng)
        progress.show(train_step(model, optimizer, tokens, targets), tokens.size)
    notes = {"characters": tokenizer.characters}
    save_checkpoint(options.checkpoint, model, optimizer, step=progress.done, rng=rng, notes=notes)
    print(f"\nSaved to {options.checkpoint} after step {progress.done} of {options.steps}\n")

    learned = held_out_loss(model, held_out, LENGTH)
    bars = [(f"{n}-gram", loss, f"{loss:.2f}") for n, loss in enumerate(counted, start=1)]
    print_bars("Held-out loss, in nats per character", [*bars, ("model", learned, f"{learned:.2f}")])
    print(f"\nWhat the model writes after {options.prompt!r}:\n")
    print(options.prompt, end="")
    for token in model.generate(tokenizer.encode(options.prompt), 400, temperature=0.7, rng=rng):
        print(tokenizer.decode(token), end="", flush=True)
    print()


def text_of_the_docs():
    """All topics, one after the other."""
    return "\n".join(topics[name] for name in sorted(topics))


def ngram_loss(train_tokens, held_out, n, vocab_size):
    """The held-out loss of n-grams, in nats per token:  p(token | n - 1 before it) = (count of all n + 0.1) / total."""
    counts, totals = Counter(grams(train_tokens, n)), Counter()
    for gram, count in counts.items():
        totals[gram[:-1]] += count
    asked = grams(np.concatenate([train_tokens[len(train_tokens) - n + 1 :], held_out]), n)
    chances = [(counts[gram] + 0.1) / (totals[gram[:-1]] + 0.1 * vocab_size) for gram in asked]
    return float(-np.log(chances).mean())


def grams(tokens, length):
    """All runs of `length` tokens, as tuples."""
    listed = tokens.tolist()
    return list(zip(*(listed[i : len(listed) - length + 1 + i] for i in range(length)), strict=True))


if __name__ == "__main__":
    main()
