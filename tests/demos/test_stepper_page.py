"""The demo of the step-through page."""

import json
import re

import pytest

from demos import stepper_page


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_it_writes_a_page(tmp_path, capsys, norm):
    path = tmp_path / "page.html"
    stepper_page.main([str(path), "--norm", norm])
    assert str(path) in capsys.readouterr().out
    assert f"The lesson's block, {norm}-norm" in path.read_text(encoding="utf-8")


def test_the_photograph_is_of_the_step_that_it_says(tmp_path):
    path = tmp_path / "page.html"
    stepper_page.main([str(path)])
    text = re.search(r'<script id="data"[^>]*>(.*?)</script>', path.read_text(encoding="utf-8")).group(1)
    data = json.loads(text)
    step = data["steps"][stepper_page.STEP - 1]
    assert step["phase"] == "backward"
    assert data["nodes"][step["node"]]["path"] == "block.feed_forward_norm.layer_norm"
