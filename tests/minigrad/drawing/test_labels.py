"""What a picture says of its items."""

import numpy as np
import pytest

from minigrad import Graph, Parameter, Tensor, scope
from minigrad.drawing import labels
from minigrad.drawing.view import View


def only_item(tensor):
    view = View(Graph(tensor))
    return view, view.items[-1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines", r"two\nlines"),
        ("tab\t", r"tab\t"),
        ("nul\0", r"nul\x00"),
        ("\ud800", r"\ud800"),
        ("right to left \u202e", r"right to left \u202e"),
        ("日本語 café 😀", "日本語 café 😀"),
    ],
)
def test_what_does_not_print_is_made_visible(text, shown):
    assert labels.clean(text) == shown


def test_a_long_name_keeps_its_two_ends():
    name = "blocks." + "0" * 10_000 + ".attention.query.weight"
    assert len(labels.clean(name)) == labels.LONGEST
    assert labels.clean(name).startswith("blocks.")
    assert labels.clean(name).endswith("attention.query.weight")


def test_the_shape_of_a_number_is_written_scalar():
    view, item = only_item(Tensor([1.0, 2.0], requires_grad=True).sum())
    assert labels.title_of(item) == "sum"
    assert labels.details_of(view, item) == ["scalar"]


def test_a_named_result_says_its_name_its_op_and_its_shape():
    y = Tensor([[1.0, 2.0]], requires_grad=True).softmax(axis=0)
    y.name = "attention weights"
    view, item = only_item(y)
    assert labels.title_of(item) == "attention weights"
    assert labels.details_of(view, item) == ["softmax axis=0  (1, 2)"]


@pytest.mark.parametrize("name", ["e", "exp ", "ex"])
def test_a_name_that_the_op_s_name_begins_with_takes_nothing_from_it(name):
    y = Tensor([1.0], requires_grad=True).exp()
    y.name = name
    view, item = only_item(y)
    assert labels.details_of(view, item) == ["exp  (1,)"]


def test_an_input_without_a_name_is_called_input_once():
    view, item = only_item(Tensor([1.0], requires_grad=True))
    assert (labels.title_of(item), labels.details_of(view, item)) == ("input", ["(1,)"])


def test_a_constant_number_is_called_by_its_value():
    view = View(Graph(Tensor(1.0, requires_grad=True) * 2.5))
    assert labels.title_of(view.items[1]) == "2.5"
    assert labels.details_of(view, view.items[1]) == ["scalar"]


def test_a_closed_box_says_what_is_inside():
    w = Parameter(np.ones((3, 2)), name="w")
    with scope("layer"):
        y = (Tensor(np.ones((5, 3)), requires_grad=True) @ w).relu()
    view = View(Graph(y), depth=0)
    assert labels.title_of(view.items[-1]) == "layer"
    assert labels.details_of(view, view.items[-1]) == ["2 ops, 1 parameter (6 numbers)", "(5, 2)"]


def test_a_gradient_that_was_not_computed_is_never_a_number():
    x = Tensor([3.0, 4.0], requires_grad=True)
    y = x * 1.0
    assert labels.gradient_text(y) == "no gradient yet"
    assert labels.gradient_text(Tensor(1.0)) == "requires no gradient"
    y.backward([3.0, 4.0])
    assert labels.gradient_text(x) == "gradient norm 5"


def test_the_place_is_that_of_the_user_s_line():
    y = Tensor(1.0, requires_grad=True).exp()
    assert labels.place_text(y.op) == f"drawing/test_labels.py:{y.op.lineno}"


def test_arguments_are_short():
    x = Tensor(np.ones((4, 4)), requires_grad=True)
    assert labels.op_text(x[1:, ::2].op) == "getitem index=(1:, ::2)"
    assert labels.op_text(x[np.array([0, 1])].op) == "getitem index=int64[2]"
    assert labels.op_text(x.where(x > 0, 0.0).op) == "where condition=bool[4, 4]"
