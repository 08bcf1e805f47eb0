"""The demos on the lesson's block print what the lesson prints, and draw what they promise."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blocks import lesson_block
from demos import draw_graph, residual_gradients, step_backprop, worked_example

ROOT = Path(__file__).parents[2]

LESSON_OUTPUT = """\
Input X (embeddings + positional info):
 [[ 0.666  0.358 -0.773 -0.004]
 [ 0.311 -0.36   0.133  0.054]
 [ 0.002 -0.087  0.217  0.602]]

Attention output:
 [[ 0.0025 -0.0263  0.0496 -0.0689]
 [ 0.0042 -0.0223  0.0435 -0.0615]
 [ 0.0045 -0.0213  0.0419 -0.0598]]

After residual + LayerNorm #1:
 [[ 1.1912  0.5414 -1.4936 -0.239 ]
 [ 1.1068 -1.5577  0.5769 -0.126 ]
 [-0.6725 -1.1314  0.3359  1.4679]]
Per-token mean (should be ~0): [-0.  0.  0.]
Per-token std (should be ~1): [1. 1. 1.]

FFN output:
 [[ 1.9638  0.1528  1.2474  0.4519]
 [ 3.1725  0.1888 -0.1246 -1.0979]
 [ 0.2807 -0.3287  0.4014  0.3484]]

After residual + LayerNorm #2 (Transformer block OUTPUT):
 [[ 1.6756 -0.1978 -0.9137 -0.5641]
 [ 1.6443 -0.8359 -0.0362 -0.7722]
 [-0.4629 -1.3349  0.4586  1.3392]]
Per-token mean (should be ~0): [0. 0. 0.]
Per-token std (should be ~1): [1. 1. 1.]

Input shape: (3, 4) -> Output shape: (3, 4) (UNCHANGED)
"""


def without_signs_of_zero(text):
    """A mean of 1e-17 prints as 0 or as -0, whichever way the last bit of a product fell."""
    return re.sub(r"\[ *", "[", re.sub(r" *-?0\.(?=[ \]])", " 0.", text))


def test_worked_example_prints_the_lessons_output(capsys):
    worked_example.main()
    printed = capsys.readouterr().out
    assert without_signs_of_zero(printed) == without_signs_of_zero(LESSON_OUTPUT)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_main_job_prints_both_tables_and_draws(norm, capsys, tmp_path):
    residual_gradients.main(["--norm", norm, "--picture", str(tmp_path / "picture.dot")])
    printed = capsys.readouterr().out
    for words in ("block.attention_residual", "block.feed_forward_residual", "skip   skip", "branch branch", "100.0%"):
        assert words in printed
    assert "picture.dot" in printed
    assert "attention_residual" in (tmp_path / "picture.dot").read_text(encoding="utf-8")


def test_draw_graph_writes_four_pictures(capsys, tmp_path):
    draw_graph.main(["--folder", str(tmp_path), "--format", "dot"])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"flowchart.dot", "sublayers.dot", "every_op.dot", "after_backward.dot"}


def test_step_backprop_shows_every_node_once(capsys):
    step_backprop.main([])
    printed = capsys.readouterr().out
    assert printed.startswith("\n1. mse_loss\n   loss = mean (y - t)^2")
    steps = [line for line in printed.splitlines() if line[:1].isdigit()]
    assert [int(line.split(".")[0]) for line in steps] == list(range(1, len(steps) + 1))
    assert sum("softmax" in line for line in steps) == 1
    assert sum(line.endswith("residual") for line in steps) == 2
    assert "asks for no gradient" in printed


def test_step_backprop_stops_in_pdb_one_step_before_the_rule():
    command = [sys.executable, "-m", "demos.step_backprop", "--pdb", "*softmax"]
    to_the_rule = "next\nstep\n" if sys.version_info >= (3, 13) else "step\n"  # newer pdb stops on breakpoint() itself
    keys = to_the_rule + "next\np grad_y.shape\np self.y.shape\np self.path\ncontinue\n"
    result = subprocess.run(
        command, input=keys, capture_output=True, text=True, encoding="utf-8", cwd=ROOT, check=False, timeout=60
    )
    assert "in backward" in result.stdout or "backward(self, grad_y)" in result.stdout
    assert result.stdout.count("(1, 3, 3)") == 2
    assert "'block.attention.softmax'" in result.stdout


def test_demos_are_listed():
    result = subprocess.run(
        [sys.executable, "-m", "demos"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        check=True,
        timeout=60,
    )
    for path in (ROOT / "demos").glob("[!_]*.py"):
        assert path.stem in result.stdout
    for path in (ROOT / "demos").glob("*/__main__.py"):
        assert path.parent.name in result.stdout


def test_input_of_the_worked_example_is_the_lessons():
    _, x = lesson_block()
    np.testing.assert_array_equal(x.data[0], [0.666, 0.358, -0.773, -0.004])
