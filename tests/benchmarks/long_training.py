"""Memory over 10,000 steps of training: it has to stay flat, also without the garbage collector.

python -m tests.benchmarks.long_training
"""

import gc
import sys

import numpy as np

from blocks import LanguageModel
from blocks.data import random_windows
from blocks.training import train_step
from minigrad.optim import AdamW, decay_groups

N_STEPS, EVERY = 10_000, 1_000


def main():
    gc.disable()  # what is not freed by counting references alone would pile up
    rng = np.random.default_rng(0)
    tokens = np.arange(1000) * 7 % 11
    model = LanguageModel(11, 8, 2, 16, 2, 32, dropout=0.1, dtype=np.float32, rng=rng)
    optimizer = AdamW(decay_groups(model.parameters(), 0.1))
    print("    step    loss  resident memory (MB)  allocated blocks")
    for step in range(N_STEPS + 1):
        loss = train_step(model, optimizer, *random_windows(tokens, 8, 8, rng))
        if step % EVERY == 0:
            print(f"{step:8,} {loss:7.3f} {resident():21.1f} {sys.getallocatedblocks():17,}", flush=True)


def resident():
    """Megabytes of this process in memory now (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


if __name__ == "__main__":
    main()
