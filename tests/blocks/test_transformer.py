"""The block in its variants and the stack, against the equations written out, and all their gradients."""

import copy

import numpy as np
import pytest

from blocks import LayerNorm, Stack, TransformerBlock
from minigrad import Tensor
from minigrad.ops.residual import ResidualAdd
from tests.blocks.checking import assert_all_gradients

NAMES = """attention.query.weight attention.query.bias attention.key.weight attention.key.bias attention.value.weight
    attention.value.bias attention.output.weight attention.output.bias attention_norm.gain attention_norm.bias
    feed_forward.up.weight feed_forward.up.bias feed_forward.down.weight feed_forward.down.bias feed_forward_norm.gain
    feed_forward_norm.bias"""


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["post", "pre", None])
def test_the_equations(norm, residual):
    block = TransformerBlock(4, 2, 6, norm=norm, residual=residual, rng=0)
    x = Tensor(numbers(2, 3, 4))
    attention, feed_forward = block.attention, block.feed_forward
    norm1, norm2 = block.attention_norm, block.feed_forward_norm
    skip = 1.0 if residual else 0.0
    if norm == "post":
        h = norm1(skip * x + attention(x))
        y = norm2(skip * h + feed_forward(h))
    elif norm == "pre":
        h = skip * x + attention(norm1(x))
        y = skip * h + feed_forward(norm2(h))
    else:
        h = skip * x + attention(x)
        y = skip * h + feed_forward(h)
    np.testing.assert_allclose(block(x).data, y.data, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": "pre", "causal": True, "activation": "gelu"},
        {"norm": None, "bias": False, "activation": "tanh"},
        {"norm": "pre", "activation": "swiglu"},
        {"residual": False, "activation": "silu"},
    ],
    ids=str,
)
def test_gradients(options):
    assert_all_gradients(TransformerBlock(4, 2, 6, rng=1, **options), numbers(2, 3, 4))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_gradients_of_a_stack(norm):
    assert_all_gradients(Stack(2, 4, 2, 6, norm=norm, rng=1), numbers(3, 4))


def test_names():
    names = [name for name, _ in TransformerBlock(4, 2, 6).named_parameters()]
    assert sorted(names) == sorted(NAMES.split())
    stack = Stack(2, 4, 2, 6, norm="pre")
    assert {"blocks.0.attention.key.bias", "blocks.1.feed_forward.down.weight", "final_norm.gain"} <= set(
        stack.state_dict()
    )
    y = stack(Tensor(numbers(3, 4), requires_grad=True))
    paths = set()
    tensors = [y]
    while tensors:
        op = tensors.pop().op
        if op is not None:
            paths.add(op.path)
            tensors += op.inputs
    assert {"blocks.1.attention.softmax", "blocks.0.attention_residual", "blocks.0.feed_forward.up.linear"} <= paths


def test_residuals_are_named_objects():
    x = Tensor(numbers(3, 4), requires_grad=True)
    h = x
    y = TransformerBlock(4, 2, 6, norm=None, rng=0)(h)
    assert isinstance(y.op, ResidualAdd) and y.op.label == "feed_forward_residual"
    first = y.op.inputs[ResidualAdd.SKIP].op
    assert first.label == "attention_residual" and first.inputs[ResidualAdd.SKIP] is x


def test_a_final_norm_follows_pre_norm_by_default():
    assert Stack(1, 4, 2, 6, norm="post").final_norm is None and Stack(1, 4, 2, 6, norm=None).final_norm is None
    assert isinstance(Stack(1, 4, 2, 6, norm="pre").final_norm, LayerNorm)
    assert Stack(1, 4, 2, 6, norm="pre", final_norm=False).final_norm is None
    stack = Stack(1, 4, 2, 6, norm="post", final_norm=True, eps=0.1, dtype=np.float32)
    assert stack.final_norm.eps == 0.1 and stack.final_norm.gain.dtype == np.float32


def test_masks_reach_every_block():
    stack = Stack(2, 4, 2, 6, rng=0)
    mask = np.tri(3, dtype=bool)
    x = Tensor(numbers(3, 4), requires_grad=True)
    causal = Stack(2, 4, 2, 6, causal=True, rng=0)
    np.testing.assert_allclose(stack(x, mask).data, causal(x).data)
    stack(x, mask)[0].sum().backward()
    assert (x.grad[1:] == 0).all()


def test_one_seed_one_block():
    a, b = TransformerBlock(4, 2, 6, rng=3), TransformerBlock(4, 2, 6, rng=3)
    assert all((p.data == q.data).all() for p, q in zip(a.parameters(), b.parameters(), strict=True))
    stack = Stack(2, 4, 2, 6, rng=3)
    assert (stack.blocks[0].attention.query.weight.data != stack.blocks[1].attention.query.weight.data).any()


def test_dropout_is_off_in_eval():
    block = TransformerBlock(4, 2, 6, dropout=0.5, rng=0)
    x = Tensor(numbers(3, 4))
    assert (block(x).data != block(x).data).any()
    block.eval()
    twin = TransformerBlock(4, 2, 6, rng=1)
    twin.load_state_dict(block.state_dict())
    np.testing.assert_array_equal(block(x).data, twin(x).data)


def test_float32_stays_float32_everywhere():
    block = TransformerBlock(4, 2, 6, dtype=np.float32, causal=True, dropout=0.1, rng=0)
    x = Tensor(numbers(3, 4).astype(np.float32), requires_grad=True)
    (block(x) * 2.0).sum().backward()
    tensors = [block(x)]
    while tensors:
        t = tensors.pop()
        assert t.dtype == np.float32, t
        tensors += t.op.inputs if t.op else ()
    assert x.grad.dtype == np.float32


def test_a_copy_is_a_block_of_its_own():
    block = TransformerBlock(4, 2, 6, rng=0)
    x = Tensor(numbers(3, 4))
    twin = copy.deepcopy(block)
    np.testing.assert_array_equal(block(x).data, twin(x).data)
    twin.attention.query.weight.data = np.zeros((4, 4))
    assert (block(x).data != twin(x).data).any()


def test_wrong_arguments():
    with pytest.raises(ValueError, match='norm is "post", "pre" or None; got \'layer\''):
        TransformerBlock(4, 2, 6, norm="layer")
    block = TransformerBlock(4, 2, 6)
    for shape in ((4,), (3, 5), (2, 4, 3)):
        with pytest.raises(ValueError, match=r"block: x must be \(..., T, 4\); got shape"):
            block(Tensor(np.ones(shape)))
    with pytest.raises(ValueError, match="activation is one of"):
        TransformerBlock(4, 2, 6, activation="sine")
