"""Every op in every way it can be used: against another engine's numbers, and against differences."""

import numpy as np
import pytest

import minigrad
from minigrad import Tensor
from tests.differences import central_differences, gradients, on_arrays
from tests.minigrad.ops.uses import USES, all_ops, reference

REFERENCE = reference()


def recorded_op(use, arrays):
    return use.function(*(Tensor(array, requires_grad=True) for array in arrays)).op


@pytest.fixture(params=USES)
def name(request):
    return request.param


def test_all_ops_are_used():
    assert {use.op for use in USES.values()} == set(all_ops())


def test_the_use_records_its_op(name):
    op = recorded_op(USES[name], REFERENCE[name]["inputs"])
    if not name.endswith("to 0-d"):
        assert type(op).__name__ == USES[name].op


def test_value_and_gradients_are_those_of_another_engine(name):
    numbers = REFERENCE[name]
    value, grads = gradients(USES[name].function, numbers["inputs"], numbers["weights"][0])
    np.testing.assert_allclose(value, numbers["value"][0], rtol=1e-12, atol=1e-14, strict=True)
    for grad, expected in zip(grads, numbers["grads"], strict=True):
        np.testing.assert_allclose(grad, expected, rtol=1e-10, atol=1e-12, strict=True)


def test_gradients_are_the_slopes(name):
    numbers = REFERENCE[name]
    function, weights = USES[name].function, numbers["weights"][0]
    _, grads = gradients(function, numbers["inputs"], weights)
    slopes = central_differences(on_arrays(function), numbers["inputs"], weights)
    for grad, slope in zip(grads, slopes, strict=True):
        np.testing.assert_allclose(grad, slope, rtol=1e-6, atol=1e-8, strict=True)


WITH_AN_ARRAY = ("matmul, array on the left", "concatenate, with an array", "clip, array bounds")


@pytest.mark.parametrize("name", [name for name in USES if name not in WITH_AN_ARRAY])  # which is float64, and stays it
def test_float32_stays_float32(name):
    numbers = REFERENCE[name]
    value, grads = gradients(USES[name].function, [a.astype(np.float32) for a in numbers["inputs"]])
    assert {array.dtype for array in (value, *grads)} == {np.dtype(np.float32)}
    np.testing.assert_allclose(value, numbers["value"][0], rtol=2e-4, atol=1e-5)


def test_constants_get_no_gradient(name):
    """With any one input alone asking for a gradient, it gets the same one, and the others get none."""
    numbers = REFERENCE[name]
    for asking, expected in enumerate(numbers["grads"]):
        tensors = [Tensor(array, requires_grad=i == asking) for i, array in enumerate(numbers["inputs"])]
        USES[name].function(*tensors).backward(numbers["weights"][0])
        np.testing.assert_allclose(tensors[asking].grad, expected, rtol=1e-10, atol=1e-12)
        assert all(tensor.grad is None for i, tensor in enumerate(tensors) if i != asking)


def test_nothing_is_written_into_and_nothing_is_shared(name):
    numbers = REFERENCE[name]
    arrays = [array.copy() for array in numbers["inputs"]]
    tensors = [Tensor(array, requires_grad=True) for array in arrays]
    y = USES[name].function(*tensors)
    weights = numbers["weights"][0].copy()
    y.backward(weights)

    for array, original in zip([*arrays, weights], [*numbers["inputs"], numbers["weights"][0]], strict=True):
        np.testing.assert_array_equal(array, original)
    assert not y.data.flags.writeable
    held = [*arrays, weights, *(t.grad for t in tensors), y.grad]
    for i, first in enumerate(held):
        for second in held[i + 1 :]:
            assert not np.shares_memory(first, second)


def test_not_contiguous_inputs_give_the_same(name):
    numbers = REFERENCE[name]
    spread = [np.repeat(array[..., None], 2, axis=-1)[..., 0] for array in numbers["inputs"]]
    value, grads = gradients(USES[name].function, spread, numbers["weights"][0])
    np.testing.assert_array_equal(value, gradients(USES[name].function, numbers["inputs"])[0])
    for grad, expected in zip(grads, numbers["grads"], strict=True):
        np.testing.assert_allclose(grad, expected, rtol=1e-10, atol=1e-12)


def test_without_recording_the_value_is_the_same(name):
    numbers = REFERENCE[name]
    tensors = [Tensor(array, requires_grad=True) for array in numbers["inputs"]]
    with minigrad.no_grad():
        y = USES[name].function(*tensors)
    assert y.op is None and not y.requires_grad
    np.testing.assert_allclose(y.data, numbers["value"][0], rtol=1e-12, atol=1e-14)


def test_the_docstring_says_the_rule(name):
    assert "dL/d" in type(recorded_op(USES[name], REFERENCE[name]["inputs"])).__doc__
