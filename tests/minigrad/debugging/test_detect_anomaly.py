"""detect_anomaly: the culprit is named, with the user's line; what does no harm is let pass."""

import inspect
from contextlib import nullcontext

import numpy as np
import pytest

from minigrad import Op, Tensor, dropout, exp, log, no_grad, scope, sqrt, where
from minigrad.debugging import AnomalyError, detect_anomaly, why
from minigrad.watching import WATCHERS


def line_here():
    """The line that calls this, as reports give it."""
    return f"{__file__}:{inspect.currentframe().f_back.f_lineno}"


def test_dbg_05_forward_nan_hunt():
    """x log x at 0: log makes -inf, the product makes NaN of it, and both are reported; the loss is NaN."""
    x = Tensor([0.0, 1.0], requires_grad=True, name="x")
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        a = log(x)
        b = x * a
        loss = b.sum()
        loss.backward()
    report = str(caught.value)
    assert report.startswith("forward of log made -inf at index (0,) of shape (2,).")
    assert "first NaN  multiply, at index (0,)" in report
    anomaly = caught.value.anomaly
    assert (anomaly.phase, anomaly.op, anomaly.index) == ("forward", a.op, (0,))
    assert [t.op.name for t in anomaly.tainted] == ["log", "multiply", "sum"]

    assert np.isnan(loss.item())
    with np.errstate(all="ignore"):
        loss.backward()
    assert np.isnan(x.grad[0])
    assert x.grad[1] == 1.0


def test_dbg_10_names_operands_and_the_users_line():
    scores = Tensor(np.full((2, 3), 800.0), requires_grad=True, name="scores")
    with pytest.raises(AnomalyError) as caught, detect_anomaly(), scope("attention"):
        e, here = exp(scores), line_here()
        (e / e.sum()).sum().backward()
    report = str(caught.value)
    assert "forward of attention.exp made inf at index (0, 0) of shape (2, 3)" in report
    assert "y = e^x;   dL/dx = dL/dy * y." in report
    assert f"made at    {here}: e, here = exp(scores), line_here()" in report
    assert "input x    (2, 3) float64, from 800 to 800: scores" in report


def test_a_backward_culprit():
    """The slope of the root at 0 is infinite: nothing is wrong with the values."""
    x = Tensor([4.0, 0.0], requires_grad=True, name="x")
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        y, here = sqrt(x), line_here()
        y.sum().backward()
    anomaly = caught.value.anomaly
    assert (anomaly.phase, anomaly.op, anomaly.index) == ("backward", y.op, (1,))
    report = str(caught.value)
    assert "backward of sqrt made dL/dx = inf at index (1,) of shape (2,)" in report
    assert f"made at    {here}" in report
    assert "from dL/dy (2,) float64, from 1 to 1" in report
    assert x.grad is None  # the pass stopped at the culprit


def test_the_first_of_several_culprits_is_named():
    x = Tensor([0.0], requires_grad=True)
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        first = log(x)
        (log(x - 1.0) + first).sum().backward()
    assert caught.value.anomaly.op is first.op


def test_a_nan_loss_without_any_nan_gradient():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with np.errstate(all="ignore"):
        loss = x.sum() + log(Tensor(-1.0))
        loss.backward()
    assert np.isnan(loss.item())
    assert np.array_equal(x.grad, [1.0, 1.0])
    with pytest.raises(AnomalyError, match=r"forward of log made nan at index \(\)"), detect_anomaly():
        (x.sum() + log(Tensor(-1.0))).backward()


def test_a_loss_spoiled_by_a_recorded_op_is_traced_through_a_graph_made_outside():
    x = Tensor([-1.0], requires_grad=True)
    with np.errstate(all="ignore"):
        y = log(x)
        loss = (y * 2).sum()
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        loss.backward()
    assert caught.value.anomaly.op is y.op


def test_a_nan_that_came_in_with_a_leaf():
    x = Tensor([1.0, np.nan], requires_grad=True, name="x")
    report = r"no op made it: x was created with nan at index \(1,\)"
    with pytest.raises(AnomalyError, match=report), detect_anomaly():
        (x * 2).sum().backward()


