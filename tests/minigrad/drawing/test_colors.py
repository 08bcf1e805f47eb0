"""One source of colours for diagram, page and plots."""

import re

import numpy as np
import pytest

from blocks import lesson_block, plot_residual_gradients, residual_gradients
from minigrad import draw, mse_loss, write_stepper
from minigrad.drawing.colors import BRANCH, PALETTE, SKIP, css_properties


@pytest.fixture
def lesson():
    block, x = lesson_block("pre")
    loss = mse_loss(block(x), np.roll(x.data, -1, axis=0))
    loss.backward()
    return loss, x


def test_skip_and_branch_in_a_diagram(parsed, lesson):
    edges = parsed(draw(lesson[0], depth=1).dot()).edges.values()
    colors = [edge["color"] for edge in edges]
    assert colors.count(SKIP) == colors.count(BRANCH) == 2


def test_skip_and_branch_in_mermaid(lesson):
    text = draw(lesson[0], depth=1).mermaid()
    assert re.search(rf"linkStyle \d+,\d+ stroke:{SKIP}", text)
    assert re.search(rf"linkStyle \d+,\d+ stroke:{BRANCH}", text)


def test_skip_and_branch_in_the_page(tmp_path, lesson):
    page = write_stepper(lesson[0], tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"--skip: {SKIP};" in page
    assert f"--branch: {BRANCH};" in page


def test_skip_and_branch_in_a_plot(lesson):
    pytest.importorskip("matplotlib", reason="plots: pip install matplotlib")
    lines = plot_residual_gradients(residual_gradients(*lesson)).axes[0].lines
    assert {line.get_label(): line.get_color() for line in lines}.items() >= {
        "over the skip": SKIP,
        "through the branch": BRANCH,
    }.items()


def test_the_page_uses_no_colour_that_nobody_defines(tmp_path, lesson):
    page = write_stepper(lesson[0], tmp_path / "page.html").read_text(encoding="utf-8")
    style = page[page.index("<style>") : page.index("</style>")]
    used, defined = set(re.findall(r"var\(--([\w-]+)", style)), set(re.findall(r"--([\w-]+):", style))
    assert used <= defined


def test_light_and_dark_screens_have_the_whole_palette():
    for name in PALETTE:
        assert css_properties().count(f"--{name}: #") == 2
