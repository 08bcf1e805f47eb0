"""The demo on a real sentence encoder: what it prints, on the model itself."""

from demos import real_encoder
from tests.real_models import minilm, minilm_folder


def test_near_and_far_texts_and_the_words_it_hangs_on(capsys, monkeypatch):
    minilm_folder()
    monkeypatch.setattr(real_encoder, "load_sentence_encoder", lambda folder: minilm())
    real_encoder.main([])
    printed = capsys.readouterr().out
    near, far = (float(line.split()[0]) for line in printed.splitlines()[:2])
    assert near > 0.4 and far < 0.1
    for words in ("dog", "park", "blocks.5.feed_forward_residual", "100.0%"):
        assert words in printed