def test_a_gradient_that_was_given():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    y = x * 2
    with pytest.raises(AnomalyError, match=r"given to backward\(\), is inf"), detect_anomaly():
        y.backward(np.array([np.inf, 1.0]))


def test_two_finite_shares_with_an_infinite_sum():
    largest = np.finfo(np.float64).max
    x = Tensor([1e-300], requires_grad=True)
    y = x * 1.0
    with pytest.raises(AnomalyError, match="summed from finite contributions, is inf"), detect_anomaly():
        (y * largest + y * largest).sum().backward()


def test_forward_alone_is_reported_at_the_end_of_the_block():
    with pytest.raises(AnomalyError, match=r"forward of log made -inf(.|\n)*spoiled    2 results"), detect_anomaly():
        log(Tensor([0.0], requires_grad=True)) * 2
    assert WATCHERS == []


def test_the_first_of_two_that_have_nothing_to_do_with_each_other():
    x = Tensor([0.0], requires_grad=True)
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        first = log(x)
        sqrt(x - 1.0)
    assert caught.value.anomaly.op is first.op


def test_unrecorded_ops_are_placed_too():
    x = Tensor([0.0], requires_grad=True)
    with pytest.raises(AnomalyError) as caught, detect_anomaly(), no_grad():
        log(x)
        here = line_here()
    file, line = here.rsplit(":", 1)
    assert f"{file}:{int(line) - 1}: log(x)" in str(caught.value)


def test_unrecorded_results_are_followed_to_the_first_nan():
    x = Tensor([0.0])
    for mode in (nullcontext, no_grad):
        with pytest.raises(AnomalyError) as caught, detect_anomaly(), mode():
            y = 1 / x
            z, here = y * 0, line_here()
        report = str(caught.value)
        assert report.startswith("forward of divide made inf at index (0,) of shape (1,).")
        assert f"first NaN  multiply, at index (0,), made at {here}" in report
        assert "spoiled    2 results: divide, multiply" in report
        assert caught.value.anomaly.tainted == [y, z]


def test_a_loss_spoiled_over_several_unrecorded_results():
    x = Tensor([1.0], requires_grad=True)
    report = r"forward of log made nan(.|\n)*spoiled    4 results: log, multiply, sum, multiply"
    with pytest.raises(AnomalyError, match=report), detect_anomaly():
        (x * (log(Tensor([-1.0])) * 2).sum()).backward()


def test_the_picture_of_an_unrecorded_culprit(tmp_path):
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        1 / Tensor([0.0]) * 2
    caught.value.draw(tmp_path / "inf.dot")
    assert "spoiled by it" in (tmp_path / "inf.dot").read_text(encoding="utf-8")


def test_a_leaf_whose_finite_shares_have_an_infinite_sum():
    x = Tensor([0.0], requires_grad=True, name="x")
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        (x * 1e308 + x * 1e308).sum().backward()
    report = str(caught.value)
    assert report.startswith("gradient of x, summed from finite contributions, is inf at index (0,)")
    assert report.count("summand    (1,) float64, 1e+308, from multiply, made at") == 2
    assert x.grad is None


def test_a_leaf_that_adds_up_to_inf_over_two_passes():
    x = Tensor([0.0], requires_grad=True, name="x")
    with pytest.raises(AnomalyError, match="gradient of x"), detect_anomaly():
        (x * 1e308).sum().backward()
        (x * 1e308).sum().backward()
    assert np.array_equal(x.grad, [1e308])


@pytest.mark.parametrize("on_leaf", [True, False])
def test_a_hook_that_returns_nan(on_leaf):
    x = Tensor([1.0], requires_grad=True, name="x")
    y = x * 2
    y.name = "y"
    (x if on_leaf else y).on_gradient(lambda grad: grad * np.nan)
    report = f"of {'x' if on_leaf else 'y'}, returned by a function of on_gradient"
    with pytest.raises(AnomalyError, match=report), detect_anomaly():
        y.sum().backward()


