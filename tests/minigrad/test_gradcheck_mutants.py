"""gradcheck can't be fooled: wrong rules of every kind, at every scale, and right rules that are hard to measure."""

import copy
import pickle

import numpy as np
import pytest

import minigrad as mg
from minigrad import Op, Tensor, gradcheck
from minigrad.debugging import explain
from minigrad.gradcheck import GradcheckError


class Elementwise(Op):
    """y = f(x);   dL/dx = dL/dy * f'(x), with a fault."""

    def __init__(self, function, slope, fault=lambda grad: grad):
        self.function, self.slope, self.fault = function, slope, fault

    def forward(self, x):
        self.x = x
        return self.function(x)

    def backward(self, grad_y):
        return (self.fault(grad_y * self.slope(self.x)),)


FUNCTIONS = {
    "exp": (np.exp, np.exp),
    "cube": (lambda x: x**3, lambda x: 3 * x**2),
    "square": (lambda x: x**2, lambda x: 2 * x),
    "tanh": (np.tanh, lambda x: 1 - np.tanh(x) ** 2),
    "log": (np.log, lambda x: 1 / x),
    "root": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
    "one over": (lambda x: 1 / x, lambda x: -1 / x**2),
    "x + 5000": (lambda x: x + 5000, np.ones_like),
    "x + 1": (lambda x: x + 1, np.ones_like),
    "sin": (np.sin, np.cos),
}
SCALES = [1e-9, 2e-7, 1e-4, 1.0, 1e3, 1e6, 1e9]
OVERFLOWS = {
    ("exp", 1e3),
    ("exp", 1e6),
    ("exp", 1e9),
}  # and what is flat to the last digit has slope 0 whatever one does
FLAT = {("tanh", 1e3), ("tanh", 1e6), ("tanh", 1e9)}
WAYS = [(name, scale) for name in FUNCTIONS for scale in SCALES if (name, scale) not in OVERFLOWS | FLAT]


def single_entry(grad):
    grad = grad.copy()
    grad[1] *= 1.0001
    return grad


FAULTS = {
    **{f"factor {factor}": lambda g, factor=factor: g * factor for factor in (1.0001, 1.0005, 1.005, 1.3, 2, -1, 0)},
    "offset": lambda g: g + 1e-3 * np.abs(g).max(),
    "single entry": single_entry,
    "inf": lambda g: g / 0.0,
    "nan": lambda g: g * np.nan,
    "one inf": lambda g: np.where([True, False, True], g, np.inf),
    "absolute": np.abs,
}


@pytest.mark.parametrize(("name", "scale"), WAYS)
def test_chk_b_right_rules_pass_at_every_scale(name, scale):
    x = scale * np.array([0.7, 1.1, 1.3])
    report = gradcheck(Elementwise(*FUNCTIONS[name]), x)
    assert report.compared == 3, report


@pytest.mark.parametrize(("name", "scale"), WAYS)
def test_chk_a_chk_b_no_wrong_rule_passes_at_any_scale(name, scale):
    x = scale * np.array([0.7, 1.1, 1.3])
    passed = [fault for fault, change in FAULTS.items() if passes(Elementwise(*FUNCTIONS[name], change), x)]
    assert not passed


def passes(function, *inputs):
    """Whether a wrong rule passes. A refusal to measure is no pass."""
    with np.errstate(all="ignore"):
        try:
            return bool(gradcheck(function, *inputs))
        except (GradcheckError, ValueError):
            return False


@pytest.mark.parametrize("offset", [1e12, 1e17, -1e20])
@pytest.mark.parametrize("fault", [lambda g: g, lambda g: 0 * g, lambda g: 2 * g])
def test_chk_b_what_drowns_is_never_a_pass(offset, fault):
    function = Elementwise(lambda x: x + offset, np.ones_like, fault)
    assert not passes(function, [1.0])
    if fault(1) == 1:
        with pytest.raises(ValueError, match=r"no entry could be compared.*can't be measured to better than"):
            gradcheck(function, [1.0])


@pytest.mark.parametrize("fault", [lambda g: g, lambda g: 0 * g])
def test_chk_b_rounding_inside(fault):
    """(x + 1e8) - 1e8 is small, and yet rounded to multiples of 1.5e-8."""
    function = Elementwise(lambda x: (x + 1e8) - 1e8, np.ones_like, fault)
    assert passes(function, [0.3, 0.7, 1.9]) == (fault(1) == 1)


def test_chk_a_explain_says_wrong():
    for bad in (np.inf, np.nan):
        x = Tensor([1.0, 2.0], requires_grad=True)
        y = Elementwise(np.exp, np.exp, lambda g, bad=bad: g * bad)(x)
        check = explain(y).check
        assert not check and "WRONG" in str(check)


class Forgetful(Op):
    """y = x^2;   dL/dx = dL/dy * 2 x: right in the first pass alone."""

    def forward(self, x):
        self.saved = 2 * x
        return x * x

    def backward(self, grad_y):
        grad_x = grad_y * self.saved
        self.saved *= 0
        return (grad_x,)


