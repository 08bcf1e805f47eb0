"""explain: the contributions add up, the axes are those that were summed, and a wrong rule is found out."""

import gc

import numpy as np
import pytest

from blocks import Stack
from minigrad import Op, Tensor, cross_entropy, dropout, embedding, log, sqrt, where
from minigrad.backprop import topological_order
from minigrad.debugging import explain
from minigrad.watching import WATCHERS, Watcher


@pytest.fixture(scope="module")
def model_loss():
    stack = Stack(2, 8, 2, 16, causal=True, dropout=0.1, activation="gelu", rng=0)
    x = Tensor(np.random.default_rng(0).standard_normal((2, 5, 8)), requires_grad=True, name="x")
    loss = cross_entropy(stack(x), np.zeros((2, 5), int))
    loss.backward()
    return loss


@pytest.fixture(scope="module")
def explanations(model_loss):
    """Of every tensor of the model that has a gradient, but for the loss itself: made once, for they take a while."""
    tensors = [t for t in topological_order(model_loss) if t.requires_grad and t is not model_loss]
    return {tensor: explain(tensor) for tensor in tensors}


def test_the_contributions_of_every_tensor_of_a_model_add_up_to_its_gradient(explanations):
    for tensor, explanation in explanations.items():
        together = sum(c.gradient for c in explanation.contributions)
        assert np.allclose(together, tensor.grad, rtol=1e-12, atol=0)


def test_every_rule_of_a_model_agrees_with_finite_differences(model_loss, explanations):
    checks = [explanation.check for tensor, explanation in explanations.items() if tensor.op is not None]
    for check in [explain(model_loss).check, *checks]:
        assert check, check
        assert check.compared > 0


def test_the_text_has_rule_shapes_contributions_and_check():
    x = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True, name="x")
    b = Tensor([1.0, 0.0, -1.0], requires_grad=True, name="b")
    y = x + b
    loss = (y * y).sum() + y.sum()
    loss.backward()
    text = str(explain(y))
    assert "rule: z = x + y;   dL/dx = dL/dz,   dL/dy = dL/dz." in text
    assert f"made at {__file__}:" in text
    assert "y = x + b" in text
    assert "reads y = b (3,) float64, from -1 to 1" in text
    assert "the sum of 3 contributions" in text
    assert "from sum, its x: (2, 3) [[1. 1. 1.] [1. 1. 1.]] norm 2.449" in text
    assert "summed over the axis 0 that broadcasting repeated" in text
    assert "the rule agrees in 9 entries" in text


def test_which_axes_broadcasting_repeated():
    x = Tensor(np.ones((4, 2, 3)), requires_grad=True)
    b = Tensor(np.ones((2, 1)), requires_grad=True)
    y = x * b
    loss = y.sum()
    loss.backward()
    to_x, to_b = explain(y).deliveries
    assert to_x.summed_axes == ()
    assert to_b.summed_axes == (0, 2)
    assert np.array_equal(to_b.gradient, [[12.0], [12.0]])


def test_a_shared_input_contributes_twice():
    x = Tensor(3.0, requires_grad=True, name="x")
    y = x * x
    loss = y * 1.0
    loss.backward()
    explanation = explain(x)
    assert [(c.index, c.gradient.item()) for c in explanation.contributions] == [(0, 3.0), (1, 3.0)]
    assert explanation.check is None
    assert "a leaf: no op made it" in str(explanation)


class Cube(Op):
    """y = x^3;   dL/dx = dL/dy * 3 x^2, with a mistake in entry 1."""

    def forward(self, x):
        self.x = x
        return x**3

    def backward(self, grad_y):
        grad_x = grad_y * 3 * self.x**2
        grad_x[1] *= 1.001
        return (grad_x,)


def test_a_wrong_rule_is_found_out():
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = Cube()(x)
    loss = y.sum()
    loss.backward()
    check = explain(y).check
    assert not check
    name, index, gradient, slope = check.wrong
    assert (name, index) == ("x", (1,))
    assert gradient == pytest.approx(1.001 * slope, rel=1e-6)
    assert "WRONG: dL/dx at index (1,)" in str(explain(y))


def test_kinks_are_left_out_and_said():
    x = Tensor([-1.0, 0.0, 2.0], requires_grad=True)
    check = explain(x.relu()).check
    assert (check.compared, check.skipped) == (2, 1)
    assert "1 at a kink" in str(check)


def test_entries_that_were_not_looked_at_are_counted():
    x = Tensor(np.arange(-1.0, 39.0), requires_grad=True)
    check = explain(x.relu()).check
    assert check.unseen == 8
    assert check.compared + check.skipped == 32
    assert "8 were not looked at (only 32 of an input are)" in str(check)


