"""What every op needs beside its class. A failure says what to add, and where; minigrad/ops/README.md shows it."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import Op, Tensor
from minigrad.operators import Operators
from tests.minigrad.ops.uses import USES, all_classes, all_ops, function_name, function_of, is_shared, reference

ROOT = Path(__file__).parents[3]
README = (ROOT / "minigrad" / "ops" / "README.md").read_text(encoding="utf-8")
REFERENCE = reference()
TABLE = {*vars(Operators), *filter(callable, vars(Operators).values())}  # names, and functions under any name
NOT_METHODS = {
    "concatenate": "it takes a list of tensors",
    "stack": "it takes a list of tensors",
    "einsum": "its first argument is a string",
    "embedding": "it is a layer's, for a table of weights",
    "linear": "it is a layer's, which holds the weights",
    "dropout": "it is a layer's, which knows whether it trains",
    "cross_entropy": "a loss reads as loss(prediction, target)",
    "mse_loss": "a loss reads as loss(prediction, target)",
    "residual_add": "a residual names its skip and its branch",
}


def missing_of_op(op):
    """What an op class still needs, each with its place."""
    name, file = function_name(op), op.__module__.replace(".", "/") + ".py"
    missing = []
    if "dL/d" not in (op.__doc__ or ""):
        missing.append(f"{file}: the rule in the docstring of class {op.__name__}: `y = ...;   dL/dx = ...`")
    if function_of(op) is None:
        missing.append(f"{file}: a function `{name}` under class {op.__name__}, which calls it")
    return missing + missing_of_function(name, function_of(op), op.__module__)


def missing_of_function(name, function, module):
    missing = []
    if ">>>" not in (getattr(function, "__doc__", None) or ""):
        missing.append(f"{module.replace('.', '/')}.py: an example (>>>) in the docstring of `{name}`")
    if name not in mg.__all__ or getattr(mg, name) is not function:
        missing.append(f"minigrad/__init__.py: `from {module} import {name}`, and {name!r} in __all__")
    if {name, function}.isdisjoint(TABLE) and name not in NOT_METHODS:
        missing.append(
            f"minigrad/operators.py: a row for `{name}`; or, if `x.{name}()` does not read well, "
            f"the reason in NOT_METHODS of tests/minigrad/ops/test_adding_an_op.py"
        )
    if f"`{name}`" not in README:
        missing.append(f"minigrad/ops/README.md: `{name}` in the table of files")
    if name not in {use.partition(",")[0] for use in USES}:
        missing.append(f"tests/minigrad/ops/uses.py: a use of it, whose name is {name!r} or begins with '{name}, '")
    return missing


@pytest.mark.parametrize("name", all_ops())
def test_an_op_has_all_it_needs(name):
    missing = missing_of_op(all_ops()[name])
    assert not missing, f"{name} needs\n" + "\n".join(missing)


FUNCTIONS = [name for name in mg.__all__ if getattr(getattr(mg, name), "__module__", "").startswith("minigrad.ops.")]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_all_it_needs(name):
    """One that is made of other ops, such as flatten and split, too."""
    function = getattr(mg, name)
    missing = missing_of_function(name, function, function.__module__)
    assert not missing, f"{name} needs\n" + "\n".join(missing)


def test_every_use_has_its_numbers_from_another_engine():
    missing = [name for name in USES if name not in REFERENCE]
    assert not missing, (
        f"{missing}: tests/parity/make_reference.py: the same in PyTorch, with the shapes of its inputs, in TORCH; "
        f"then run python -m tests.parity.make_reference"
    )
    left_over = [name for name in REFERENCE if name not in USES]
    assert not left_over, f"{left_over} have numbers, but no use: run python -m tests.parity.make_reference"


class Cosh(Op):
    """An op that nobody knows of yet."""

    def forward(self, x):
        self.x = x
        return np.cosh(x)

    def backward(self, grad_y):
        return (grad_y * np.sinh(self.x),)


def test_what_a_new_op_lacks_is_said_with_its_place(monkeypatch):
    here = "tests/minigrad/ops/test_adding_an_op.py"
    found = missing_of_op(Cosh)
    assert [line.partition(":")[0] for line in found] == [
        *(here, here, here),
        "minigrad/__init__.py",
        "minigrad/operators.py",
        "minigrad/ops/README.md",
        "tests/minigrad/ops/uses.py",
    ]
    assert all("cosh" in line.lower() for line in found)

    def cosh(x):
        """>>> cosh(Tensor(0.0)).item()  # doctest: +SKIP"""
        return Cosh()(x)

    assert cosh(Tensor(0.0)).item() == 1
    monkeypatch.setattr(Cosh, "__doc__", "y = cosh x;   dL/dx = dL/dy * sinh x.")
    monkeypatch.setitem(globals(), "cosh", cosh)
    monkeypatch.setattr(mg, "cosh", cosh, raising=False)
    monkeypatch.setattr(mg, "__all__", [*mg.__all__, "cosh"])
    monkeypatch.setitem(globals(), "TABLE", {*TABLE, "cosh"})
    monkeypatch.setitem(globals(), "README", f"{README} `cosh`")
    monkeypatch.setitem(USES, "cosh", None)
    assert not missing_of_op(Cosh)


def test_what_is_shared_is_no_op():
    shared = {name for name, op in all_classes().items() if is_shared(op)}
    assert shared == {"Extreme", "OneOfTwo", "Reduction"}
    assert not NOT_METHODS.keys() - set(FUNCTIONS) and not NOT_METHODS.keys() & vars(Operators).keys()
