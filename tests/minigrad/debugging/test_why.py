"""why: planted causes of a gradient that is None, zero, small or NaN, and the answer to each."""

import copy
import gc
import inspect
import math
import pickle

import numpy as np
import pytest

from blocks import MultiHeadAttention, Stack, TransformerBlock
from minigrad import Op, Tensor, cross_entropy, dropout, embedding, log, no_grad, residual_add, sqrt, where
from minigrad.debugging import why
from minigrad.debugging.reporting import consumers
from minigrad.precision import norm


def leaf(*numbers, name="w"):
    return Tensor(list(numbers), requires_grad=True, name=name)


def line_before():
    frame = inspect.currentframe().f_back
    return f"{__file__}:{frame.f_lineno - 1}"


def names(answer):
    return [t.name or (t.op.name if t.op else "constant") for t in answer.path]


def test_no_requires_grad():
    x = Tensor([1.0, 2.0], name="x")
    w = leaf(1.0, 2.0)
    loss = (w * x).sum()
    loss.backward()
    answer = why(x, loss)
    assert answer.verdict == "no requires_grad"
    assert names(answer) == ["x", "multiply", "sum"]
    assert "make it with requires_grad=True" in str(answer)


def test_integers():
    answer = why(Tensor(np.array([1, 2])), leaf(1.0).sum())
    assert answer.verdict == "no requires_grad"
    assert "int64" in str(answer)
    assert "was not made from it" in str(answer)


def test_detached_between_it_and_the_loss():
    w = leaf(1.0, 2.0)
    h = w.tanh()
    d = h.detach()
    here = line_before()
    loss = (d * 2.0).sum() + leaf(1.0, name="v").sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "detached"
    assert f"tanh was detached here: {here}" in str(answer)
    assert answer.path[:2] == [w, h]  # the product of two constants is one more constant, and remembers the cut
    assert answer.path[-1] is loss
    assert why(w, (d * leaf(2.0)).sum()).path[2] is d


def test_detached_twice_on_the_way():
    w = leaf(1.0)
    first = w.tanh()
    again = first.detach() * leaf(2.0, name="v")
    loss = again.detach() * leaf(3.0, name="u")
    text = str(why(w, loss))
    assert text.count("was detached here") == 2
    assert "path: w -> tanh -> [detach()] -> multiply -> [detach()] -> multiply" in text


def detaching_model(w):
    h = w.tanh()
    h = h.detach()
    return h.sum() * leaf(1.0, name="v")


def test_detached_where_nothing_of_the_past_is_left():
    """The usual slip: the name is bound anew, so what was detached is gone. The place can still be told."""
    w = leaf(1.0, 2.0)
    loss = detaching_model(w)
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "detached"
    assert f"{__file__}:{inspect.getsourcelines(detaching_model)[1] + 2}" in str(answer)
    assert "not a certain one" in str(answer)


def test_the_detached_tensor_itself():
    d = leaf(1.0).tanh().detach()
    answer = why(d, (d * leaf(2.0)).sum())
    assert answer.verdict == "detached"
    assert "tanh was detached here" in str(answer)


def test_computed_inside_no_grad():
    w = leaf(1.0, 2.0)
    with no_grad():
        here = line_before()
        h = w.tanh()
    loss = (h * leaf(3.0, 4.0, name="v")).sum()
    loss.backward()
    for answer in (why(w, loss), why(h, loss)):
        assert answer.verdict == "no_grad"
        assert "shape (2,) was computed inside no_grad()" in str(answer)
        assert f"{here}: with no_grad():" in str(answer)


def test_computed_by_a_function_that_no_grad_decorates():
    w = leaf(1.0)
    h = no_grad()(Tensor.tanh)(w)
    here = line_before()
    assert f"{here}: h = no_grad()(Tensor.tanh)(w)" in str(why(h, h * w))


def test_not_used():
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0, name="v")
    loss = (v * 2.0).sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "not used"
    assert answer.path == []
    assert "No op that still exists has it as an input" in str(answer)
    assert "Tensor(t.data)" in str(answer)


def test_used_by_something_else():
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0, name="v")
    other = w.exp()
    answer = why(w, v.sum())
    assert "Its consumer exp does not lead there" in str(answer)
    assert other.op is not None


