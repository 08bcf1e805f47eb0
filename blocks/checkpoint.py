"""A training in one file: weights, configuration, optimizer, step and random numbers, as if it had never stopped.

The file is NumPy's .npz, and holds no pickle: `np.load(path)` shows what is in it, and loading one runs no code of its
author. `weights/NAME` is a parameter, named as in `named_parameters`; `optimizer/m/NAME` is what an optimizer remembers
of it; `about` is JSON with all the rest.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from minigrad import Module
from minigrad.files import check_place, write_whole
from minigrad.optim import Optimizer

FORMAT = "minigrad checkpoint 1"


class Checkpoint:
    """What a checkpoint file holds; `restore` puts it back.

    Attributes:
        config: how the model was built, as it was given to `save_checkpoint`.
        step: how many steps were done.
        notes: whatever else was saved with it.
        weights: arrays by parameter name.
        optimizer: None, or a dict with the optimizer's type, learning rate and what it remembers of each parameter.
        random: the states of the random numbers' sources, by name.
    """

    def __init__(self, about: dict[str, Any], arrays: dict[str, np.ndarray], path: str | Path):
        self.config, self.step, self.notes = about["config"], about["step"], about["notes"]
        self.random = about["random"]
        self.path = path
        self.weights = below(arrays, "weights/")
        self.optimizer: dict[str, Any] | None = about["optimizer"]
        if self.optimizer is not None:
            self.optimizer["arrays"] = below(arrays, "optimizer/")

    def restore(
        self, model: Module, optimizer: Optimizer | None = None, rng: np.random.Generator | None = None
    ) -> None:
        """Put the weights into the model, and the states into optimizer and rng. Nothing is changed unless all fits.

        Raises:
            KeyError, ValueError: names or shapes that differ, all of them listed.
        """
        before = model.state_dict()
        model.load_state_dict(self.weights)
        try:
            states = None if optimizer is None else self.optimizer_states(model, optimizer)
            self.restore_random(model, rng)
        except BaseException:
            model.load_state_dict(before)
            raise
        if optimizer is not None and states is not None:
            optimizer.state = states
            optimizer.lr = self.optimizer["lr"]  # type: ignore[index]

    def optimizer_states(self, model: Module, optimizer: Optimizer) -> dict[Any, dict[str, Any]]:
        """The optimizer's `state`, as it was."""
        if self.optimizer is None:
            raise ValueError(f"{self.path} holds no optimizer: it was saved without one")
        wanted = type(optimizer).__name__
        if wanted != self.optimizer["type"]:
            raise ValueError(f"{self.path} holds the state of {self.optimizer['type']}, not of {wanted}")
        names = names_of(model, optimizer)
        expected = {f"{key}/{name}" for p, name in names.items() for key in optimizer.state[p]}
        found = self.optimizer["arrays"]
        if expected != found.keys():
            missing, unknown = sorted(expected - found.keys()), sorted(found.keys() - expected)
            raise KeyError(
                f"{self.path}: the optimizer moves other parameters; missing there: {', '.join(missing) or 'none'}; "
                f"unknown here: {', '.join(unknown) or 'none'}"
            )
        return {
            p: {key: as_was(value, found[f"{key}/{name}"]) for key, value in optimizer.state[p].items()}
            for p, name in names.items()
        }

    def restore_random(self, model: Module, rng: np.random.Generator | None) -> None:
        sources = random_sources(model, rng)
        if rng is not None and "rng" not in self.random:
            raise ValueError(f"{self.path} holds no state for rng: it was saved without one")
        for name, source in sources.items():
            if name in self.random:
                source.bit_generator.state = self.random[name]

    def __repr__(self) -> str:
        count = sum(array.size for array in self.weights.values())
        kind = "no optimizer" if self.optimizer is None else self.optimizer["type"]
        return f"<Checkpoint {self.path}: step {self.step}, {count:,} parameters, {kind}>"


