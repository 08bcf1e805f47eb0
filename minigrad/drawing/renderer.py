"""From DOT text to a picture: finding a program that can lay it out, and running it."""

import os
import shutil
import sysconfig
from pathlib import Path

HOW_TO_GET = "pip install graphviz-pure, or install Graphviz (https://graphviz.org/download)"


class NoRendererError(RuntimeError):
    """No program is there that draws this format; the message says how to get one."""


def find_renderer():
    """Path of the program: $GRAPHVIZ_DOT, else `dot`, else the pip package graphviz-pure; None if there is none.

    Raises:
        NoRendererError: $GRAPHVIZ_DOT is set, but it is no program.
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
        format: "svg", "png", "pdf" or another that the program knows.

    Raises:
        NoRendererError: no program, or none that writes this format.
        RuntimeError: the program failed; with what it said.
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
    done = subprocess.run(command, input=dot.encode(), capture_output=True, check=False)
    if done.returncode and not done.stdout.rstrip().endswith(b"</svg>"):
        said = done.stderr.decode(errors="replace").strip()[-500:]
        raise RuntimeError(f"{program} could not draw the graph (exit code {done.returncode}): {said}")
    return done.stdout
