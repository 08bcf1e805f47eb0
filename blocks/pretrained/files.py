"""Files of other tools as plain arrays: `config.json`, safetensors, tokenizers. No pickle is ever read."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minigrad import Module
from minigrad.files import check_place, write_whole

DTYPES = {  # as safetensors names them; BF16 is read by hand, since NumPy lacks it
    **{"F64": np.float64, "F32": np.float32, "F16": np.float16},
    **{"I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8},
    **{"U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_},
}
MOST_PADDING = 128  # rows of a vocabulary that may be there for round numbers only


def package(name: str) -> Any:
    """An optional package, or in one line what to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        raise ImportError(f"this needs {top}: pip install 'minigrad-blocks[weights]'", name=top) from error


def read_config(folder: str | Path, model_type: str) -> dict[str, Any]:
    """`config.json` of a folder that holds a model of this type.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not JSON, or of a model of another architecture.
    """
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; a model's folder holds config.json")
    try:
        config = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: this is not whole JSON: {error}") from error
    found = config.get("model_type") if isinstance(config, dict) else None
    if found != model_type:
        raise ValueError(f"{path}: a model of another architecture: model_type is {found!r}, not {model_type!r}")
    return config


def setting(config: Mapping[str, Any], source: object, name: str, *allowed: Any) -> Any:
    """One setting; it must be there, and where values are given, be one of them.

    Raises:
        ValueError: it is missing, or of a value that the model here does not have.
    """
    if name not in config:
        raise ValueError(f"{source}: {name} is missing")
    if allowed and config[name] not in allowed:
        raise ValueError(f"{source}: {name} is {config[name]!r}; read here is {' or '.join(map(repr, allowed))}")
    return config[name]


def read_safetensors(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of a safetensors file by name; float16 and bfloat16 are widened to float32, which is exact.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is truncated, not a safetensors file, or has a dtype that NumPy lacks.
        ImportError: safetensors is not installed.
    """
    library = package("safetensors")
    content = Path(path).read_bytes()
    if content[:2] in (b"\x80\x02", b"PK"):
        raise ValueError(
            f"{path}: this looks like a pickle, which can run code when it is read, so it never is; "
            f"save the weights as safetensors"
        )
    try:
        stored = library.deserialize(content)
    except library.SafetensorError as error:
        raise ValueError(f"{path}: truncated, or not a safetensors file: {error}") from error
    return {name: widened(path, name, **entry) for name, entry in stored}


def widened(path, name, dtype, shape, data):
    """One array from its bytes. A bfloat16 is the upper half of a float32, so its bits move up by 16."""
    if dtype == "BF16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if dtype not in DTYPES:
        raise ValueError(f"{path}: {name} is stored as {dtype}; read here are BF16, {', '.join(DTYPES)}")
    array = np.frombuffer(data, DTYPES[dtype]).reshape(shape)
    return array.astype(np.float32) if dtype == "F16" else array


def read_weights(folder: str | Path) -> dict[str, np.ndarray]:
    """All arrays of a model's folder: of `model.safetensors`, or of the several files that its index lists.

    Raises:
        FileNotFoundError: neither is there, or a file of the index is not.
        ValueError: see `read_safetensors`.
    """
    whole = Path(folder) / "model.safetensors"
    index = Path(folder) / "model.safetensors.index.json"
    if whole.is_file() or not index.is_file():
        if not whole.is_file():
            pickles = [path.name for path in Path(folder).glob("*.bin")]
            hint = f"; {pickles[0]} is a pickle, which is never read: save it as safetensors" if pickles else ""
            raise FileNotFoundError(f"{whole}: there is no such file{hint}")
        return read_safetensors(whole)
    arrays: dict[str, np.ndarray] = {}
    for name in sorted(set(json.loads(index.read_bytes())["weight_map"].values())):
        arrays |= read_safetensors(Path(folder) / Path(name).name)
    return arrays


def save_safetensors(weights: Module | Mapping[str, ArrayLike], path: str | Path) -> None:
    """Write weights to a safetensors file, which many tools open; it is written whole or not at all.

    Args:
        weights: a module, or arrays by name, such as `torch_state(module)`. A module's are saved under the names of
            `named_parameters`, in (in, out) as they are; `read_safetensors` gives a dict for `load_state_dict`.
        path: the file.

    Raises:
        FileNotFoundError: there is no such folder.
        ImportError: safetensors is not installed.
    """
    library = package("safetensors.numpy")
    check_place(Path(path))
    state = weights.state_dict() if isinstance(weights, Module) else weights
    write_whole(path, library.save({name: np.ascontiguousarray(array) for name, array in state.items()}))


def read_tokenizer(path: str | Path) -> Any:
    """The `tokenizers.Tokenizer` of a `tokenizer.json`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no tokenizer.
        ImportError: tokenizers is not installed.
    """
    library = package("tokenizers")
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    try:
        return library.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
    except Exception as error:  # the library raises no class of its own
        raise ValueError(f"{path}: truncated, or not a tokenizer: {error}") from error


def check_tokenizer(tokenizer: Any, n_rows: int, source: object) -> None:
    """A tokenizer belongs to a model if each of its tokens has a row, and few rows are left over.

    Raises:
        ValueError: it does not belong.
    """
    n_tokens = tokenizer.get_vocab_size()
    if not 0 <= n_rows - n_tokens < MOST_PADDING:
        raise ValueError(
            f"{source}: this tokenizer does not belong to the model: it has {n_tokens} tokens, "
            f"and the model's embedding has {n_rows} rows"
        )