class Slipping(Forgetful):
    """As above, but off by 1e-6 in the second pass."""

    def backward(self, grad_y):
        grad_x = grad_y * self.saved
        self.saved *= 1.000001
        return (grad_x,)


@pytest.mark.parametrize("op", [Forgetful, Slipping])
def test_chk_c_the_same_node_is_passed_twice(op):
    with pytest.raises(GradcheckError, match="second backward pass of the same graph"):
        gradcheck(op(), [1.0, 2.0])
    with pytest.raises(GradcheckError, match="second backward pass"):
        gradcheck(lambda x: op()(x * 2).tanh(), [1.0, 2.0])


class Scale(Op):
    """y = k x;   dL/dx = k dL/dy."""

    def __init__(self, k):
        self.k = k

    def forward(self, x):
        return self.k * x

    def backward(self, grad_y):
        return (self.k * grad_y,)


def test_chk_d_ops_with_arguments_copies_and_pickles():
    op = Scale(2.0)
    assert gradcheck(op, [1.0]).compared == 1
    for twin in (copy.copy(op), copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        x = Tensor([1.0], requires_grad=True)
        twin(x).backward()
        assert x.grad == 2
        with pytest.raises(RuntimeError, match="used already"):
            copy.copy(twin)(x)


@pytest.mark.parametrize("p", [0.5, 0.01])
@pytest.mark.parametrize("seed", range(30))
def test_chk_e_a_random_function_never_passes(seed, p):
    rng = np.random.default_rng(seed)
    with pytest.raises(ValueError, match=r"not deterministic.*rng=0"):
        gradcheck(lambda t: mg.dropout(t, p, True, rng), [1.0, 2.0])


def test_chk_e_other_sources_of_chance():
    rng = np.random.default_rng(0)
    for draw in (lambda: rng.random() < 0.5, lambda: np.random.rand() < 1e-3):
        with pytest.raises(ValueError, match="not deterministic"):
            gradcheck(lambda x, draw=draw: x * (2.0 if draw() else 1.0), [1.0])
    assert gradcheck(lambda x: mg.dropout(x, 0.5, rng=0), [1.0, 2.0]).compared == 2


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 5e-7, 3e-8])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.max() * 2,
        lambda x: x.std(),
        lambda x: mg.maximum(x[0], x[1]),
        lambda x: x.clip(0, 1).sum(),
        lambda x: abs(x - 1).sum(),
    ],
    ids=["max", "std", "maximum", "clip", "abs"],
)
def test_chk_f_near_a_kink(function, distance):
    x = np.array([1 - distance / 2, 1 + distance / 2])
    report = gradcheck(function, x)
    assert report.compared + len(report.kinks) == 2 and report.compared
    t = Tensor(x, requires_grad=True)
    y = function(t)
    assert "WRONG" not in str(explain(y).check)


def test_chk_f_the_samples():
    assert gradcheck(mg.max, [1, 1 + 5e-7]).compared == 2
    assert gradcheck(lambda x: x.clip(0, 1), [1 + 5e-7]).compared == 1
    assert gradcheck(mg.std, [1, 1 + 1e-7]).compared == 2


def test_chk_f_a_wrong_rule_beside_a_kink():
    for x in (1 + 5e-7, 1 - 5e-7, 1.0):
        function = Elementwise(lambda x: np.abs(x - 1), lambda x: np.sign(x - 1), lambda g: 1.5 * g + 1e-9)
        assert not passes(function, [x])


def test_nothing_compared_is_false():
    report = gradcheck(mg.relu, [0.0])
    assert report.kinks == [(0, (0,))] and not report
    assert gradcheck(mg.relu, np.zeros((0, 3)))


class Product(Op):
    """z = x y, with a rule that is right only if nothing was broadcast."""

    def forward(self, x, y):
        self.x, self.y = x, y
        return x * y

    def backward(self, grad_z):
        grad_x, grad_y = grad_z * self.y, grad_z * self.x
        return grad_x, grad_y if self.y.shape == self.x.shape else grad_y * 1.0001


def test_wrong_only_for_broadcast_input():
    assert gradcheck(Product(), np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(GradcheckError, match="input 1"):
        gradcheck(Product(), np.ones((2, 3)), np.ones(3))


def test_an_edge_takes_no_wrong_gradient():
    class Root(Op):
        def __init__(self, at_0):
            self.at_0 = at_0

        def forward(self, x):
            self.x = x
            return np.where(x < 0, np.nan, np.abs(x) ** 1.5)

        def backward(self, grad_y):
            return (np.where(self.x == 0, self.at_0, grad_y * 1.5 * np.abs(self.x) ** 0.5),)

    assert gradcheck(Root(0.0), [0.0, 1.0]).kinks == [(0, (0,))]
    for wrong in (5.0, np.inf, np.nan):
        with pytest.raises(GradcheckError):
            gradcheck(Root(wrong), [0.0, 1.0])