def save_checkpoint(
    path: str | Path,
    model: Module,
    optimizer: Optimizer | None = None,
    *,
    step: int = 0,
    rng: np.random.Generator | None = None,
    config: dict[str, Any] | None = None,
    notes: Any = None,
) -> None:
    """Write a training into one file, whole or not at all: while it is written, an older file of that name stays.

    A weight that is used in two places is stored once, under its first name.

    Args:
        path: the file, `.npz` by custom.
        model: its parameters, and the random numbers of its dropout.
        optimizer: what it remembers of each parameter, and its learning rate.
        step: how many steps are done.
        rng: the source of random numbers that the training draws its batches from.
        config: how the model was built, as JSON can say it; by default `model.config`, if it has one.
        notes: anything else that JSON can say, such as a tokenizer's characters.

    Raises:
        OSError: the file cannot be written, as when the disk is full; nothing was changed.
        TypeError: a config or notes that JSON cannot say.
    """
    check_place(Path(path))
    names = {p: name for name, p in model.named_parameters()}
    arrays = {f"weights/{name}": p.data for p, name in names.items()}
    about: dict[str, Any] = {
        "format": FORMAT,
        "step": step,
        "config": config if config is not None else getattr(model, "config", None),
        "notes": notes,
        "random": {name: source.bit_generator.state for name, source in random_sources(model, rng).items()},
        "optimizer": None,
    }
    if optimizer is not None:
        about["optimizer"] = {"type": type(optimizer).__name__, "lr": float(optimizer.lr)}
        for p, name in names_of(model, optimizer).items():
            arrays |= {f"optimizer/{key}/{name}": np.asarray(value) for key, value in optimizer.state[p].items()}
    try:
        arrays["about"] = np.array(json.dumps(about, default=as_plain))
    except TypeError as error:
        raise TypeError(f"save_checkpoint: config and notes are what JSON can say; {error}") from None
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    try:
        write_whole(path, content.getvalue())
    except OSError as error:
        error.strerror = f"{error.strerror}: the checkpoint was not written, and a file that was there is as it was"
        raise


def load_checkpoint(path: str | Path) -> Checkpoint:
    """Read a file of `save_checkpoint`.

    >>> from blocks import LanguageModel
    >>> checkpoint = load_checkpoint("model.npz")                  # doctest: +SKIP
    >>> model = LanguageModel(**checkpoint.config)                 # doctest: +SKIP
    >>> checkpoint.restore(model)                                  # doctest: +SKIP

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no checkpoint, or damaged, such as cut short.
    """
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        is_ours = about["format"] == FORMAT
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is no checkpoint, or a damaged one, such as one that was cut short: {error}"
        ) from None
    if not is_ours:
        raise ValueError(f"{path} is a checkpoint of another kind: {about['format']!r}, where {FORMAT!r} is read")
    return Checkpoint(about, arrays, path)


def below(arrays, prefix):
    """The arrays whose names begin with `prefix`, by the rest of the name."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def names_of(model, optimizer):
    """The name in the model of each parameter that the optimizer moves."""
    names = {p: name for name, p in model.named_parameters()}
    if strangers := [p for p in optimizer.parameters if p not in names]:
        raise ValueError(f"the optimizer moves what is no parameter of the model: {strangers}")
    return {p: names[p] for p in optimizer.parameters}


def as_was(example, array):
    """An array of its own, which the optimizer may change in place; or a number, where `example` is one."""
    return array.copy() if isinstance(example, np.ndarray) else type(example)(array)


def random_sources(model, rng):
    """The sources of random numbers: "rng", and those that modules hold (dropout), by name."""
    sources = {} if rng is None else {"rng": rng}
    for name, module in model.named_modules():
        for attribute, value in vars(module).items():
            if isinstance(value, np.random.Generator):
                sources[f"model.{name}.{attribute}".replace("..", ".")] = value
    return sources


def as_plain(value):
    """For JSON: NumPy's numbers, arrays (in the state of some random sources) and dtypes."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (type, np.dtype)):
        return np.dtype(value).name
    raise TypeError(f"got {value!r}")
