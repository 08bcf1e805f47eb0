"""What a notebook shows of a tensor and of an answer."""

from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad import Tensor, explain, why


@pytest.mark.parametrize(
    "data", [2.0, [1.0, -2.0, np.nan], np.ones((5, 9)), np.ones((30, 40)), np.zeros((0, 3)), np.ones((2, 3, 4)), [True]]
)
def test_a_tensor_shows_its_line_and_its_numbers(data):
    tensor = Tensor(data, name="<x>")
    [line, table] = ElementTree.fromstring(tensor._repr_html_().replace("<br>", "<br/>"))
    assert line.text == repr(tensor)
    if tensor.size == 3:
        assert [cell.text for cell in table.iter("td") if not len(cell)] == ["1.00", "-2.00", "nan"]


def test_a_gradient_stands_beside_the_value():
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert ">gradient<" not in x._repr_html_()
    (x * x).sum().backward()
    assert ">gradient<" in x._repr_html_() and ">4.00<" in x._repr_html_()


def test_answers_show_their_text():
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    loss = (x * x).sum()
    loss.backward()

    class Printer(list):
        text = list.append

    for answer in (explain(x), why(x, loss)):
        printer = Printer()
        answer._repr_pretty_(printer, False)
        assert printer == [str(answer)]
