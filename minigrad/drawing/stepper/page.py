"""A page in which a person steps through a forward and a backward pass."""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template

from minigrad.drawing.colors import css_properties
from minigrad.drawing.stepper.data import page_data
from minigrad.files import check_place, write_whole
from minigrad.tensor import Tensor

SCRIPTS = ("dom.js", "heatmap.js", "passes.js", "diagram.js", "outline.js", "panel.js", "page.js")


def write_stepper(
    tensor: Tensor | Sequence[Tensor],
    path: str | Path = "backprop.html",
    title: str | None = None,
    labels: Sequence[str] = (),
) -> Path:
    """Write a page that steps through the forward pass to `tensor` and the backward pass from it.

    The page is one file that needs no network and no server: open it in a browser. It shows the graph, and for each
    step the node, its rule, the source of its `backward`, and the arrays that come in and go out. If `backward()` was
    run, the gradients are those of that pass; if not, of a pass that starts with 1. No `grad` is changed either way.

    Args:
        tensor: the result to start from, usually a loss; or several, for one pass from all of them together.
        path: the file to write, in a folder that exists. An old file is replaced.
        title: the title of the page.
        labels: the tokens, as words. They stand beside the rows of arrays with one row for each, and above the columns
            of attention weights.

    Returns:
        The path. In a notebook it shows the page itself, which is saved with the notebook and needs no network.

    Raises:
        ValueError: a path that does not end in .html; a tensor that is not a single number and had no `backward()`
            with a gradient; a graph of more than 5,000 nodes.
        RuntimeError: nothing was recorded that leads to `tensor`.
        TypeError: not a tensor.
        FileNotFoundError, IsADirectoryError: no such folder, or the path is one.

    >>> import minigrad, pathlib, tempfile
    >>> x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = minigrad.write_stepper((x * x).sum(), pathlib.Path(folder) / "backprop.html")
    ...     print(written.name, written.stat().st_size < 100_000, x.grad)
    backprop.html True None
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"write_stepper: {path.name!r} must end in .html, as it is a page for a browser")
    check_place(path)
    write_whole(path, page_text(page_data(tensor, title, labels)).encode())
    return Page(path)


class Page(type(Path())):  # type: ignore[misc]  # a PosixPath or a WindowsPath
    """The path of a page that was written; in a notebook it shows the page in a frame."""

    def _repr_html_(self):
        page = escape(self.read_text("utf-8"))
        style = "width: 100%; height: 680px; border: 1px solid #d5d5cf"
        return f'<iframe title="Backprop, step by step" style="{style}" srcdoc="{page}"></iframe>'


def page_text(data):
    """The page: its own style and scripts, and the data. Its policy lets the browser run and load nothing else."""
    script = "\n".join(page_file(name) for name in SCRIPTS)
    style = css_properties() + page_file("page.css")
    return Template(page_file("page.html")).substitute(
        policy=f"default-src 'none'; script-src '{sha256(script)}'; style-src '{sha256(style)}'",
        style=style,
        script=script,
        data=json_for_script(data),
    )


def page_file(name):
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def sha256(text):
    """The name of an inline script or style in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def json_for_script(data):
    """JSON that is safe inside a script element: no `</script>` or `<!--` in a name ends it early.

    >>> json_for_script(["</script><!--"])
    '["\\\\u003c/script>\\\\u003c!--"]'
    """
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