def test_an_inf_that_does_no_harm_is_let_pass():
    """To the values, that is; the gradient is right as well, if its slope is finite where the inf is."""
    x = Tensor([0.0, 2.0], requires_grad=True)
    with detect_anomaly():
        where(x.data > 0, log(where(x.data > 0, x, 1.0)), 0.0).sum().backward()
        scores = where([True, False], x, -np.inf)
        scores.softmax().norm().backward()
    assert np.array_equal(x.grad, [0.0, 0.5])


def test_a_gradient_of_zero_that_meets_an_infinite_slope():
    """No value is spoiled: where does not take -inf. But its gradient of 0 times the slope of log, which is inf."""
    x = Tensor([0.0, 2.0], requires_grad=True, name="x")
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        taken = log(x) * 3
        chosen, here = where(x.data > 0, taken, 0.0), line_here()
        loss = chosen.sum()
        loss.backward()
    assert loss.item() == 3 * np.log(2)
    anomaly = caught.value.anomaly
    assert (anomaly.phase, anomaly.op.name, anomaly.index) == ("backward", "log", (0,))
    assert anomaly.zeroed_by is chosen.op
    report = str(caught.value)
    assert report.startswith("backward of log made dL/dx = nan at index (0,) of shape (2,).")
    assert "because    0 * inf is NaN: the slope of log is inf there, and the gradient that came is 0\n" in report
    assert f"zero from  where, which did not take that element, made at {here}: chosen, here = where(" in report
    assert "cure       a safe input for log where its result is not taken: log(where(condition, x, 1))" in report


@pytest.mark.parametrize("retain_grads", [True, False])
@pytest.mark.parametrize(
    ("function", "culprit", "zeroing", "cure"),
    [
        (lambda x: sqrt(x)[1:], "sqrt", "getitem", "take the index first: sqrt(x[index])"),
        (lambda x: sqrt(x * x)[-1], "sqrt", "getitem", "sqrt(where(taken, x, 1))"),
        (lambda x: (1 / x)[1:], "divide", "getitem", "take the index first: divide(x, y[index])"),
        (lambda x: where([False, True], [1.0, 2.0] / x, 0), "divide", "where", "divide(x, where(condition, y, 1))"),
        (lambda x: where([True, False], 0, x**0.5), "power", "where", "power(where(condition, 1, x), p)"),
        (lambda x: where([[False, True]] * 2, log(x), 0), "log", "where", "log(where(condition, x, 1))"),
        (lambda x: where([False, True], log(x[:1]), x), "log", None, ""),
        (lambda x: sqrt(x) * x, "sqrt", "multiply", "x**1.5 for sqrt(x) * x"),
    ],
)
def test_causes_and_cures(function, culprit, zeroing, cure, retain_grads):
    x = Tensor([0.0, 2.0], requires_grad=True)
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        function(x).sum().backward(retain_grads=retain_grads)
    anomaly = caught.value.anomaly
    assert anomaly.op.name == culprit
    assert (anomaly.zeroed_by and anomaly.zeroed_by.name) == zeroing
    assert cure in str(anomaly)


def test_an_infinite_slope_that_meets_a_gradient_is_named_alone():
    x = Tensor([0.0], requires_grad=True)
    with pytest.raises(AnomalyError, match="because    the slope of sqrt is inf there") as caught, detect_anomaly():
        sqrt(x).sum().backward()
    assert caught.value.anomaly.zeroed_by is None
    assert "cure" not in str(caught.value)


def test_a_zero_that_was_given_or_that_a_hook_made():
    x = Tensor([0.0, 4.0], requires_grad=True)
    with pytest.raises(AnomalyError, match="zero from  the gradient that was given to backward"), detect_anomaly():
        sqrt(x).backward(np.array([0.0, 1.0]))
    y = x * 1
    z = sqrt(y)
    z.on_gradient(np.zeros_like)
    with pytest.raises(AnomalyError, match="or a function of on_gradient"), detect_anomaly():
        z.sum().backward()


def test_dropout_draws_nothing_while_a_cause_is_looked_for():
    rng = np.random.default_rng(0)
    x = Tensor([0.0, 4.0], requires_grad=True)
    with np.errstate(all="ignore"):
        loss = dropout(sqrt(x), 0.5, rng=rng)[1:].sum()
        loss.backward()
    state = rng.bit_generator.state
    assert "zero from  " in str(why(x, loss))
    assert rng.bit_generator.state == state


