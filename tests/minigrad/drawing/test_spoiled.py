"""Which NaN and inf are a lead, and which are meant."""

import numpy as np
import pytest

from minigrad import Graph, Tensor, detect_anomaly, where
from minigrad.drawing.page import page_data
from minigrad.drawing.spoiled import spoiled_tensors
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
    ("value", "wants_gradient", "names"),
    [
        (np.inf, True, ["x", "multiply"]),
        (np.inf, False, []),
        (np.nan, True, ["x", "multiply"]),
        (np.nan, False, ["x", "multiply"]),
    ],
)
def test_a_leaf_with_a_gradient_should_be_finite_and_a_constant_no_nan(value, wants_gradient, names):
    x = Tensor([value, 1.0], requires_grad=wants_gradient, name="x")
    assert spoiled_names(x * Tensor([2.0, 2.0], requires_grad=True, name="w")) == names
