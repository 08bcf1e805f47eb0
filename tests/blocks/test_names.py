"""The names of `blocks`: all of them found by Tab and help, and none of the heavy ones loaded before it is used."""

import pydoc
import subprocess
import sys

import pytest

import blocks
from minigrad import residuals


@pytest.mark.parametrize("package", [blocks, residuals], ids=lambda package: package.__name__)
def test_dir_and_help_show_every_public_name(package):
    assert dir(package) == sorted(package.__all__)
    text = pydoc.plain(pydoc.render_doc(package))
    for name in package.__all__:
        assert f"class {name}(" in text or f"    {name}(" in text


def test_blocks_offers_all_of_the_residual_tools():
    for name in residuals.__all__:
        assert name in blocks.__all__
        assert getattr(blocks, name) is getattr(residuals, name)


@pytest.mark.parametrize("package", [blocks, residuals], ids=lambda package: package.__name__)
def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'residual_gradient'"):
        _ = package.residual_gradient


def test_importing_blocks_loads_neither_drawing_nor_debugging():
    code = "import sys, blocks; print(*sys.modules)"
    modules = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout.split()
    assert "blocks.transformer" in modules
    for heavy in ("minigrad.drawing", "minigrad.debugging", "minigrad.residuals.split", "graphviz", "matplotlib"):
        assert heavy not in modules
