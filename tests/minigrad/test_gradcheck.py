"""gradcheck: it passes right rules, catches wrong ones, and says which is which."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Op, Tensor, gradcheck
from minigrad.gradcheck import GradcheckError
from tests import mutation
from tests.minigrad.ops.uses import USES, all_ops, reference

REFERENCE = reference()


class Cube(Op):
    """y = x^3;   dL/dx = dL/dy * 3 x^2, times `fault`."""

    fault = 1.0

    def forward(self, x):
        self.x = x
        return x**3

    def backward(self, grad_y):
        return (self.fault * grad_y * 3 * self.x**2,)


class WrongCube(Cube):
    fault = 1.001


@pytest.mark.parametrize("name", USES)
def test_every_op_passes(name):
    report = gradcheck(USES[name].function, *REFERENCE[name]["inputs"])
    assert report and report.compared == sum(array.size for array in REFERENCE[name]["inputs"])


@pytest.mark.parametrize("op", sorted(all_ops()))
def test_a_wrong_rule_of_every_op_is_caught(op):
    """The sign, the size and the presence of each gradient that its backward, or the one it inherits, returns."""
    owner = next(base for base in all_ops()[op].__mro__ if "backward" in vars(base))
    mutants = [m for m in mutation.mutants_of(owner) if m.name == "backward" and ast_result(m)]
    assert mutants
    for mutant in mutants:
        with mutation.Planted(mutant):
            assert mutation.is_noticed(mutation.check_gradients, mutation.uses_of(op)), mutant.fault


def ast_result(mutant):
    return "return" in mutant.fault and mutant.fault.split(": ")[1] in ("sign", "factor", "lost")


def test_an_op_is_checked_as_it_is():
    assert gradcheck(Cube(), [1.0, -2.0]).compared == 2
    op = Cube()
    gradcheck(op, [1.0])
    assert op.inputs == ()  # still unused


def test_an_error_names_op_input_index_got_and_expected():
    with pytest.raises(
        GradcheckError,
        match=r"gradcheck: wrong_cube: input 0, index \(1,\): got gradient .*, expected .* from finite differences"
        r" \(.* to the left, .* to the right\); 2 of 3 entries are wrong",
    ):
        gradcheck(WrongCube(), [0.0, 1.0, 2.0])

    def product(x, y):
        return x * y.detach()

    with pytest.raises(GradcheckError, match=r"product \(its result is from multiply\): input 1, index \(0, 0\)"):
        gradcheck(product, *np.ones((2, 1, 3)))


def test_an_error_is_an_assertion_error():
    assert issubclass(GradcheckError, AssertionError)


@pytest.mark.parametrize("weight", ["abs", "square", "constant"])
def test_a_rule_that_is_not_linear_in_its_gradient(weight):
    class Odd(Cube):
        def backward(self, grad_y):
            grad = {"abs": np.abs(grad_y), "square": grad_y**2, "constant": np.ones_like(grad_y)}[weight]
            return (grad * 3 * self.x**2,)

    with pytest.raises(GradcheckError):
        gradcheck(Odd(), [1.0, 2.0, 3.0])


def test_kinks_are_told_from_errors():
    assert gradcheck(mg.relu, [-1.0, 0.0, 1.0]).kinks == [(0, (1,))]
    assert gradcheck(lambda x: mg.relu(x) * 1e-4, [0.0]).kinks == [(0, (0,))]
    assert gradcheck(mg.maximum, [1.0, 2.0], [1.0, 0.0]).kinks == [(0, (0,)), (1, (0,))]

    class SteepRelu(Op):
        """Its slope at 0 is neither that to the left nor that to the right, nor between them."""

        def forward(self, x):
            return np.maximum(x, 0)

        def backward(self, grad_y):
            return (grad_y * 2,)

    with pytest.raises(GradcheckError, match=r"index \(0,\): got gradient"):
        gradcheck(SteepRelu(), [0.0])


@pytest.mark.parametrize("x", [1e-7, -1e-7, 3e-8])
def test_a_kink_nearby_is_stepped_around(x):
    assert gradcheck(lambda x: mg.relu(x) * 2, [x]).compared == 1


def test_the_edge_of_a_domain():
    report = gradcheck(lambda x: x.clip(0).sqrt() + 1, [4.0])
    assert report.compared == 1
    with np.errstate(divide="ignore"):
        assert gradcheck(mg.sqrt, [0.0, 4.0]).kinks == [(0, (0,))]
    assert gradcheck(mg.log, [1e-9, 1.0]).compared == 2  # a step of 1e-6 would leave the domain


@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1.0, 1e4, 1e8])
def test_sizes(scale):
    x = scale * np.array([0.3, -0.7, 1.1])
    for function in (lambda x: x * x, lambda x: x.softmax() * scale, lambda x: x / scale, mg.norm, lambda x: x + 1e5):
        assert gradcheck(function, x).compared == 3
    if scale > 1e-3:  # the slopes of smaller cubes are below the tolerance
        with pytest.raises(GradcheckError):
            gradcheck(WrongCube(), x)


def test_what_drowns_in_rounding():
    with pytest.raises(ValueError, match=r"what a step changes drowns in its rounding.*at smaller numbers"):
        gradcheck(lambda x: x + 1e12, [1.0])


def test_float32_is_refused():
    with pytest.raises(
        TypeError, match=r"input 1 is float32, in which a difference of 1e-6 drowns in rounding.*float64"
    ):
        gradcheck(mg.add, np.ones(2), np.ones(2, np.float32))
    with pytest.raises(TypeError, match="float16"):
        gradcheck(mg.exp, Tensor(np.ones(2, np.float16)))


def test_integers_are_passed_on_unchecked():
    report = gradcheck(mg.embedding, np.ones((3, 2)), np.array([1, 1, 0]))
    assert report.compared == 6
    with pytest.raises(TypeError, match="none of the inputs is of a floating type"):
        gradcheck(lambda n: n + 1, np.array([1, 2]))


def test_numbers_and_lists_are_float64():
    assert gradcheck(mg.multiply, 3, [1, 2]).compared == 3


def test_a_function_that_changes_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"two calls with the same inputs gave different results.*rng=0"):
        gradcheck(lambda x: mg.dropout(x, 0.5, rng=rng), np.ones(50))
    assert gradcheck(lambda x: mg.dropout(x, 0.5, rng=0), np.ones(50)).compared == 50


def test_a_rule_that_changes_is_refused():
    class Shaky(Cube):
        rng = np.random.default_rng(0)

        def backward(self, grad_y):
            return (grad_y * 3 * self.x**2 * self.rng.uniform(0.9, 1.1),)

    with pytest.raises(ValueError, match="shaky: two backward passes from the same inputs gave different gradients"):
        gradcheck(Shaky(), [1.0, 2.0])


def test_results_that_have_no_slope():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="not finite at these inputs"):
        gradcheck(mg.log, [0.0, 1.0])
    with pytest.raises(TypeError, match="must return one tensor; got tuple"):
        gradcheck(lambda x: (x, x), [1.0])
    with pytest.raises(GradcheckError, match="made without recording"):
        gradcheck(lambda x: x.detach() * 2, [1.0])


def test_an_input_that_is_not_used_has_slope_0():
    assert gradcheck(lambda x, y: x * 2, [1.0], [1.0, 2.0]).compared == 3


@pytest.mark.parametrize(
    "view",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(12.0)[::-3],
        np.broadcast_to(np.array([[1.0], [2.0]]), (2, 3)),
        np.zeros((0, 3)),
        np.array(2.0),
    ],
    ids=["transposed", "strides", "broadcast", "empty", "0-d"],
)
def test_views_and_odd_shapes(view):
    before = view.copy()
    assert gradcheck(lambda x: (x / 7).tanh(), view).compared == view.size
    assert (view == before).all()
    if view.size:
        with pytest.raises(GradcheckError):
            gradcheck(WrongCube(), view + 1)


def test_inputs_are_left_as_they_were():
    x = Tensor([1.0, 2.0], requires_grad=True)
    x.grad = np.array([7.0, 7.0])
    gradcheck(Cube(), x)
    assert (x.data == [1, 2]).all() and (x.grad == 7).all()
