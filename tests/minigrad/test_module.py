"""Module and Parameter: what is found, how it is named, what can be saved and loaded."""

import copy

import numpy as np
import pytest

from blocks import Dropout, Linear
from minigrad import Module, Parameter, Tensor


class Pair(Module):
    def __init__(self):
        self.first = Linear(2, 3, rng=0)
        self.second = Linear(3, 1, bias=False, rng=1)
        self.scale = Parameter([2.0])
        self.note = "not a parameter"

    def forward(self, x):
        return self.second(self.first(x).tanh()) * self.scale


class Tower(Module):
    def __init__(self):
        self.layers = [Linear(2, 2, rng=i) for i in range(3)]
        self.dropout = Dropout(0.5, rng=0)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.dropout(x)


def test_parameters_are_leaves_that_learn():
    p = Parameter([1.0])
    assert p.requires_grad and p.is_leaf and isinstance(p, Tensor)
    assert not Parameter([1.0], requires_grad=False).requires_grad
    assert Parameter([1.0], name="w").name == "w"


def test_names():
    assert [name for name, _ in Pair().named_parameters()] == ["scale", "first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in Tower().named_parameters()][2:4] == ["layers.1.weight", "layers.1.bias"]
    tower = Tower()
    assert tower.layers[2].name == "layers.2" and tower.layers[2].weight.name == "layers.2.weight"
    assert tower(np.ones((1, 2))).op.path == "dropout.dropout"


def test_names_follow_a_new_owner():
    class House(Module):
        def __init__(self):
            self.tower = Tower()

    house = House()
    assert house.tower.layers[0].weight.name == "tower.layers.0.weight"


def test_a_shared_module_or_parameter_comes_once():
    model = Pair()
    model.again = model.first
    model.alias = model.scale
    assert len(model.parameters()) == 4
    model.state_dict()


def test_a_list_of_modules_may_be_a_tuple_and_may_hold_other_things():
    model = Module()
    model.parts = (Linear(1, 1, rng=0), "text", 3)
    assert [name for name, _ in model.named_parameters()] == ["parts.0.weight", "parts.0.bias"]


def test_zero_grad():
    model = Pair()
    model(np.ones((4, 2))).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())


def test_train_and_eval_reach_everything():
    tower = Tower()
    x = np.ones((1, 2))
    assert tower.eval() is tower and not tower.dropout.training
    assert (tower(x).data == tower(x).data).all()
    assert tower.train().dropout.training
    assert tower.train(False).dropout.training is False


def test_state_goes_out_and_in():
    model, other = Pair(), Pair()
    other.first.weight.data = np.zeros((2, 3))
    state = other.state_dict()
    state["scale"][0] = 5
    assert other.scale.data[0] == 2  # arrays of their own
    model.load_state_dict(state)
    assert (model.first.weight.data == 0).all() and model.scale.data[0] == 5
    state["scale"][0] = 9
    assert model.scale.data[0] == 5


def test_loading_keeps_the_dtype():
    model = Linear(2, 2, dtype=np.float32, rng=0)
    model.load_state_dict({"weight": np.ones((2, 2)), "bias": [1, 2]})
    assert model.weight.dtype == model.bias.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda s: s.pop("scale"), KeyError, "missing: scale"),
        (lambda s: s.update(other=np.ones(1)), KeyError, "no parameters of these names: other"),
        (lambda s: s.update({"first.bias": np.ones(4)}), ValueError, r"first.bias has shape \(3,\), got \(4,\)"),
        (lambda s: s.update({"first.weight": np.ones((3, 2))}), ValueError, r"\(2, 3\), got \(3, 2\)"),
        (lambda s: s.update(scale=["a"]), TypeError, "real numbers"),
    ],
)
def test_loading_what_does_not_fit_changes_nothing(change, error, words):
    model = Pair()
    before = model.state_dict()
    state = {name: value + 1 for name, value in before.items()}
    change(state)
    with pytest.raises(error, match=words):
        model.load_state_dict(state)
    assert all((value == before[name]).all() for name, value in model.state_dict().items())


def test_deepcopy():
    model = Pair()
    twin = copy.deepcopy(model)
    twin.scale.data = np.array([7.0])
    assert model.scale.data[0] == 2 and twin.scale is not model.scale
    assert twin.first.weight.name == "first.weight"


def test_repr():
    model = Pair()
    assert repr(model) == "<Pair: 13 parameters>"
    assert repr(model.first) == "<Linear first: 9 parameters>"
