"""compare finds what was planted: a weight, an argument, a rule, another program."""

import numpy as np
import pytest

from blocks import LanguageModel, compare
from minigrad import Tensor, cross_entropy, residual_add
from minigrad.ops.residual import ResidualAdd

TOKENS, FOLLOWING = [1, 5, 2, 7], [5, 2, 7, 3]


def build(norm="pre", **options):
    sizes = {"vocab_size": 11, "max_length": 8, "n_blocks": 2, "d_model": 16, "n_heads": 2, "d_ff": 32}
    return LanguageModel(**sizes, norm=norm, rng=0, **options)


def loss_of(model):
    return cross_entropy(model(TOKENS), FOLLOWING)


def test_the_same_program_twice_is_equal():
    found = compare(loss_of(build()), loss_of(build()))
    assert found.is_equal
    assert str(found).startswith("No difference")
    assert found.to_dicts() == []


def test_two_checkpoints():
    a, b = build(), build()
    weight = b.blocks[1].feed_forward.up.weight
    weight.data = weight.data * 1.001
    found = compare(loss_of(a), loss_of(b))
    assert [leaf.where for leaf in found.leaves] == ["blocks.1.feed_forward.up.weight"]
    assert found.value.where == "blocks.1.feed_forward.up.linear"
    assert found.cause is None  # what its op read differs, and that is reason enough
    assert found.value.largest == np.abs(found.value.a - found.value.b).max()
    assert found.gradient is not None
    assert "blocks.1.feed_forward.up.weight" in str(found)


def test_an_argument_that_a_port_has_wrong():
    a, b = build(), build()
    b.blocks[1].attention_norm.eps = 1e-3
    found = compare(loss_of(a), loss_of(b))
    assert found.leaves == []
    assert found.value.where == found.cause.where == "blocks.1.attention_norm.layer_norm"
    assert "eps=1e-05 in a, 0.001 in b" in found.cause.text


def test_a_rule_without_the_skip_has_equal_values_and_another_gradient():
    a, b = build(), build()
    broken = type("ResidualAdd", (ResidualAdd,), {"backward": lambda self, grad_y: (0 * grad_y, grad_y)})
    b.blocks[1].add = lambda skip, branch, label: broken(label)(skip, branch)
    found = compare(loss_of(a), loss_of(b))
    assert found.value is None
    assert found.parting is None
    assert found.gradient.where == "blocks.1.feed_forward_residual -> blocks.1.attention_residual"
    assert "test_comparison.py" in found.gradient.lines[1]
    assert "results that were compared are equal" in str(found)


def test_pre_norm_beside_post_norm_says_where_they_part():
    a, b = build("pre"), build("post")
    b.load_state_dict({name: value for name, value in a.state_dict().items() if "final_norm" not in name})
    found = compare(loss_of(a), loss_of(b))
    assert found.parting.where.startswith("blocks.0.attention_norm.layer_norm")
    assert found.parting.text == "a has layer_norm and b has linear"
    assert found.value is None  # up to there all is equal
    assert len(found.parting.lines) == 2


def test_another_input_another_shape_another_length():
    x, y = (Tensor(np.arange(3.0), requires_grad=True, name=name) for name in "xy")
    h = x * 2
    assert "is x in a and multiply in b" in compare((h * x).sum(), (h * h).sum()).parting.text
    shorter = Tensor([1.0, 2.0], requires_grad=True)
    assert "shape (3,) in a and (2,) in b" in compare((x * y).sum(), (shorter * shorter).sum()).parting.text
    longer = compare((x * 2).sum(), ((x * 2).sum() + 1.0).tanh())
    assert "b goes on with add" in longer.parting.text
    assert "a goes on with" in compare(((x * 2).sum() + 1.0).tanh(), (x * 2).sum()).parting.text


def test_tolerance_and_no_gradient_is_touched():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    y = Tensor([1.0, 2.0 + 1e-6], requires_grad=True, name="x")
    pair = residual_add(x, x.tanh()).sum(), residual_add(y, y.tanh()).sum()
    assert not compare(*pair).is_equal
    assert compare(*pair, rtol=1e-5).is_equal
    assert x.grad is None
    assert pair[0].op.grad_inputs is None
    nan = (x * np.nan).sum(), (x * np.nan).sum()
    assert compare(*nan).is_equal
    with pytest.raises(TypeError, match="both tensors"):
        compare(pair[0], 1.0)


def test_table_and_dicts():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    found = compare((x * 2.0).sum(), (x * 3.0).sum())
    assert "where" in str(found.table())
    assert "<table>" in found._repr_html_()
    assert {row["what"] for row in found.to_dicts()} == {"input", "value", "gradient"}
