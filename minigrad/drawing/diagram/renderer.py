"""From DOT text to a picture: finding a Graphviz program, and running it."""

import os
import shutil
import sysconfig
from pathlib import Path

PATIENCE = 120.0  # seconds
HOW_TO_GET = "pip install graphviz-pure, or install Graphviz (https://graphviz.org/download)"

RENDERED = {  # the formats of pictures, with how a whole file begins and ends
    "svg": (b"<", b"</svg>"),
    "png": (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
    "pdf": (b"%PDF", b"%%EOF"),
}
MARKS = {**RENDERED, "json": (b"{", b"}")}  # json is a layout, for whoever draws it


class RendererError(RuntimeError):
    """The drawing program could not be run, or its output is incomplete; the message has its name and its words."""


class NoRendererError(RendererError):
    """No program that draws this format was found; the message says how to get one."""


def find_renderer():
    """Path of the program: $GRAPHVIZ_DOT, else `dot`, else the pip package graphviz-pure; None if there is none.

    Raises:
        NoRendererError: $GRAPHVIZ_DOT is set, but not to a program.
    """
    chosen = os.environ.get("GRAPHVIZ_DOT")
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise NoRendererError(f"$GRAPHVIZ_DOT is {chosen!r}, which is no program that can be run")
        return found
    scripts = sysconfig.get_path("scripts")
    return shutil.which("dot") or shutil.which("graphviz-pure", path=scripts) or shutil.which("graphviz-pure")


def render(dot, format):
    """The picture of a DOT text as bytes.

    Args:
        dot: the text.
        format: one of `MARKS`.

    Raises:
        NoRendererError: no program, or none that writes this format.
        RendererError: the program cannot be run, failed, was not done in time, or gave something else; with what it
            said. It has 120 seconds, or as many as $MINIGRAD_RENDERER_TIMEOUT says.
    """
    import subprocess  # noqa: PLC0415  here, so that `import minigrad` stays quick

    program = find_renderer()
    if program is None:
        raise NoRendererError(f"no Graphviz program to draw a {format}: {HOW_TO_GET}")
    pure = "pure" in Path(program).stem
    if pure and format == "pdf":
        raise NoRendererError(
            "graphviz-pure draws no pdf: install Graphviz (https://graphviz.org/download), or draw svg"
        )
    command = [program, "-q", f"-T{format}"]
    try:
        done = subprocess.run(command, input=dot.encode(), capture_output=True, check=False, timeout=patience())
    except subprocess.TimeoutExpired as error:
        raise RendererError(
            f"{program} was not done after {error.timeout:g} seconds and was stopped: draw less (depth=1), or give it "
            f"longer with $MINIGRAD_RENDERER_TIMEOUT (seconds)"
        ) from None
    except OSError as error:
        raise RendererError(f"{program} cannot be run: {error.strerror}; {HOW_TO_GET}") from error
    failed = done.returncode and format != "svg"  # graphviz-pure can fail over a detail that it left out of a whole svg
    if failed or not is_whole(done.stdout, format):
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-500:] or "it said nothing"
        raise RendererError(f"{program} drew no whole {format} (exit code {done.returncode}): {said}")
    return done.stdout


def patience():
    """How many seconds a program has.

    Raises:
        RendererError: $MINIGRAD_RENDERER_TIMEOUT is no positive number.
    """
    said = os.environ.get("MINIGRAD_RENDERER_TIMEOUT", PATIENCE)
    try:
        seconds = float(said)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise RendererError(f"$MINIGRAD_RENDERER_TIMEOUT is {said!r}; it should be a number of seconds, such as 60")
    return seconds


def is_whole(content, format):
    """Whether bytes begin and end as a file of the format does, and are text where a reader needs it.

    >>> is_whole(b"<svg></svg>", "svg"), is_whole(b"<svg>", "svg"), is_whole(b"", "png")
    (True, False, False)
    """
    start, end = MARKS[format]
    return content.startswith(start) and content.rstrip().endswith(end) and (format != "svg" or is_utf8(content))


def is_utf8(content):
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
