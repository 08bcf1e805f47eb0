"""find: a tensor by its path from a loss; what has no such name, or several, is answered with names."""

import numpy as np
import pytest

from blocks import Stack
from minigrad import Parameter, Tensor, find, find_all, scope
from minigrad.backprop import topological_order


@pytest.fixture(scope="module")
def model():
    stack = Stack(2, d_model=4, n_heads=1, d_ff=8, rng=0)
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True, name="x")
    loss = (stack(x) * stack(x).detach()).sum()
    loss.backward()
    return stack, x, loss


def paths(tensors):
    return [tensor.name or tensor.op.path for tensor in tensors]


def test_an_op_by_its_path_with_value_and_gradient(model):
    softmax = find(model[2], "blocks.1.attention.softmax")
    np.testing.assert_allclose(softmax.data.sum(axis=-1), 1)
    assert softmax.grad.shape == softmax.shape == (1, 3, 3)


def test_the_end_of_a_path(model):
    _, _, loss = model
    whole = find(loss, "blocks.0.attention.softmax")
    assert find(loss, "blocks.0.attention.softmax") is whole
    assert find(loss, "0.attention.softmax") is whole
    assert find(loss, "*0*softmax") is whole


def test_leaves_by_their_names(model):
    stack, x, loss = model
    assert find(loss, "x") is x
    weight = find(loss, "blocks.1.attention.query.weight")
    assert isinstance(weight, Parameter)
    assert weight is stack.blocks[1].attention.query.weight


def test_a_result_by_the_name_that_the_user_gave_it():
    x = Tensor([1.0, 2.0], requires_grad=True)
    h = x * x
    h.name = "h"
    loss = (h * 3).sum()
    assert find(loss, "h") is h
    assert find_all(loss, "multiply") == [h, loss.op.inputs[0]]


def test_find_all_in_the_order_of_the_program(model):
    _, _, loss = model
    assert paths(find_all(loss, "softmax")) == [f"blocks.{i}.attention.softmax" for i in (0, 1)]
    weights = paths(find_all(loss, "blocks.?.attention.*.weight"))
    assert len(weights) == 8
    assert all("attention" in path and path.endswith(".weight") for path in weights)
    assert find_all(loss, "nothing") == []


def test_find_all_without_a_name_is_everything_that_has_one(model):
    _, _, loss = model
    named = {tensor for tensor in topological_order(loss) if tensor.op or tensor.name}
    assert set(find_all(loss)) == named


def test_a_whole_path_goes_before_the_end_of_another():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with scope("attention"):
        inner = x.softmax()
    outer = inner.softmax()
    assert find(outer, "softmax") is outer
    assert find_all(outer, "softmax") == [inner, outer]


def test_brackets_are_literal():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with scope("blocks[0]"):
        y = x.softmax()
    with scope("blocks0"):
        z = y.softmax()
    assert find(z, "blocks[0].softmax") is y
    assert find(z, "blocks[0].*") is y


def test_several_are_listed_with_their_lines():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x
    for _ in range(10):
        y = y * 2
    y.name = "y"
    with pytest.raises(LookupError) as caught:
        find(y, "multiply")
    message = str(caught.value)
    assert message.startswith("10 tensors are called 'multiply'; give more of the path, or take one of find_all:")
    assert f"[0] multiply (2,), made at {__file__}:" in message
    assert ": y = y * 2" in message
    assert message.endswith("and 2 more")
    assert find_all(y, "multiply")[9] is y


def test_a_name_that_is_not_there_is_answered_with_similar_ones(model):
    _, _, loss = model
    with pytest.raises(LookupError, match=r"'sofmax'; there are names such as .*softmax"):
        find(loss, "sofmax")
    with pytest.raises(LookupError, match=r"'blocks.1.attention'; .*blocks\.1\.attention\."):
        find(loss, "blocks.1.attention")


@pytest.mark.parametrize(("loss", "name"), [(np.ones(2), "x"), (Tensor(1.0), 3)])
def test_anything_else_is_refused(loss, name):
    with pytest.raises(TypeError, match="find takes a tensor and a name"):
        find(loss, name)
