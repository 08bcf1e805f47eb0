"""A tool and the file that it is in have one name; whatever is imported first, the name means the tool."""

import inspect
import subprocess
import sys

import pytest

import minigrad
from minigrad import debugging

TOOLS = ("break_at", "detect_anomaly", "explain", "find", "why")


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_is_in_the_file_of_its_name(name):
    tool = getattr(debugging, name)
    assert tool.__module__ == f"minigrad.debugging.{name}"
    assert getattr(minigrad, name) is tool


@pytest.mark.parametrize(
    "first",
    [
        "import minigrad.debugging.why",
        "import minigrad.debugging.explain, minigrad.debugging.terminal, minigrad.step",
        "from minigrad.debugging.detect_anomaly import Anomaly",
        "import importlib; importlib.import_module('minigrad.debugging.find')",
        "import minigrad.drawing, minigrad.debugging",
        "import minigrad; minigrad.why; import minigrad.debugging.break_at",
        "from minigrad import *",
    ],
)
def test_any_order_of_imports(first):
    program = f"{first}\nimport inspect, minigrad\nfrom minigrad import debugging\n"
    for name in TOOLS:
        program += f"from minigrad import {name}\nassert {name} is minigrad.{name} is debugging.{name}\n"
        program += f"assert not inspect.ismodule({name})\n"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_files_can_be_reached_all_the_same():
    assert all(inspect.ismodule(sys.modules[f"minigrad.debugging.{name}"]) for name in TOOLS)