def test_the_operands_of_the_first_nan():
    for function, cause in (
        (lambda x: x * log(x), r"0 \* -inf"),
        (lambda x: 1 / x - 1 / x, "inf - inf"),
        (lambda x: 1 / x + log(x), r"inf \+ -inf"),
        (lambda x: (1 / x) / (1 / x), "inf / inf"),
    ):
        with pytest.raises(AnomalyError, match=f"because    {cause} is NaN"), detect_anomaly():
            function(Tensor([0.0, 1.0], requires_grad=True)).sum().backward()


def test_the_users_own_exception_comes_through():
    with pytest.raises(KeyError), detect_anomaly():
        log(Tensor([0.0], requires_grad=True))
        raise KeyError("mine")
    assert WATCHERS == []


def test_numpys_warnings_are_silent_inside_only():
    with pytest.raises(AnomalyError), detect_anomaly():
        log(Tensor([0.0], requires_grad=True))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        log(Tensor([0.0]))


def test_integers_and_finite_numbers_pass():
    x = Tensor([1.0, 2.0], requires_grad=True)
    with detect_anomaly(), detect_anomaly():
        (x[np.array([0, 1])] * Tensor(np.array([1, 2]))).sum().backward()
    assert np.array_equal(x.grad, [1.0, 2.0])


def test_an_op_of_the_user_without_a_docstring():
    class Spoil(Op):
        __doc__ = None

        def forward(self, *xs):
            return xs[0] * 1.0

        def backward(self, grad_y):
            return grad_y * np.nan, grad_y

    x = Tensor([1.0], requires_grad=True)
    with pytest.raises(AnomalyError, match=r"backward of spoil made dL/dxs\[0\] = nan"), detect_anomaly():
        Spoil()(x, x).sum().backward()


def test_the_picture_shows_the_culprit_and_what_it_spoiled(tmp_path):
    x = Tensor([0.0, 1.0], requires_grad=True, name="x")
    with pytest.raises(AnomalyError) as caught, detect_anomaly():
        (x * log(x)).sum().backward()
    caught.value.draw(tmp_path / "nan.dot")
    dot = (tmp_path / "nan.dot").read_text(encoding="utf-8")
    assert dot.count("#d7191c") >= 1
    assert dot.count("#f4a582") >= 2
    assert "made the first NaN or inf" in dot
    assert "spoiled by it" in dot


def test_a_long_chain():
    x = Tensor([0.0], requires_grad=True)
    with pytest.raises(AnomalyError, match="spoiled    20,001 results"), detect_anomaly():
        y = log(x)
        for _ in range(20_000):
            y = y + 1.0
        y.backward()


@pytest.mark.parametrize("with_backward", [True, False])
@pytest.mark.parametrize("recorded", [True, False])
def test_ano_a_what_where_did_not_take_is_let_pass_without_a_backward_too(with_backward, recorded):
    x = Tensor([0.5, 2.0], requires_grad=recorded)
    with detect_anomaly():
        loss = where(x.data > 1, log(x - 1), x).sum()
        if with_backward and recorded:
            loss.backward()
    assert loss.item() == 0.5


def test_ano_a_a_second_culprit_is_seen_after_one_that_did_no_harm():
    x = Tensor([0.5, 2.0], requires_grad=True)
    with pytest.raises(AnomalyError, match=r"forward of exp made inf") as error, detect_anomaly():
        harmless = where(x.data > 1, log(x - 1), x)
        (harmless * 10_000).exp()
    assert error.value.anomaly.op.name == "exp"
    assert [t.op.name for t in error.value.anomaly.tainted] == ["exp"]
    with pytest.raises(AnomalyError, match="forward of log made") as error, detect_anomaly():
        bad = log(x - 1)
        where(x.data > 1, bad, x).sum()
        bad.sum()  # this one is spoiled, and nothing made it good again
    assert [t.op.name for t in error.value.anomaly.tainted] == ["log", "sum"]
