"""The claims of demos/norm_scale.py: 0 with the true gradient of the norm, the answer with its scale held."""

from blocks import residual_stream
from demos import _sorting, norm_scale
from demos.residual_stream import answer_of


def test_true_sums_to_nothing_and_held_to_the_answer(sorting_model):
    answer, _, _ = answer_of(sorting_model)
    assert answer.item() > 1
    assert abs(norm_scale.written(residual_stream(answer))) < 1e-4
    held = residual_stream(answer, norm_scale="held")
    assert abs(held.direct_sum - answer.item()) < 1e-10
    assert abs(norm_scale.written(held) + sum(held.biases.values()) - answer.item()) < 1e-10


def test_it_prints_both(sorting_model, capsys, monkeypatch):
    monkeypatch.setattr(_sorting, "trained_model", lambda: sorting_model)
    norm_scale.main([])
    printed = capsys.readouterr().out
    assert 'norm_scale="true": ' in printed
    assert "the answer" in printed
    assert printed.count("blocks.") == 4
