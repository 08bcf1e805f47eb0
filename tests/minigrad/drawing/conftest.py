"""The programs that draw, and what they make of a DOT text."""

import json
import shutil
import subprocess
import sysconfig

import numpy as np
import pytest

import blocks
from minigrad import Tensor

PROGRAMS = {
    "dot": (shutil.which("dot"), "install Graphviz (https://graphviz.org/download)"),
    "graphviz-pure": (
        shutil.which("graphviz-pure", path=sysconfig.get_path("scripts")),
        "pip install graphviz-pure",
    ),
}


@pytest.fixture(params=PROGRAMS)
def renderer(request, monkeypatch):
    """Path of a program that draws; `draw` uses it in the test."""
    program, how_to_get = PROGRAMS[request.param]
    if program is None:
        pytest.skip(f"needs {request.param}: {how_to_get}")
    monkeypatch.setenv("GRAPHVIZ_DOT", program)
    return program


@pytest.fixture
def no_renderer(monkeypatch, tmp_path):
    """A machine without any program that draws."""
    monkeypatch.delenv("GRAPHVIZ_DOT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing-here"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path / "nothing-here"))


BROKEN_PROGRAMS = {
    "does nothing": "#!/bin/sh\n",
    "fails": "#!/bin/sh\necho out of ink >&2\nexit 3\n",
    "interpreter is missing": "#!/no/such/shell\n",
    "no script at all": "\1\2\3",
    "half a file": "#!/bin/sh\nprintf '<svg><g>'\nprintf '{'\n",
    "other json": "#!/bin/sh\ncat >/dev/null\necho '{}'\n",
    "bytes": "#!/bin/sh\nprintf '\\377\\376'\n",
}


@pytest.fixture(params=BROKEN_PROGRAMS)
def broken_program(request, monkeypatch, tmp_path_factory):
    """Path of a program that `draw` runs in vain."""
    program = tmp_path_factory.mktemp("broken") / "dot"
    program.write_text(BROKEN_PROGRAMS[request.param], encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("GRAPHVIZ_DOT", str(program))
    return program


@pytest.fixture
def parsed(renderer):
    """A function from DOT text to what the program read in it: nodes, edges and clusters by their id."""

    def parse(dot):
        done = subprocess.run([renderer, "-q", "-Tjson"], input=dot.encode(), capture_output=True, check=True)
        return Parsed(json.loads(done.stdout))

    return parse


class Parsed:
    def __init__(self, graph):
        things = graph.get("objects", [])
        self.nodes = {thing["id"]: thing for thing in things if not thing["name"].startswith("cluster")}
        self.clusters = {thing["id"]: thing for thing in things if thing["name"].startswith("cluster")}
        self.edges = {edge["id"]: edge for edge in graph.get("edges", [])}
        self.names = [thing["name"] for thing in things]
        self.graph = graph

    def ends(self, edge):
        return self.names[edge["tail"]], self.names[edge["head"]]


def texts(thing):
    """The texts that are drawn for a node, an edge or a cluster, in order."""
    return [op["text"] for op in thing.get("_ldraw_", []) if op["op"] == "T"]


def causal_block_output():
    """What a small block makes, with a mask of -inf in its attention."""
    block = blocks.TransformerBlock(4, 1, 8, causal=True, rng=0)
    return block(Tensor(np.random.default_rng(0).normal(size=(3, 4)), requires_grad=True, name="x"))


@pytest.fixture
def pre_norm():
    """The output of the lesson's block in its pre-norm form."""
    block, x = blocks.lesson_block("pre")
    return block(x)
