"""The claims of demos/residual_stream.py, on the model that it trains."""

import numpy as np
import pytest

from blocks import gradient_paths, residual_stream
from demos import _sorting
from demos import residual_stream as demo
from minigrad.graph import stream_start


def test_the_model_sorts(sorting_model):
    assert _sorting.accuracy(sorting_model) > 0.9


def test_the_parts_are_the_answer_and_the_effects_are_slopes(sorting_model):
    answer, right, _ = demo.answer_of(sorting_model)
    assert right == 1
    stream = residual_stream(answer, norm_scale="held")
    assert stream.direct_sum == pytest.approx(answer.item(), abs=1e-10)
    assert stream[-1].indirect == 0
    start = stream_start(answer)
    length_0 = gradient_paths(answer, start, by="length")[0]
    np.testing.assert_array_equal(residual_stream(answer).start.direct_gradient, length_0)
    assert demo.largest_gap(sorting_model) < 1e-4


def test_it_prints_what_it_claims(sorting_model, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(_sorting, "trained_model", lambda: sorting_model)
    demo.main(["--plot", str(tmp_path / "stream.png"), "--picture", str(tmp_path / "stream.dot")])
    printed = capsys.readouterr().out
    for words in (
        "What each residual wrote",
        "The largest effect",
        "direct effects sum to the loss",
        "measured slopes",
    ):
        assert words in printed
    assert "wrote" in (tmp_path / "stream.dot").read_text(encoding="utf-8")
