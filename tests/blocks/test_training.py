"""One step, the held-out loss, and the loop that shows how far it is."""

import os
import signal
import sys
import threading

import numpy as np
import pytest

from blocks import LanguageModel
from blocks.training import Progress, held_out_loss, train_step
from minigrad import cross_entropy
from minigrad.optim import SGD, clip_grad_norm

TOKENS = np.arange(60) * 7 % 11


def small(**options):
    return LanguageModel(vocab_size=11, max_length=6, n_blocks=1, d_model=8, n_heads=2, d_ff=16, rng=0, **options)


@pytest.mark.parametrize("max_norm", [None, 0.01])
def test_a_step_is_forward_backward_clip_and_move(max_norm):
    one, two = small(), small()
    tokens, targets = TOKENS[:12].reshape(2, 6), np.where(TOKENS[1:13] > 3, TOKENS[1:13], -1).reshape(2, 6)
    loss = train_step(one, SGD(one.parameters(), lr=0.5), tokens, targets, ignore_index=-1, max_norm=max_norm)

    by_hand = cross_entropy(two(tokens), targets, ignore_index=-1)
    by_hand.backward()
    if max_norm:
        clip_grad_norm(two.parameters(), max_norm)
    assert loss == by_hand.item()
    for (name, p), q in zip(two.named_parameters(), one.parameters(), strict=True):
        np.testing.assert_allclose(q.data, p.data - 0.5 * p.grad, rtol=1e-12, atol=1e-15, err_msg=name)


def test_held_out_loss_is_the_mean_over_all_windows_without_dropout():
    model = small(dropout=0.5)
    expected = cross_entropy(small()(TOKENS[:54].reshape(9, 6)), TOKENS[1:55].reshape(9, 6)).item()
    for batch in (1, 4, 64):
        assert held_out_loss(model, TOKENS, 6, batch) == pytest.approx(expected, rel=1e-12)
    assert model.training and model.dropout.training


@pytest.fixture(params=["with tqdm", "plain lines"])
def bar(request, monkeypatch):
    if request.param == "plain lines":
        monkeypatch.setitem(sys.modules, "tqdm", None)
    else:
        pytest.importorskip("tqdm", reason="a progress bar: pip install -e '.[train]'")


@pytest.mark.usefixtures("bar")
def test_it_counts_from_where_it_begins_and_shows_the_loss(capsys):
    progress = Progress(7, start=3, label="learning")
    steps = []
    for step in progress:
        steps.append(step)
        progress.show(2.5, n_tokens=100)
    assert steps == [3, 4, 5, 6] and progress.done == 7 and not progress.interrupted
    shown = "".join(capsys.readouterr())
    for words in ("learning", "loss 2.5", "tokens/s"):
        assert words in shown
    assert list(Progress(3, start=3)) == []


@pytest.mark.usefixtures("bar")
def test_ctrl_c_ends_after_a_whole_step():
    before = signal.getsignal(signal.SIGINT)
    progress, finished = Progress(10), []
    for step in progress:
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)
        finished.append(step)
    assert finished == [0, 1, 2]
    assert progress.done == 3 and progress.interrupted
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_ctrl_c_interrupts_at_once():
    before = signal.getsignal(signal.SIGINT)
    progress = Progress(10)
    with pytest.raises(KeyboardInterrupt):
        for _ in progress:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
    assert progress.done == 0
    signal.signal(signal.SIGINT, before)


def test_an_error_or_a_break_gives_ctrl_c_back():
    before = signal.getsignal(signal.SIGINT)
    for _ in Progress(10):
        break
    assert signal.getsignal(signal.SIGINT) is before


def test_in_a_thread():
    progress = Progress(3)
    thread = threading.Thread(target=list, args=(progress,))
    thread.start()
    thread.join(timeout=30)
    assert progress.done == 3
