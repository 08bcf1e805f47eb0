"""What Tab, dir() and help() show of the package: every public name, and nothing else."""

import pydoc
import re
import subprocess
import sys

import pytest

import blocks
import minigrad

PUBLIC = sorted(minigrad.__all__)


def test_dir_lists_the_public_names_also_those_loaded_on_demand():
    program = "import minigrad; print(*dir(minigrad))"  # in a process of its own, where nothing is loaded yet
    listed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8", check=True
    ).stdout.split()
    assert sorted(set(listed) - {"__version__", "optim"}) == PUBLIC


def test_names_loaded_on_demand_are_public_and_there():
    for names in minigrad.ON_DEMAND.values():
        for name in names:
            assert name in minigrad.__all__
            assert callable(getattr(minigrad, name))


def test_an_unknown_name_is_an_attribute_error_that_says_so():
    with pytest.raises(AttributeError, match=r"module 'minigrad' has no attribute 'sofmax'"):
        minigrad.sofmax  # noqa: B018


def test_help_begins_with_every_public_name():
    named = set(re.findall(r"\w+", minigrad.__doc__))
    assert set(PUBLIC) <= named, f"say in the docstring of minigrad what there is: {set(PUBLIC) - named}"
    text = pydoc.render_doc(minigrad, renderer=pydoc.plaintext)
    assert text.index("write_stepper") < text.index("PACKAGE CONTENTS")


@pytest.mark.parametrize("package", [minigrad, blocks])
def test_help_shows_every_public_function_and_class_with_its_docstring(package):
    text = pydoc.render_doc(package, renderer=pydoc.plaintext)
    for name in package.__all__:
        member = getattr(package, name)
        if callable(member):
            assert re.search(rf"^    (class )?{name}\(", text, re.MULTILINE), name
            assert member.__doc__, name


def test_the_version_is_a_plain_one():
    assert re.fullmatch(r"\d+\.\d+\.\d+", minigrad.__version__)
