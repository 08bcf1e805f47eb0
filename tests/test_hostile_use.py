"""Ways of using the engine that went wrong once, each with the right answer."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import minigrad as mg
from blocks import gradient_paths, residual_gradients
from minigrad import Module, Op, Parameter, Tensor, no_grad, residual_add, scope, where
from minigrad.optim import SGD


def test_a_graph_from_another_process_goes_on_rightly(tmp_path):
    """Its ops were numbered there; here they are numbered anew, in the same order."""
    path = tmp_path / "graph.pickle"
    program = (
        "import pickle, sys; from minigrad import Tensor\n"
        "for _ in range(100): Tensor(1.0, requires_grad=True) * 1\n"
        "x = Tensor(2.0, requires_grad=True); y = x * x * 3\n"
        "pickle.dump((x, y), open(sys.argv[1], 'wb'))"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)
    program = "import pickle, sys; x, y = pickle.load(open(sys.argv[1], 'rb'))\n(y * x).backward(); print(x.grad)"
    result = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert float(result.stdout) == 36  # of 3 x^3 at 2


def test_a_pickled_graph_has_the_same_gradients():
    x = Tensor([1.0, 2.0], requires_grad=True)
    twin_x, twin = pickle.loads(pickle.dumps((x, (x.exp() * x).sum())))
    (x.exp() * x).sum().backward()
    twin.backward()
    np.testing.assert_array_equal(twin_x.grad, x.grad)


def test_a_hook_has_the_last_word_behind_a_selection():
    for select in (lambda y: y[0], lambda y: where([True, False], y, 0).sum()):
        x = Tensor([1.0, 2.0], requires_grad=True)
        y = x * 2
        y.on_gradient(np.ones_like)
        select(y).backward()
        np.testing.assert_array_equal(y.grad, [1, 1])
        np.testing.assert_array_equal(x.grad, [2, 2])


def test_a_second_pass_in_the_middle_of_a_first():
    x = Tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    whole, first = y.sum(), y[0] * 5
    steps = whole.backprop()
    next(steps)
    first.backward()
    x.zero_grad()
    list(steps)
    np.testing.assert_array_equal(x.grad, [2, 2, 2])


def test_path_tools_in_the_middle_of_a_pass_change_nothing():
    x = Tensor([1.0, 2.0], requires_grad=True)
    w = Tensor([1.0, 2.0], requires_grad=True)
    y = residual_add(x, x * (w * 2).exp())
    loss = (y * y).sum()
    loss.backward()
    expected = w.grad
    w.zero_grad()
    for _ in loss.backprop():
        residual_gradients(loss, x)
    np.testing.assert_array_equal(w.grad, expected)


def test_path_tools_say_that_they_leave_hooks_out():
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = residual_add(x, x.tanh())
    y.on_gradient(lambda grad: grad * 10)
    with pytest.warns(UserWarning, match="on_gradient"):
        gradient_paths((y * y).sum(), x)


@pytest.mark.parametrize("name", ["number", "grad_inputs", "lineno", "filename", "inputs"])
@pytest.mark.parametrize("when", ["init", "forward"])
def test_an_attribute_that_the_engine_uses_is_refused(name, when):
    class Scale(Op):
        def __init__(self):
            if when == "init" and name != "inputs":
                setattr(self, name, 3.0)

        def forward(self, x):
            setattr(self, name, 3.0)
            return x * 3

    with pytest.raises(TypeError, match=f"scale.*{name}"):
        Scale()(Tensor([1.0], requires_grad=True))


def test_a_forward_that_forgot_its_result_is_named():
    class Forgetful(Op):
        def forward(self, x):
            x * 2

    with pytest.raises(TypeError, match="forgetful: forward must return an array"):
        Forgetful()(Tensor([1.0], requires_grad=True))


def test_a_borrowed_view_as_data_is_copied_when_it_is_used():
    lent = np.ones(3)
    w = Tensor(np.ones((2, 3)), requires_grad=True)
    w.data = np.broadcast_to(lent, (2, 3))
    loss = (w * w).sum()
    lent[0] = 100
    loss.backward()
    np.testing.assert_array_equal(w.grad, np.full((2, 3), 2.0))


def test_weights_that_met_nan_in_a_row_to_which_no_gradient_comes():
    """0 * NaN is NaN, and `why` says in which row; a row of finite numbers does no harm."""
    x = np.ones((2, 3))
    for product in (lambda x, w: x @ w, lambda x, w: mg.linear(x, w, np.zeros(2))):
        for bad in (np.nan, 5.0):
            x[1] = bad
            w = Tensor(np.ones((3, 2)), requires_grad=True, name="w")
            with np.errstate(invalid="ignore"):
                loss = product(Tensor(x), w)[0].sum()
                loss.backward()
            if np.isnan(bad):
                assert np.isnan(w.grad).all()
                assert "zero from  getitem, which did not take that element" in str(mg.why(w, loss))
            else:
                np.testing.assert_array_equal(w.grad, np.ones((3, 2)))


def test_parameters_in_a_list_are_found_and_in_a_dict_refused():
    class Many(Module):
        def __init__(self):
            self.weights = [Parameter([1.0]), Parameter([2.0])]

    assert [name for name, _ in Many().named_parameters()] == ["weights.0", "weights.1"]
    with pytest.raises(TypeError, match=r"by_name.*dict"):
        Many().by_name = {"a": Parameter([1.0])}


def test_a_module_that_knows_its_parent():
    parent, child = Module(), Module()
    parent.weight = Parameter([1.0])
    parent.child = child
    child.parent = parent
    assert len(parent.parameters()) == 1
    assert parent.eval() is parent
    assert child.training is False


def test_optimizers_refuse_what_would_reshape_a_parameter_or_is_no_rate():
    p = Parameter([1.0])
    p.grad = np.ones(3)
    with pytest.raises(ValueError, match="another shape"):
        SGD([p], 0.1).step()
    assert p.shape == (1,)
    for lr in (0, -0.1, float("nan"), "a", None):
        with pytest.raises(ValueError, match="learning rate"):
            SGD([p], lr)


def test_decorated_functions_may_overlap_in_threads():
    started, results = threading.Barrier(2), []

    @no_grad()
    @scope("inside")
    def compute(x):
        started.wait(timeout=10)
        results.append((x * 2).requires_grad)

    threads = [threading.Thread(target=compute, args=(Tensor(1.0, requires_grad=True),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert results == [False, False]
    assert (Tensor(1.0, requires_grad=True) * 2).op.scope == ()


def test_an_empty_list_indexes_nothing():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    x[[]].sum().backward()
    np.testing.assert_array_equal(x.grad, [[0, 0]])
    assert x[[], 0].shape == (0,)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,ij->j", [(2, 3), (1, 3)]),
        ("...ccb,...aba->...ca", [(1, 2, 2, 2), (3, 3, 3, 2, 3)]),
        ("ij,jk", [(2, 3), (1, 4)]),
    ],
)
def test_einsum_stretches_axes_of_length_1_both_ways(subscripts, shapes):
    rng = np.random.default_rng(0)
    assert mg.gradcheck(lambda *xs: mg.einsum(subscripts, *xs), *(rng.normal(size=shape) for shape in shapes))


@pytest.mark.parametrize("scale", [1e-310, 1e-170, 1.0, 1e160, 1e300])
@pytest.mark.parametrize("function", [mg.std, mg.norm])
def test_slopes_do_not_depend_on_the_scale(function, scale):
    """std(k x) = k std(x), so its slope is that of std at x; the same for the norm."""
    grads = []
    for data in (np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]) * scale):
        x = Tensor(data, requires_grad=True)
        y = function(x)
        y.backward()
        grads.append(x.grad)
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-12)
    np.testing.assert_allclose(y.item(), function(Tensor([1.0, 2.0, 4.0])).item() * scale, rtol=1e-12)