def test_no_backward_pass_yet():
    w = leaf(1.0)
    answer = why(w, w.exp())
    assert answer.verdict == "no backward pass"
    assert names(answer) == ["w", "exp"]


def test_inner_gradients_that_were_not_kept():
    w = leaf(1.0)
    h = w.exp()
    loss = h * 2.0
    loss.backward(retain_grads=False)
    assert "retain_grads=False" in str(why(h, loss))


def test_forgotten_since():
    w = leaf(1.0)
    loss = w.exp()
    loss.backward()
    w.zero_grad()
    assert why(w, loss).verdict == "forgotten"


def test_a_pass_that_was_stopped_on_its_way():
    w = leaf(1.0)
    loss = w.exp().tanh()
    for _ in loss.backprop():
        break
    assert why(w, loss).verdict == "not reached"
    assert "`break`" in str(why(w, loss))


def test_a_pass_that_was_stopped_right_before_the_leaf():
    """That looks as if the gradient had been taken away, so both are said."""
    w = leaf(1.0)
    loss = w.exp()
    for _ in loss.backprop():
        break
    text = str(why(w, loss))
    assert "zero_grad()" in text
    assert "stopped" in text


def test_each_loss_answers_for_its_own_part_of_a_leafs_gradient():
    x = leaf(1.0, 2.0, name="x")
    a, b = (x * 2).sum(), (x * 0).sum()
    a.backward()
    b.backward()
    answer = why(x, b)
    assert answer.verdict == "multiplied by 0"
    assert "Other passes added to it too: its grad is (2,) [2. 2.]" in str(answer)
    assert why(x, a).verdict == "fine"


def test_a_gradient_that_only_another_loss_can_have_left():
    x = leaf(1.0, 2.0)
    a, b = (x * 2).sum(), (x * 3).sum()
    a.backward()
    assert "No pass from sum has left a trace" in str(why(x, b))
    assert "No pass" not in str(why(x, a))


@pytest.mark.parametrize(("factor", "verdict"), [(0.0, "hook"), (1e-9, "hook"), (np.nan, "nan"), (0.5, "fine")])
@pytest.mark.parametrize("on_leaf", [True, False])
def test_a_hook_that_changes_the_gradient(factor, verdict, on_leaf):
    w = leaf(1.0, 2.0)
    h = w * 3
    h.name = "h"

    def scaled(grad):
        return grad * factor

    (w if on_leaf else h).on_gradient(scaled)
    loss = h.sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == verdict
    assert ("on_gradient: scaled" in str(answer)) == (verdict != "fine")
    assert names(answer) == ["w", "h", "sum"]


class Gate(Op):
    """z = x if open;   dL/dx = dL/dz,   dL/dy = None."""

    def forward(self, x, y):
        return x + 0 * y

    def backward(self, grad_z):
        return grad_z, None


def test_a_rule_that_delivers_none():
    w, v = leaf(1.0), leaf(2.0, name="v")
    gated = Gate()(v, w.exp())
    loss = gated.sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "not delivered"
    assert answer.cause is gated.op
    assert "returned None for its y" in str(answer)
    assert names(answer) == ["w", "exp", "gate", "sum"]


def test_a_dead_relu():
    w = leaf(1.0, 2.0)
    h = (w * -3.0).relu()
    here = line_before()
    loss = (h * 5.0).sum()
    loss.backward()
    assert np.array_equal(w.grad, [0.0, 0.0])
    answer = why(w, loss)
    assert answer.verdict == "dead relu"
    assert answer.cause is h.op
    assert "100% of its inputs are at or below 0" in str(answer)
    assert here in str(answer)
    assert names(answer) == ["w", "multiply", "relu", "multiply", "sum"]


def test_a_partly_dead_relu_says_its_share():
    w = leaf(1.0, -2.0, -3.0, 4.0)
    loss = w.relu().sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "partly zero"
    assert "50% of its elements are exactly 0" in str(answer)
    assert "relu adds zeros: 50% of its inputs are at or below 0" in str(answer)


@pytest.mark.parametrize("factor", [50.0, 5000.0])
def test_a_saturated_softmax(factor):
    """Nearly saturated the gradient is small, wholly saturated it is 0; the cause is the same."""
    w = leaf(1.0, 2.0, 3.0)
    p = (w * factor).softmax()
    loss = (p * Tensor([1.0, -1.0, 0.5])).sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "saturated softmax"
    assert answer.cause is p.op


