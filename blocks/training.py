"""The training loop's parts: one step, the loss on text that was held out, and a loop that shows how far it is."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.data import all_windows
from minigrad import Module, cross_entropy, no_grad
from minigrad.optim import Optimizer, clip_grad_norm


def train_step(
    model: Module,
    optimizer: Optimizer,
    tokens: ArrayLike,
    targets: ArrayLike,
    *,
    ignore_index: int | None = None,
    max_norm: float | None = 1.0,
) -> float:
    """One step of training on one batch: forward, backward, clip, move.

    Args:
        model: gives scores (..., T, V) for tokens (..., T).
        optimizer: of the model's parameters.
        tokens, targets: integers, (..., T) each.
        ignore_index: see `cross_entropy`.
        max_norm: see `clip_grad_norm`; None leaves the gradient as it is.

    Returns:
        The loss before the step: mean cross-entropy in nats.
    """
    loss = cross_entropy(model(tokens), targets, ignore_index=ignore_index)
    optimizer.zero_grad()
    loss.backward(retain_grads=False)
    if max_norm is not None:
        clip_grad_norm(optimizer.parameters, max_norm)
    optimizer.step()
    return loss.item()


def held_out_loss(model: Module, tokens: ArrayLike, length: int, batch: int = 64) -> float:
    """Mean cross-entropy in nats over all tokens but a rest, read in windows of `length`; dropout is off meanwhile.

    Each window is read alone, so its first tokens have little to go by, and a longer window gives a lower loss.
    """
    inputs, targets = all_windows(tokens, length)  # (N, length)
    was_training = model.training
    model.eval()
    total = 0.0
    with no_grad():
        for i in range(0, len(inputs), batch):
            scores = model(inputs[i : i + batch])
            total += cross_entropy(scores, targets[i : i + batch], reduction="sum").item()
    model.train(was_training)
    return total / targets.size


class Progress:
    """The steps of a training, one after the other, with a bar: loss, tokens a second, time left.

    With tqdm installed (`pip install tqdm`) it is a bar, else some twenty plain lines. Ctrl-C ends the loop after the
    current step, so what is saved behind the loop is whole; a second one interrupts at once.

    Args:
        n_steps: the number of the last step.
        start: how many of them were done before.
        label: what stands in front.

    Attributes:
        done: how many steps are done, those before `start` included.
        interrupted: whether Ctrl-C ended it.

    >>> progress = Progress(1000)
    >>> for step in progress:  # doctest: +SKIP
    ...     loss = train_step(model, optimizer, tokens, targets)
    ...     progress.show(loss, tokens.size)
    """

    def __init__(self, n_steps: int, start: int = 0, label: str = "training"):
        self.n_steps, self.start, self.label = n_steps, start, label
        self.done, self.interrupted = start, False
        self.began = time.monotonic()
        self.n_tokens, self.loss = 0, float("nan")

    def show(self, loss: float, n_tokens: int) -> None:
        """Tell the loss of the current step, and how many tokens it read. The loss is shown as a running mean."""
        self.loss = loss if np.isnan(self.loss) else 0.95 * self.loss + 0.05 * loss
        self.n_tokens += n_tokens

    def __iter__(self) -> Iterator[int]:
        """The steps from `start` to n_steps - 1."""
        self.began = time.monotonic()
        bar = self.bar()
        in_main_thread = threading.current_thread() is threading.main_thread()
        earlier: Any = signal.signal(signal.SIGINT, self.interrupt) if in_main_thread else None
        try:
            for step in range(self.start, self.n_steps):
                yield step
                self.done = step + 1
                self.draw(bar)
                if self.interrupted:
                    break
        finally:
            if in_main_thread:
                signal.signal(signal.SIGINT, earlier)
            if bar is not None:
                bar.close()

    def interrupt(self, *_: Any) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        print("\nEnding after this step; Ctrl-C again interrupts at once", file=sys.stderr)

    def bar(self) -> Any:
        """tqdm's bar, or None without it."""
        try:
            from tqdm import tqdm  # noqa: PLC0415  optional
        except ImportError:
            return None
        return tqdm(total=self.n_steps, initial=self.start, desc=self.label, unit="step", dynamic_ncols=True)

    def draw(self, bar: Any) -> None:
        seconds = time.monotonic() - self.began
        rate = self.n_tokens / max(seconds, 1e-9)
        if bar is not None:
            bar.set_postfix_str(f"loss {self.loss:.3f}, {rate:,.0f} tokens/s", refresh=False)
            bar.update()
        elif self.done == self.n_steps or (self.done - self.start) % max(1, (self.n_steps - self.start) // 20) == 0:
            left = seconds / (self.done - self.start) * (self.n_steps - self.done)
            step = f"{self.label}: step {self.done} of {self.n_steps}"
            print(f"{step}, loss {self.loss:.3f}, {rate:,.0f} tokens/s, {left:.0f} s left", flush=True)