def test_what_has_no_name_is_set_in_brackets():
    assert "dL/d(a leaf): not computed" in str(explain(Tensor([1.0, 2.0], requires_grad=True)))
    assert "dL/d(a constant): not computed" in str(explain(Tensor([1.0, 2.0])))
    assert "dL/dx: not computed" in str(explain(Tensor([1.0, 2.0], name="x")))


def test_a_single_number_has_a_value_and_no_range():
    assert str(explain(Tensor(45.76))).startswith("a constant () float64, 45.76\n")


def test_minus_infinity_in_a_mask_does_not_drown_the_check():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    scores = where([[True, False], [True, True]], x, -np.inf)
    weights = scores.softmax()
    loss = (weights * weights).sum()
    loss.backward()
    assert explain(scores).check.compared == 3 + 1  # of x; the constant has nothing to compare but its one entry
    assert explain(weights).check.compared == 3


@pytest.mark.parametrize("value", [1e-9, 1e-3, 1.0, 1e6])
def test_steep_and_flat_places(value):
    x = Tensor([value], requires_grad=True)
    for y in (log(x), sqrt(x), x + 1000.0, 1.0 / x, x * 1e6):
        assert explain(y).check.compared >= 1
        assert explain(y).check


def test_a_float32_op_is_checked_in_float64():
    x = Tensor(np.array([0.5, 1.5], np.float32), requires_grad=True)
    y = x.tanh()
    loss = y.sum()
    loss.backward()
    assert explain(y).check.worst < 1e-8


def test_dropout_draws_nothing_from_the_users_generator():
    rng = np.random.default_rng(0)
    y = dropout(Tensor(np.ones(6), requires_grad=True), 0.5, rng=rng)
    state = rng.bit_generator.state
    assert explain(y).check
    assert rng.bit_generator.state == state


def test_integer_inputs_and_tables():
    weight = Tensor(np.eye(3), requires_grad=True, name="weight")
    y = embedding(weight, [2, 0, 2])
    loss = (y * y).sum()
    loss.backward()
    assert explain(y).check.compared == 9


def test_a_large_op_is_checked_in_a_few_entries():
    rng = np.random.default_rng(0)
    y = Tensor(rng.standard_normal((300, 200)), requires_grad=True) @ rng.standard_normal((200, 100))
    check = explain(y).check
    assert 1 <= check.compared <= 64
    assert check


def test_explaining_changes_nothing_and_wakes_no_watcher():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x.tanh()
    loss = (y * y).sum()
    loss.backward()
    saved, inputs, delivered, grad = y.op.y, y.op.inputs, y.op.grad_inputs, x.grad.copy()
    with Loud():
        explain(y)
    assert y.op.y is saved
    assert y.op.inputs is inputs
    assert y.op.grad_inputs is delivered
    assert np.array_equal(x.grad, grad)
    assert WATCHERS == []


class Loud(Watcher):
    def before_forward(self, op):
        raise AssertionError("explain ran an op in sight of the watchers")


def test_a_pass_from_another_output_is_told_apart():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    first, second = (y * 3).sum(), (y * 5).sum()
    first.backward()
    second.backward()
    assert len(explain(y).contributions) == 2
    assert "several passes went through here" in str(explain(y))
    (contribution,) = explain(y, second).contributions
    assert np.array_equal(contribution.gradient, [5.0, 5.0])


def test_before_backward_and_without_consumers():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x.tanh()
    assert "dL/dy: not computed" in str(explain(y))
    y.sum().backward()  # the loss is dropped at once, and its graph with it
    assert "keep the loss" in str(explain(y))


def test_a_changed_gradient_says_so():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.on_gradient(np.negative)
    loss = (y * 3).sum()
    loss.backward()
    assert "functions of on_gradient changed it" in str(explain(y))


def test_an_explanation_keeps_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = Tensor([1.0, 2.0], requires_grad=True)
        loss = x.tanh().sum()
        loss.backward()
        str(explain(loss.op.inputs[0]))
        op_of_tanh = loss.op.inputs[0].op
        del loss
        assert len(gc.get_referrers(op_of_tanh)) <= 1  # the frame of this test
    finally:
        gc.enable()


def test_anything_but_a_tensor_is_refused():
    with pytest.raises(TypeError, match="explain takes a tensor; got ndarray"):
        explain(np.ones(3))


def test_after_a_pass_that_kept_no_gradients_it_says_so():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    y = x.tanh()
    loss = (y * y).sum()
    loss.backward(retain_grads=False)
    for tensor in (x, y):
        assert "backward(retain_grads=False) keeps no gradient but those of leaves" in str(explain(tensor))
