"""What is said of numbers, and which NaN and inf are a lead, and which are meant."""

import numpy as np
import pytest

from minigrad import Graph, Tensor, detect_anomaly, where
from minigrad.drawing.stepper.data import page_data
from minigrad.drawing.values import spoiled_tensors, statistics
from tests.minigrad.drawing.conftest import causal_block_output

pytestmark = pytest.mark.filterwarnings("ignore:(divide by zero|invalid value|overflow):RuntimeWarning")


def spoiled_names(tensor):
    spoiled = spoiled_tensors(Graph(tensor))
    return [node.name for node in Graph(tensor).nodes if node.tensor in spoiled]


def masked_scores():
    scores = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="scores")
    return where(np.tri(2, dtype=bool), scores, -np.inf)


def test_a_healthy_causal_block_has_no_lead_and_no_anomaly():
    with detect_anomaly():
        loss = (causal_block_output() ** 2).mean()
        loss.backward()
    assert spoiled_names(loss) == []
    data = page_data(loss)
    assert any(np.isinf(node.tensor.data).any() for node in Graph(loss).nodes)
    assert not any(array["isSpoiled"] for array in data["arrays"])


def test_what_hands_on_the_inf_of_a_mask_is_no_lead():
    assert spoiled_names((masked_scores() * 0.5).reshape(4).softmax()) == []


def test_the_op_that_made_an_inf_and_what_it_spoils():
    x = Tensor([0.0, 1.0], requires_grad=True, name="x")
    assert spoiled_names((x.log() * 2.0).sum()) == ["log", "multiply", "sum"]


def test_a_nan_made_of_a_given_inf_is_a_lead():
    assert spoiled_names((masked_scores() * 0.0).sum()) == ["multiply", "sum"]


@pytest.mark.parametrize(
    ("value", "requires_grad", "names"),
    [
        (np.inf, True, ["x", "multiply"]),
        (np.inf, False, []),
        (np.nan, True, ["x", "multiply"]),
        (np.nan, False, ["x", "multiply"]),
    ],
)
def test_a_leaf_with_a_gradient_should_be_finite_and_a_constant_no_nan(value, requires_grad, names):
    x = Tensor([value, 1.0], requires_grad=requires_grad, name="x")
    assert spoiled_names(x * Tensor([2.0, 2.0], requires_grad=True, name="w")) == names


def test_statistics_leave_out_and_count_what_is_not_finite():
    array = np.array([np.nan, np.inf, 3.0, 4.0], np.float32)
    assert statistics(array) == ["1 of 4 NaN", "1 of 4 inf", "mean 3.5, std 0.5", "3 to 4", "norm 5"]
    assert statistics(np.full(3, np.nan)) == ["3 of 3 NaN"]
    assert statistics(np.ones((0, 2))) == ["empty"]


def test_huge_numbers_have_statistics_too():
    assert statistics(np.array([1e300, -1e300]))[1] == "-1e+300 to 1e+300"
