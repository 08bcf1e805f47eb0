"""on_gradient: called once a pass with the total, and what it returns goes on from there."""

import gc
import weakref

import numpy as np
import pytest

from minigrad import Tensor
from minigrad.debugging.reporting import consumers


def leaf(*numbers):
    return Tensor(list(numbers), requires_grad=True, name="x")


def test_an_inner_tensor_is_called_once_with_the_total():
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []
    y.on_gradient(seen.append)
    (y * 3 + y * y + y).sum().backward()
    (grad,) = seen
    assert np.array_equal(grad, [3 + 4 + 1, 3 + 8 + 1])


def test_a_leaf_is_called_once_with_the_total_of_this_pass():
    x = leaf(1.0, 2.0)
    loss = (x * 3 + x * x).sum()
    seen = []
    x.on_gradient(seen.append)
    loss.backward()
    loss.backward()
    assert np.array_equal(seen, [[5.0, 7.0], [5.0, 7.0]])
    assert np.array_equal(x.grad, [10.0, 14.0])


def test_the_output_itself():
    x = leaf(1.0, 2.0)
    loss = x.sum()
    loss.on_gradient(lambda grad: grad * 10)
    loss.backward()
    assert loss.grad == 10.0
    assert np.array_equal(x.grad, [10.0, 10.0])


def test_a_returned_array_takes_the_place_of_the_gradient_from_there_on():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.on_gradient(lambda grad: np.array([5.0, 7.0]))
    loss = (y * 3).sum()
    steps = {step.op.name: step for step in loss.backprop()}
    assert np.array_equal(y.grad, [5.0, 7.0])
    assert np.array_equal(loss.op.inputs[0].op.grad_inputs[0], [3.0, 3.0])  # what was delivered stays on record
    assert np.array_equal(x.grad, [10.0, 14.0])
    assert steps["sum"].grad_output == 1.0


def test_a_leafs_gradient_is_replaced_before_it_is_added():
    x = leaf(1.0, 2.0)
    x.on_gradient(lambda grad: -grad)
    loss = x.sum()
    loss.backward()
    loss.backward()
    assert np.array_equal(x.grad, [-2.0, -2.0])


def test_several_functions_in_their_order_and_taken_off_again():
    x = leaf(1.0)
    x.on_gradient(lambda grad: grad + 1)
    x.on_gradient(lambda grad: grad * 10)
    x.sum().backward()
    assert np.array_equal(x.grad, [20.0])
    x.hooks = ()
    x.zero_grad()
    x.sum().backward()
    assert np.array_equal(x.grad, [1.0])


def test_also_without_keeping_inner_gradients():
    x = leaf(1.0)
    y = x * 2
    seen = []
    y.on_gradient(seen.append)
    y.sum().backward(retain_grads=False)
    assert np.array_equal(seen, [[1.0]])


def test_not_called_when_no_gradient_comes():
    x = leaf(1.0)
    x.on_gradient(pytest.fail)
    leaf(2.0).sum().backward()


def test_dtype_is_kept():
    x = Tensor(np.array([1.0, 2.0], np.float32), requires_grad=True)
    x.on_gradient(lambda grad: grad.astype(np.float64) * 2)
    x.sum().backward()
    assert x.grad.dtype == np.float32


def test_the_array_cannot_be_written_into():
    x = leaf(1.0, 2.0)
    x.on_gradient(lambda grad: grad.__setitem__(0, 9.0))
    with pytest.raises(ValueError, match="read-only"):
        x.sum().backward()


def test_what_was_returned_is_copied():
    buffer = np.ones(2)
    x = leaf(1.0, 2.0)
    y = x * 2
    y.on_gradient(lambda grad: buffer)
    y.sum().backward()
    buffer[:] = 9.0
    assert np.array_equal(y.grad, [1.0, 1.0])


@pytest.mark.parametrize("value", [3.0, [1.0, 2.0], "text", np.array([1j, 2j]), Tensor([1.0, 2.0])])
def test_anything_but_an_array_is_refused(value):
    x = leaf(1.0, 2.0)
    x.on_gradient(lambda grad: value)
    with pytest.raises(TypeError, match=r"on_gradient of x: the function '<lambda>' must return None or an array"):
        x.sum().backward()


def test_another_shape_is_refused():
    x = leaf(1.0, 2.0)
    x.on_gradient(lambda grad: grad.sum(keepdims=True))
    with pytest.raises(ValueError, match=r"array of shape \(2,\); got \(1,\)"):
        x.sum().backward()


def test_a_tensor_that_gets_no_gradient_is_refused():
    with pytest.raises(RuntimeError, match="does not require one"):
        Tensor([1.0]).on_gradient(print)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="needs a function"):
        leaf(1.0).on_gradient(3)


def test_freed_with_the_tensor():
    class Recorder:
        def __call__(self, grad):
            self.grad = grad

    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0)
        y = x * 2
        recorder = Recorder()
        alive = weakref.ref(recorder)
        y.on_gradient(recorder)
        y.sum().backward()
        del recorder
        assert alive() is not None
        del y
        assert alive() is None
        assert consumers(x) == []
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (Tensor([1.0, 2.0]), "got a Tensor, whose array is its .data"),
        ([1.0, 2.0], "got a list"),
        (3.0, "got a float"),
        (np.array(["a", "b"]), "got <U1"),
    ],
)
def test_sml_b_a_hook_that_returns_no_array_is_told_what_it_returned(returned, got):
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    x.on_gradient(lambda grad: returned)
    with pytest.raises(TypeError, match=f"must return None or an array of dtype float64; {got}$"):
        x.sum().backward()
