"""The script that plants wrong rules: it makes the faults it says, and takes them back."""

import ast
import copy

import pytest

from minigrad.ops.softmax import Softmax
from tests import mutation
from tests.minigrad.ops.uses import all_ops


def test_every_op_has_mutants():
    found = mutation.all_mutants()
    assert set(all_ops()) <= set(found)
    assert sum(len(mutants) for mutants in found.values()) > 500
    assert {"minigrad.backprop", "minigrad.arrays", "Reduction", "Extreme", "OneOfTwo"} <= set(found)


def test_a_mutant_is_planted_and_taken_back():
    mutant = next(m for m in mutation.mutants_of(Softmax) if m.name == "backward")
    rule = Softmax.backward
    with mutation.Planted(mutant):
        assert Softmax.backward is mutant.function
    assert Softmax.backward is rule


@pytest.mark.parametrize(
    ("rule", "faults"),
    [
        ("a * b", {"a", "b"}),
        ("a / b", {"a"}),
        ("a - b", {"a + b", "a"}),
        ("-a", {"a"}),
        ("a.sum(axis=1)", {"a.sum(axis=0)", "a.sum(axis=None)"}),
        ("a.swapaxes(0, 1)", {"a"}),
        ("np.where(c, a, b)", {"np.where(c, b, a)"}),
        ("a.T", {"a"}),
        ("a[::-1]", {"a"}),
        ("(grad_x,)", set()),
    ],
)
def test_the_faults_of_an_expression(rule, faults):
    assert set(broken(rule)) == faults


def broken(rule):
    tree = ast.parse(rule, mode="eval")
    for number, node in enumerate(ast.walk(tree)):
        for _, change in mutation.faults(node, in_rule=False):
            twin = copy.deepcopy(tree)
            target = list(ast.walk(twin))[number]
            yield ast.unparse(mutation.Replace(target, change(target), None).visit(twin))


@pytest.mark.parametrize("op", ["Exp", "Relu", "Reshape", "Negative", "Log1p", "Squeeze"])
def test_gradcheck_or_numbers_notice_every_mutant(op):
    for mutant in mutation.mutants_of(all_ops()[op]):
        names = mutation.uses_of(op)
        with mutation.Planted(mutant):
            noticed = mutation.is_noticed(mutation.check_gradients, names)
            assert noticed or mutation.is_noticed(mutation.check_numbers, names), mutant.fault
