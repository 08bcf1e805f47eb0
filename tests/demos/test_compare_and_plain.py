"""The claims of demos/compare_graphs.py and demos/plain_residuals.py."""

import pytest

from blocks import compare
from demos import compare_graphs, plain_residuals


def test_each_wrong_model_is_found_where_it_is_wrong():
    right = compare_graphs.same()
    assert compare(right, compare_graphs.same()).is_equal
    assert "eps=1e-05 in a, 0.001 in b" in compare(right, compare_graphs.another_eps()).cause.text
    no_skip = compare(right, compare_graphs.no_skip())
    assert no_skip.value is None
    assert no_skip.gradient.where == "blocks.1.feed_forward_residual -> blocks.1.attention_residual"
    assert "attention_norm" in compare(right, compare_graphs.norms_behind()).parting.where


def test_skip_and_branch_sum_to_the_gradient(capsys):
    plain_residuals.main([])
    *_, plain, scaled, _projected, _normed = capsys.readouterr().out.splitlines()
    assert "plain_residuals.py" in plain
    assert float(scaled.split()[1]) == pytest.approx(1.5 * float(plain.split()[1]), abs=2e-4)
    assert float(scaled.split()[3]) < 1e-12
