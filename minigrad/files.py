"""Writing a file whole or not at all."""

import os
import stat
from pathlib import Path
from uuid import uuid4


def write_whole(path, content):
    """Write bytes beside the place, then move them there: a reader sees the old file or the new one, never a part.

    An old file's mode is kept, and a symbolic link stays one: the file that it points to is written. A place that is
    no file, such as /dev/null or a pipe, is written to.

    Raises:
        FileNotFoundError: the folder does not exist.
        IsADirectoryError: the path is a folder.
    """
    check_place(Path(path))
    path = Path(os.path.realpath(path))
    check_place(path)
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    beside = path.with_name(f".{path.name[:50]}.{uuid4().hex}.part")  # no other write has this name
    try:
        with open(beside, "xb") as file:
            if mode is not None:
                os.chmod(beside, mode)  # before anything can be read in it
            file.write(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def check_place(path):
    """Whether a file can be put there, before any work is done for it."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file in it")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