def test_softmax_is_blind_to_a_constant():
    """Equal probabilities and equal gradients: the products are exact, so the difference is exactly 0."""
    w = leaf(1.0, 1.0)
    loss = (w.softmax() * 2.0).sum()
    loss.backward()
    assert not w.grad.any()
    answer = why(w, loss)
    assert answer.verdict == "cancelled"
    assert "rows add up to 1" in str(answer)


def test_masked_by_where():
    w, v = leaf(1.0, 2.0), leaf(3.0, 4.0, name="v")
    loss = where([False, False], w.exp(), v).sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "masked"
    assert "100% of this input was not taken" in str(answer)


def test_masked_attention():
    """No query may attend to any key but the last, so the first token's key gets nothing."""
    attention = MultiHeadAttention(4, 1, rng=0)
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True, name="x")
    loss = attention(x, mask=np.zeros((3, 3), bool)).sum()
    loss.backward()
    assert why(attention.query.weight, loss).verdict == "masked"


def test_underflow():
    w = leaf(1.0)
    loss = ((w * 1e-200) * 1e-200).sum()
    loss.backward()
    assert w.grad == 0.0
    answer = why(w, loss)
    assert answer.verdict == "underflow"
    assert "at most 1e-200" in str(answer)


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (lambda w: (w * 1000.0).sigmoid(), "saturated sigmoid"),
        (lambda w: (w * 1000.0).tanh(), "saturated tanh"),
        (lambda w: (w * -1000.0).gelu(), "saturated gelu"),
        (lambda w: (w * -1000.0).silu(), "saturated silu"),
        (lambda w: w.clip(10.0, 20.0), "clipped"),
        (lambda w: dropout(w, 1.0), "dropped"),
        (lambda w: w.maximum(10.0), "not the largest"),
        (lambda w: w.minimum(-10.0), "not the smallest"),
        (lambda w: w * 0.0, "multiplied by 0"),
        (lambda w: w @ np.zeros((2, 3)), "multiplied by 0"),
        (lambda w: w[np.array([False, False])], "flat"),
        (lambda w: (w - w) * 2.0, "cancelled"),
    ],
)
def test_other_ways_to_zero(function, verdict):
    w = leaf(1.0, 2.0)
    loss = function(w).sum()
    loss.backward()
    assert not w.grad.any()
    assert why(w, loss).verdict == verdict


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (lambda w: (w + 15.0).tanh(), "small slope"),
        (lambda w: w * 1e-9, "small factor"),
        (lambda w: w @ np.full((2, 3), 1e-9), "small factor"),
        (lambda w: w * Tensor([1e-9, 1e-9, 5.0])[:2], "small factor"),
        (lambda w: w @ Tensor([[1.0, -1.0 + 1e-9], [1.0, -1.0 + 1e-9]]), "cancelled"),
        (lambda w: (np.zeros((2, 2)) + w) * Tensor([[1.0], [-1.0 + 1e-9]]), "cancelled"),
        (lambda w: w.softmax() * Tensor([1.0, 1.0 + 1e-9]), "cancelled"),
    ],
)
def test_small_but_not_zero(function, verdict):
    w = leaf(1.0, 2.0)
    loss = function(w).sum()
    loss.backward()
    assert w.grad.all()
    assert why(w, loss).verdict == verdict


def test_a_pass_that_started_from_zeros():
    w = leaf(1.0, 2.0)
    loss = w.exp()
    loss.backward(np.zeros(2))
    assert "started from zeros" in str(why(w, loss))


def test_rows_of_a_table_that_did_not_occur():
    table = Tensor(np.ones((4, 2)), requires_grad=True, name="table")
    loss = embedding(table, [1, 1]).sum()
    loss.backward()
    assert "75% of the table belongs to tokens that did not occur" in str(why(table, loss))


def test_elements_that_were_not_read():
    w = leaf(1.0, 2.0, 3.0, 4.0)
    loss = w[:3].sum()
    loss.backward()
    assert "25% of its input was not read by the index" in str(why(w, loss))


