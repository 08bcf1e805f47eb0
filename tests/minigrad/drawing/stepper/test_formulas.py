"""The mathematics of docstrings as MathML."""

import importlib
import pkgutil

import pytest

from minigrad import Op, ops
from minigrad.drawing.stepper.formulas import formulas_and_notes, mathml

# Children that MathML asks for (MathML Core, section 3); an element that is not here takes any number.
CHILDREN = {"mfrac": 2, "msup": 2, "msub": 2, "mspace": 0}
TEXT = {"mi", "mn", "mo", "mtext"}
ROWS = {"math", "mrow", "msqrt"}


def ops_of_minigrad():
    for module in pkgutil.iter_modules(ops.__path__):
        importlib.import_module(f"minigrad.ops.{module.name}")
    kinds = [Op]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [kind for kind in kinds if kind.__module__.startswith("minigrad.ops.") and "backward" in vars(kind)]


def check_tree(tree):
    tag, *children = tree
    assert tag in TEXT | ROWS | set(CHILDREN)
    if tag in TEXT:
        assert [type(child) for child in children] == [str]
        return
    assert len(children) == CHILDREN.get(tag, len(children))
    for child in children:
        check_tree(child)


def in_one_line(tree):
    """A formula with its structure in brackets: {a / b} for a fraction, ^ and _ for powers and indices."""
    tag, *children = tree
    if tag in TEXT:
        return children[0].replace("\N{NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")
    parts = [in_one_line(child) for child in children]
    if tag == "mfrac":
        return "{" + " / ".join(parts) + "}"
    if tag in ("msup", "msub"):
        return ("^" if tag == "msup" else "_").join(f"({part})" if len(part) > 1 else part for part in parts)
    if tag == "mspace":
        return " "
    return f"√({''.join(parts)})" if tag == "msqrt" else "".join(parts)


@pytest.mark.parametrize("kind", ops_of_minigrad(), ids=lambda kind: kind.__name__)
def test_every_op_has_its_rule_as_a_formula(kind):
    formulas, _ = formulas_and_notes(kind.__doc__)
    for formula in formulas:
        check_tree(formula)
    text = " ".join(in_one_line(formula) for formula in formulas)
    assert "{∂L / ∂" in text, text
    assert "dL/d" not in text


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("y = 1 / (1 + e^-x)", "y={1 / 1+e^(-x)}"),
        ("y = e^x / sum e^x", "y={e^x / sum e^x}"),
        ("y = x (1 + tanh u) / 2", "y={x (1+tanh u) / 2}"),
        ("a = b * c / d", "a=b·{c / d}"),
        ("a = b - c / d", "a=b-{c / d}"),
        ("y = sqrt(2/pi)", "y=√({2 / π})"),
        ("z = x^(p-1)", "z=x^(p-1)"),
        ("y = tanh^2 u", "y=(tanh)^2 u"),
        ("dL/dX = dL/dZ Y^T", "{∂L / ∂X}={∂L / ∂Z} Y^T"),
        ("y_i = x1 + ... + x_i", "y_i=x_1+…+x_i"),
        ("dL/dx = dL/dy where x > 0, else 0", "{∂L / ∂x}={∂L / ∂y} where x>0, else 0"),
        ("y = z[target]", "y=z[target]"),
        ("a = -dL/dz * z / y", "a=-{∂L / ∂z}·{z / y}"),
    ],
)
def test_structure(text, meaning):
    assert in_one_line(mathml(text)) == meaning


@pytest.mark.parametrize("text", ["y = ", "y = a /", "y = x^", "y = ((", "y = )/2", "y = / 2", "y = x ^^ 2", "y = ]["])
def test_what_is_no_formula_is_shown_as_it_is_written(text):
    formula = mathml(text)
    check_tree(formula)
    assert sorted(in_one_line(formula).replace(" ", "")) == sorted(text.replace(" ", ""))


def test_prose_and_sources_are_notes():
    formulas, notes = formulas_and_notes(
        """y = x + 1, over all axes;   dL/dx = dL/dy.

        It is here for a reason, so that
        x = 1 in a sentence stays text.   (He et al. 2016, eq. 1)

        >>> 1 + 1
        2
        """
    )
    assert [in_one_line(formula) for formula in formulas] == ["y=x+1, over all axes", "{∂L / ∂x}={∂L / ∂y}"]
    assert notes == ["It is here for a reason, so that x = 1 in a sentence stays text. (He et al. 2016, eq. 1)"]


@pytest.mark.parametrize("docstring", [None, "", "   "])
def test_no_docstring(docstring):
    assert formulas_and_notes(docstring) == ([], [])


def test_a_hostile_docstring_is_text():
    formulas, _ = formulas_and_notes("y = <script>alert(1)</script>")
    check_tree(formulas[0])
