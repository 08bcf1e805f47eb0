"""Each claim of demos/claims holds, and is refuted when what it rests on is broken."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import minigrad
from blocks import attention, feed_forward, transformer
from demos.claims import IN_READING_ORDER, RefutedError, __main__, holds, token_pattern
from minigrad.ops.activations import Relu
from minigrad.ops.normalization import LayerNorm
from minigrad.ops.residual import ResidualAdd
from minigrad.ops.softmax import Softmax

FOLDER = Path(__main__.__file__).parent


def claim(name):
    return import_module(f"demos.claims.{name}")


def block_without_second_norm(self, x, *arguments, **named):
    h = self.add(x, self.attention(self.attention_norm(x)), "attention_residual")
    return self.add(h, self.feed_forward(h), "feed_forward_residual")


def mixing_feed_forward(self, x):
    hidden = minigrad.relu(self.up(x - x.mean(axis=-2, keepdims=True)))
    return self.down(hidden)


def one_block_many_times(self, n_blocks, *sizes, norm="post", **options):
    self.blocks = [transformer.TransformerBlock(*sizes, norm=norm)] * n_blocks
    self.final_norm = None


def norm_over_the_tokens(self, x, gain, bias):
    self.s = np.sqrt(x.var(axis=-2, keepdims=True) + self.eps)
    self.n, self.gain = (x - x.mean(axis=-2, keepdims=True)) / self.s, gain
    return self.n * gain + bias


def with_large_eps(self, eps=1e-5):
    self.eps = 0.1


def without_scale(self, grad_y):
    g = grad_y * self.gain
    return g - g.mean(axis=-1, keepdims=True) - self.n * (g * self.n).mean(axis=-1, keepdims=True), g, g


def without_the_skip(self, grad_y):
    return np.zeros_like(grad_y), grad_y


def without_the_branch(self, grad_y):
    return grad_y, np.zeros_like(grad_y)


def halved_skip(self, grad_y):
    return grad_y / 2, grad_y


def identity(self, x):
    self.x = x
    return x.copy()


def slope_one(self, grad_y):
    return (grad_y,)


def rows_that_sum_to_two(self, x):
    self.y = np.full(x.shape, 2 / x.shape[-1])
    return self.y


def open_gate(self, x):
    return self.down(self.up(x))


def sees_everything(self, *arguments):
    return None


def wider(d_model, d_ff, activation="relu", **options):
    return feed_forward.FeedForward(d_model, 2 * d_ff, activation, **options)


def branch_alone(self, x, branch, label):
    return branch


BREAKS = [
    ("parts_of_a_block", [(transformer.TransformerBlock, "forward", block_without_second_norm)]),
    ("parts_of_a_block", [(transformer.TransformerBlock, "add", branch_alone)]),
    ("tokens_talk", [(feed_forward.FeedForward, "forward", mixing_feed_forward)]),
    ("tokens_talk", [(attention.MultiHeadAttention, "allowed", sees_everything)]),
    ("feed_forward_alone", [(feed_forward.FeedForward, "forward", mixing_feed_forward)]),
    ("same_shape", [(transformer.Stack, "__init__", one_block_many_times)]),
    ("same_shape", [(transformer.TransformerBlock, "add", branch_alone)]),
    ("norm_statistics", [(LayerNorm, "forward", norm_over_the_tokens)]),
    ("norm_statistics", [(LayerNorm, "__init__", with_large_eps)]),
    ("residuals_carry", [(ResidualAdd, "backward", without_the_skip)]),
    ("residuals_carry", [(ResidualAdd, "backward", halved_skip)]),
    ("residuals_carry", [(transformer.TransformerBlock, "add", branch_alone)]),
    ("two_residuals", [(transformer.TransformerBlock, "add", branch_alone)]),
    ("two_residuals", [(ResidualAdd, "backward", without_the_skip)]),
    ("without_feed_forward", [(Relu, "forward", identity), (Relu, "backward", slope_one)]),
    ("without_feed_forward", [(Softmax, "forward", rows_that_sum_to_two)]),
    ("norm_placement", [(LayerNorm, "backward", without_scale)]),
    ("parameters", [(transformer, "FeedForward", wider)]),
    ("gated", [(feed_forward.SwiGLU, "forward", open_gate)]),
    ("gated", [(Relu, "forward", identity), (Relu, "backward", slope_one)]),
]


@pytest.mark.parametrize("name", IN_READING_ORDER)
def test_it_holds(name, capsys):
    claim(name).run()
    assert re.search(r"\d", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("name", "changes"), BREAKS, ids=[f"{name}-{changes[0][2].__name__}" for name, changes in BREAKS]
)
def test_it_is_refuted_when_broken(name, changes, monkeypatch):
    monkeypatch.setattr(claim(name), "SEEDS", 2, raising=False)
    for owner, attribute, replacement in changes:
        monkeypatch.setattr(owner, attribute, replacement)
    with pytest.raises(RefutedError):
        claim(name).run()


def test_each_claim_can_be_broken():
    assert {name for name, _ in BREAKS} == set(IN_READING_ORDER)


def test_every_file_is_in_the_reading_order():
    assert set(IN_READING_ORDER) == {path.stem for path in FOLDER.glob("[!_]*.py")}


def test_each_says_what_it_claims_in_one_line_and_how_it_is_decided():
    for name in IN_READING_ORDER:
        says, how = claim(name).__doc__.split("\n\n", 1)
        assert "\n" not in says and says.endswith(".")
        assert "The run " in how or "the run " in how


def test_a_refuted_claim_ends_the_program_with_an_error(monkeypatch, capsys):
    monkeypatch.setattr(feed_forward.SwiGLU, "forward", open_gate)
    with pytest.raises(SystemExit, match=r"Refuted: gated\."):
        __main__.main(["gated", "parts_of_a_block"])
    printed = capsys.readouterr().out
    assert "DOES NOT HOLD: gated: twice the token makes 2.000 times the result" in printed
    assert "post-norm computes attention, attention_residual" in printed  # the others still run


def test_an_unknown_name_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        __main__.main(["gates"])
    assert "no claim is called gates; there are parts_of_a_block," in capsys.readouterr().err


def test_a_nan_holds_nothing():
    with pytest.raises(RefutedError, match="it is nan"):
        holds("it is nan", np.asarray(np.nan) < 1)


def test_pattern_of_a_function_that_is_known():
    def each_from_the_one_before(x):
        return minigrad.concatenate([x[:1] * 2, x[:-1]], axis=0)

    expected = np.eye(4, k=-1, dtype=bool)
    expected[0, 0] = True
    np.testing.assert_array_equal(token_pattern(each_from_the_one_before, 4, 3), expected)


def test_questions_of_the_lesson_lead_to_claims():
    text = (FOLDER.parent / "README.md").read_text(encoding="utf-8")
    table = text.partition("| question |")[2].partition("\n\n")[0]
    named = re.findall(r"`(\w+)`", table)
    assert len(table.splitlines()) >= 8
    assert set(named) <= set(IN_READING_ORDER)
