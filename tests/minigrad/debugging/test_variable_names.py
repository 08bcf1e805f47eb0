"""What a variables pane shows in a rule: the gradients in and out, called as the docstring's mathematics calls them."""

import inspect

import pytest

from minigrad import Op


def op_classes():
    """All ops of the library; those of other tests are no business of this one."""
    found, unread = [], [Op]
    while unread:
        for subclass in unread.pop().__subclasses__():
            unread.append(subclass)
            if subclass.__module__.startswith("minigrad.ops.") and "forward" in dir(subclass):
                found.append(subclass)
    return sorted((c for c in found if c.forward is not Op.forward), key=lambda c: c.__name__)


@pytest.mark.parametrize("op_class", op_classes(), ids=lambda c: c.__name__)
def test_a_rule_names_what_comes_in_and_what_goes_out(op_class):
    inputs = list(inspect.signature(op_class.forward).parameters)[1:]
    (grad_output,) = list(inspect.signature(op_class.backward).parameters)[1:]
    variables = op_class.backward.__code__.co_varnames
    assert grad_output.startswith("grad_")
    for name in inputs:
        assert f"grad_{name}" in variables

    rule = inspect.getdoc(op_class).lower()
    output = grad_output.removeprefix("grad_")
    assert f"{output} =" in rule or f"{output}[" in rule or f"{output}_i =" in rule
    for name in inputs:
        assert f"dl/d{name.removesuffix('s')}" in rule


def test_the_library_has_ops_to_look_at():
    assert len(op_classes()) > 30
