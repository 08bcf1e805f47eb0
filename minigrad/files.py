"""Writing a file whole or not at all."""

import os
from pathlib import Path


def write_whole(path, content):
    """Write bytes beside the place, then move them there: a reader sees the old file or the new one, never a part.

    Raises:
        FileNotFoundError: the folder does not exist.
        IsADirectoryError: the path is a folder.
    """
    path = Path(path)
    check_place(path)
    beside = path.with_name(f".{path.name[:50]}.{os.getpid()}.part")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def check_place(path):
    """Whether a file can be put there, before any work is done for it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