def test_a_fitted_cross_entropy():
    z = Tensor([[2000.0, 0.0]], requires_grad=True, name="z")
    loss = cross_entropy(z, [0])
    loss.backward()
    assert why(z, loss).verdict == "fitted"


def test_the_bias_of_the_keys_cancels():
    """A bias of the keys adds the same number to all scores of a query, and softmax ignores that."""
    block = TransformerBlock(4, 2, 8, rng=0, name="block")
    loss = (
        block(Tensor(np.random.default_rng(0).standard_normal((3, 4)))) * Tensor(np.arange(12.0).reshape(3, 4))
    ).sum()
    loss.backward()
    bias = block.attention.key.bias
    assert norm(bias.grad) < 1e-12
    answer = why(bias, loss)
    assert answer.verdict == "cancelled"
    assert answer.cause.name == "linear"
    assert "softmax ignores it" in str(answer)
    assert "factor" not in str(answer)


def test_a_weight_behind_a_dead_layer():
    """The weight itself is far from the relu: what it is multiplied by is dead."""
    block = TransformerBlock(4, 1, 8, rng=0)
    block.feed_forward.up.bias.data = np.full(8, -100.0)
    loss = (block(Tensor(np.eye(3, 4))) * Tensor(np.arange(12.0).reshape(3, 4))).sum()
    loss.backward()
    assert why(block.feed_forward.up.weight, loss).verdict == "dead relu"
    answer = why(block.feed_forward.down.weight, loss)
    assert answer.verdict == "multiplied by 0"
    assert "100% of the other factor, block.feed_forward.relu, is 0" in str(answer)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_from_a_backward_rule():
    w = leaf(4.0, 0.0)
    y = sqrt(w)
    loss = (y * y).sum() * 0.5
    loss.backward()
    assert np.isnan(w.grad[1])
    answer = why(w, loss)
    assert answer.verdict == "nan"
    assert answer.cause is y.op
    assert "backward of sqrt made dL/dx = nan at index (1,)" in str(answer)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nan_from_a_forward():
    w = leaf(0.0, 1.0)
    a = log(w)
    loss = (w * a).sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "nan"
    assert answer.cause is a.op
    assert "forward of log made -inf at index (0,)" in str(answer)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_nan_loss_with_finite_gradients():
    w, v = leaf(1.0), leaf(-1.0, name="v")
    loss = w.sum() + log(v).sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "nan loss"
    assert "forward of log made nan" in str(answer)


def test_all_is_well():
    w = leaf(1.0, 2.0)
    loss = w.exp().sum()
    loss.backward()
    answer = why(w, loss)
    assert answer.verdict == "fine"
    assert repr(answer) == "<why w: fine>"
    assert names(answer) == ["w", "exp", "sum"]


def test_every_parameter_of_a_model_gets_an_answer():
    stack = Stack(2, 4, 2, 8, causal=True, rng=0)
    x = Tensor(np.random.default_rng(0).standard_normal((3, 4)), requires_grad=True, name="x")
    loss = (stack(x) * Tensor(np.arange(12.0).reshape(3, 4))).sum()
    loss.backward()
    for parameter in stack.parameters():
        assert why(parameter, loss).path[0] is parameter


def test_a_long_chain():
    w = leaf(-1.0)
    y = w.relu()
    for _ in range(20_000):
        y = y * 1.0
    y.backward()
    answer = why(w, y)
    assert answer.verdict == "dead relu"
    assert len(answer.path) == 20_002
    assert "19,992 more" in str(answer)


@pytest.mark.parametrize(("tensor", "loss"), [(np.ones(2), Tensor(1.0)), (Tensor(1.0), 3.0)])
def test_anything_but_tensors_is_refused(tensor, loss):
    with pytest.raises(TypeError, match="why takes the tensor and the loss"):
        why(tensor, loss)


def test_asking_changes_nothing():
    w = leaf(1.0, 2.0)
    loss = (w * -3.0).relu().sum()
    loss.backward()
    before = w.grad.copy()
    why(w, loss)
    assert np.array_equal(w.grad, before)
    assert loss.grad == 1.0


