"""What a person writes who comes from PyTorch: it works, or the error names the spelling here."""

import inspect

import numpy as np
import pytest

import minigrad
from blocks import Linear, TransformerBlock
from minigrad import Tensor

FUNCTIONS = {name: getattr(minigrad, name) for name in minigrad.__all__ if inspect.isfunction(getattr(minigrad, name))}
ALONG_AN_AXIS = [name for name, function in FUNCTIONS.items() if "axis" in inspect.signature(function).parameters]


@pytest.fixture
def t():
    return Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@pytest.mark.parametrize(
    ("habit", "kind", "ours"),
    [
        (lambda t: t.numpy(), AttributeError, r"t\.data is the NumPy array"),
        (lambda t: t.view(4), AttributeError, r"t\.reshape\(shape\)"),
        (lambda t: t.unsqueeze(0), AttributeError, r"t\.expand_dims\(axis\)"),
        (lambda t: t.nothing, AttributeError, "no attribute 'nothing'$"),
        (lambda t: t.sum().backward(create_graph=True), TypeError, "no gradient of a gradient"),
        (lambda t: t.sum().backward(retain_graph=True), TypeError, "a second pass is allowed"),
        (
            lambda t: t.sum().backward(graph=True),
            TypeError,
            r"graph=\.\.\.\): it takes grad and retain_grads",
        ),
        (lambda t: t.transpose(-2, -1), ValueError, r"nothing would change; swapaxes\(-2, -1\)"),
        (lambda t: t.transpose(0, 1), ValueError, r"nothing would change; swapaxes\(0, 1\)"),
        (lambda t: t.reshape(1, 2, 2).transpose(-2, -1), ValueError, r"swapaxes\(-2, -1\) exchanges two"),
        (lambda t: t.reshape(1, 2, 2).T, ValueError, r"t\.swapaxes\(-2, -1\) transposes each matrix"),
        (lambda t: f"{t:.2f}", TypeError, r"the format of one number.*shape \(2, 2\)"),
        (lambda t: round(t, 1), ValueError, "needs a tensor with one element"),
    ],
)
def test_the_error_names_our_spelling(t, habit, kind, ours):
    with pytest.raises(kind, match=ours):
        habit(t)


@pytest.mark.parametrize("name", ALONG_AN_AXIS)
def test_dim_is_called_axis(name, t):
    arguments = {"stack": ([t, t],), "concatenate": ([t, t],), "split": (t, 2), "expand_dims": (t, 0)}.get(name, (t,))
    with pytest.raises(TypeError, match=rf"{name}\(.*axis"):
        getattr(minigrad, name)(*arguments, dim=0)


@pytest.mark.parametrize(
    ("word", "ours"),
    [("keepdim", "keepdims"), ("unbiased", "ddof=1"), ("correction", "ddof"), ("ax", "axis and keepdims and ddof$")],
)
def test_other_names_that_numpy_spells_otherwise(t, word, ours):
    with pytest.raises(TypeError, match=rf"var\({word}=\.\.\.\): .*{ours}"):
        t.var(**{word: 1})


def test_every_function_along_an_axis_is_asked():
    assert len(ALONG_AN_AXIS) > 15


def test_transpose_with_axes_in_another_order_is_as_in_numpy(t):
    assert (t.transpose(1, 0).data == t.data.T).all() and (t.transpose(-1, -2).data == t.data.T).all()
    assert (t.T.data == t.data.T).all() and (t.transpose((0, 1)).data == t.data).all()


def test_one_number_is_formatted_and_rounded_as_a_number(t):
    loss = (t * t).sum() / 7
    assert f"{loss:.4f}" == "4.2857" and round(loss, 3) == 4.286 and round(loss) == 4
    assert f"{loss}" == str(loss)


def test_modules_are_modules_and_named_modules_have_names():
    block = TransformerBlock(4, 1, 8)
    assert block in block.modules() and sum(isinstance(module, Linear) for module in block.modules()) == 6
    assert dict(block.named_modules())["attention.query"] is block.attention.query
    assert [module for _, module in block.named_modules()] == block.modules()


def test_hasattr_is_false_for_what_is_missing(t):
    assert not hasattr(t, "numpy") and getattr(t, "view", None) is None
    assert np.shape(t) == (2, 2)