def test_detach_keeps_nothing_alive():
    """A recurrent loop that detaches its state each time must not keep all the times before."""
    gc.collect()
    gc.disable()
    try:
        state = Tensor([1.0])
        w = leaf(0.5)
        for _ in range(10):
            state = (state * w).tanh().detach()
        alive = consumers(w)
    finally:
        gc.enable()
    assert alive == []
    assert state.cut.source is None


def test_a_detached_tensor_can_be_copied_and_pickled():
    w = leaf(0.5)
    h = w.tanh()
    d = h.detach()
    for twin in (copy.copy(d), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert twin.cut.location == d.cut.location
        assert np.array_equal(twin.data, d.data)
    assert d.cut.source is h


def test_a_constant_is_detached_without_a_note():
    assert Tensor([1.0]).detach().cut is None


def test_without_a_tensor_it_asks_about_the_start_of_the_stream():
    x = Tensor([[1.0, -2.0]], requires_grad=True, name="x")
    h = residual_add(x, x.tanh(), "one")
    loss = residual_add(h, (h - 100.0).relu(), "two").sum()
    loss.backward()
    answer = why(loss)
    assert answer.tensor is x
    assert str(answer) == str(why(x, loss))
    with pytest.raises(ValueError, match="no residual was made"):
        why((x * 2).sum())


def test_why_a_what_was_never_used_is_not_called_detached():
    used, unused = leaf(1.0, 2.0, name="used"), leaf(1.0, 2.0, name="unused")
    loss = used.sum() + (used * 2).detach().sum()
    loss.backward()
    assert why(unused, loss).verdict == "not used"
    elsewhere = unused * 3
    assert why(unused, loss).verdict == "not used"
    assert why(elsewhere, loss).verdict == "not used"
    lost = used.sum() + (unused * used).detach().sum()
    lost.backward()
    assert why(unused, lost).verdict == "detached"
    assert "(unused * used).detach()" in str(why(unused, lost))


def test_why_b_a_later_pass_over_a_shared_trunk():
    """The first loss's part is 8 w = (8, 16); h keeps the second pass's 0, which says nothing of the first loss."""
    w = leaf(1.0, 2.0, name="w")
    h = w * 2
    good, dead = (h * h).sum(), (-h).relu().sum()
    good.backward()
    dead.backward()
    np.testing.assert_array_equal(w.grad, [8, 16])
    for tensor in (w, h):
        answer = why(tensor, good)
        assert answer.verdict == "later pass"
        assert "went through here" in str(answer)
        assert "h = w * 2" in str(answer)
    assert why(w, dead).verdict == "dead relu"
    good.backward()
    assert why(w, good).verdict == "fine"
    assert why(w, dead).verdict == "later pass"


def test_why_b_two_passes_over_one_graph_and_sums_that_round_are_no_later_pass():
    w = Tensor(np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32), requires_grad=True)
    h = w.tanh()
    loss = sum(((h * float(k)).exp() for k in range(1, 9)), start=h).sum()
    loss.backward()
    loss.backward()
    assert why(w, loss).verdict == "fine"
    assert why(h, loss).verdict == "fine"


@pytest.mark.filterwarnings("ignore:.*a Python number is a constant:UserWarning")  # wanted here
def test_cut_a_a_number_that_was_read_is_known():
    """y = e^x x has the slope (1 + x) e^x = 22.167 at 2; with math.exp a factor is a constant, and 7.389 arrives."""
    x = leaf(2.0, name="x")
    y = (math.exp(x) * x).sum()
    y.backward()
    assert x.grad[0] == pytest.approx(math.exp(2))
    answer = why(x, y)
    assert answer.verdict == "read as a number"
    assert "y = (math.exp(x) * x).sum()" in str(answer)

    w, scale = leaf(1.0, name="w"), leaf(2.0, name="scale")
    inner = (w * math.exp(scale * 3)).sum()
    inner.backward()
    assert why(w, inner).verdict == "fine"
    assert why(scale, inner).verdict == "read as a number"
    assert "float() took the number out of multiply" in str(why(scale, inner))

    z = leaf(1.0, name="z")
    loss = (z * 2).sum()
    loss.backward()
    assert float(loss) == 2  # a look at the loss
    assert why(z, loss).verdict == "fine"
    again = (z * 3).sum()
    z.zero_grad()
    again.backward()
    assert why(z, again).verdict == "fine"
