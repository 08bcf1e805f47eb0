"""Module and Parameter: what is found, how it is named, what can be saved and loaded."""

import copy
import pickle
from collections import deque
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from blocks import Dropout, LayerNorm, Linear, Stack, TransformerBlock
from minigrad import Graph, Module, Parameter, Tensor, dropout
from minigrad.optim import SGD, AdamW


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


class Holder(Module):
    """Holds something, and runs the modules that it is given."""

    def __init__(self, parts=None):
        self.parts = parts

    def forward(self, x, modules):
        for module in modules:
            x = module(x)
        return x


def pair():
    return [LayerNorm(4), Linear(4, 4, rng=0)]


def in_a_list_of_lists(a, b):
    return [a, b]


def in_a_tuple_of_lists(a, b):
    return (a, b)


def in_a_deque_of_tuples(a, b):
    return deque([tuple(a), tuple(b)])


def in_lists_of_lists_of_lists(a, b):
    return [[[a]], [[], [b]]]


NESTS = [in_a_list_of_lists, in_a_tuple_of_lists, in_a_deque_of_tuples, in_lists_of_lists_of_lists]


@pytest.mark.parametrize("nest", NESTS)
def test_mod_a_modules_in_nested_containers_are_found_named_and_switched(nest):
    a, b = pair(), [*pair()[:1], Dropout(0.5, rng=0)]
    model = Holder(nest(a, b))
    assert model.parameters() == [a[0].gain, a[0].bias, a[1].weight, a[1].bias, b[0].gain, b[0].bias]
    assert list(model.state_dict()) == [parameter.name for parameter in model.parameters()]
    model.eval()
    assert not b[1].training
    y = model(np.ones((2, 4)), a)
    assert y.op.path == f"{a[1].name}.linear"
    assert a[1].weight.name == f"{a[1].name}.weight"
    assert a[1].name.startswith("parts.")
    model.load_state_dict({name: value * 2 for name, value in model.state_dict().items()})
    np.testing.assert_array_equal(a[0].gain.data, 2)


def test_mod_a_names_in_nested_containers():
    model = Holder([pair(), (Linear(4, 4, bias=False), (Parameter([1.0]), Parameter([2.0])))])
    assert [name for name, _ in model.named_parameters()] == [
        "parts.1.1.0",
        "parts.1.1.1",
        "parts.0.0.gain",
        "parts.0.0.bias",
        "parts.0.1.weight",
        "parts.0.1.bias",
        "parts.1.0.weight",
    ]


@dataclass
class Record:
    module: Any


def objects(*items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


HIDING = [
    lambda m: {"a": m},
    lambda m: [{"a": [m]}],
    lambda m: {m},
    lambda m: frozenset([m]),
    lambda m: {"a": m}.values(),
    lambda m: [{m}],
    lambda m: {"a": ({m.weight},)},
    lambda m: SimpleNamespace(module=m),
    Record,
    lambda m: [Record([m])],
    objects,
]


@pytest.mark.parametrize("hide", HIDING)
def test_mod_b_what_has_no_name_there_is_refused_with_the_way_out(hide):
    model = Module()
    with pytest.raises(
        TypeError, match=r"parts\S*: parameters and modules in a \w+ are not found: use a list, or a Module"
    ):
        model.parts = hide(Linear(2, 2, rng=0))
    assert not hasattr(model, "parts")


@pytest.mark.parametrize(
    ("empty", "fill"),
    [({}, lambda d, m: d.update(up=m)), (set(), lambda s, m: s.add(m)), ([{}], lambda n, m: n[0].update(up=m))],
)
@pytest.mark.parametrize(
    "ask", ["parameters", "modules", "named_parameters", "state_dict", "eval", "zero_grad", "forward"]
)
def test_mod_b_a_dict_or_set_that_is_filled_later_is_refused_when_it_is_asked_for(empty, fill, ask):
    model = Holder(copy.copy(empty))
    model.parts = copy.deepcopy(empty)
    fill(model.parts, Linear(2, 2, rng=0))
    with pytest.raises(TypeError, match=r"parts.*in a (dict|set) are not found: use a list"):
        model(np.ones((1, 2)), []) if ask == "forward" else getattr(model, ask)()


def test_mod_b_containers_of_other_things_stay_what_they_are():
    model = Module()
    for value in (
        {"a", "b"},
        {1: "x"},
        ["text", 3, [None]],
        np.array(["a"], object),
        SimpleNamespace(rate=0.1),
        range(9),
    ):
        model.value = value
        assert model.value is value
        assert model.parameters() == []


def test_mod_c_a_layer_that_is_appended_later_has_a_name_a_scope_and_a_box():
    tower = Tower()
    tower.layers.append(Linear(2, 2, rng=3))
    tower.layers.insert(0, Linear(2, 2, rng=4))
    y = tower.eval()(np.ones((1, 2)))
    assert y.op.path == "layers.4.linear"
    assert [box.path for box in Graph(y).boxes] == [f"layers.{i}" for i in range(5)]
    assert [layer.weight.name for layer in tower.layers] == [f"layers.{i}.weight" for i in range(5)]
    tower.layers.pop(1)
    assert tower(np.ones((1, 2))).op.path == "layers.3.linear"
    assert tower.layers[3].weight.name == "layers.3.weight"


def test_mod_c_names_follow_in_a_model_that_is_itself_held():
    house = Holder(Tower())
    house.parts.layers.append(Linear(2, 2, rng=0))
    y = house(np.ones((1, 2)), [house.parts])
    assert y.op.inputs[0].op.path == "parts.layers.3.linear"
    assert house.parts.layers[3].bias.name == "parts.layers.3.bias"
    assert [name for name, _ in house.parts.named_parameters()][-1] == "layers.3.bias"
    assert house.parts.layers[3].bias.name == "parts.layers.3.bias"  # to ask an inner module renames nothing
    stack = Stack(1, 4, 1, 8, rng=0)
    stack.blocks.append(TransformerBlock(4, 1, 8, rng=1))
    y = stack(np.ones((2, 4)))
    assert "blocks.1.attention_residual" in {node.path for node in Graph(y).nodes}
    assert stack.blocks[1].attention.query.weight.name == "blocks.1.attention.query.weight"


def test_mod_c_what_is_held_twice_has_the_name_of_the_first_place():
    first = Linear(2, 2, rng=0)
    model = Holder([first, first])
    model.again = first
    assert first.name == "parts.0"
    assert model(np.ones((1, 2)), [first]).op.path == "parts.0.linear"
    assert first.weight.name == "parts.0.weight"


@pytest.mark.parametrize("copies", [copy.deepcopy, lambda m: copy.deepcopy([m])[0], lambda m: copy.deepcopy({0: m})[0]])
def test_mod_e_copies_of_a_module_draw_random_numbers_of_their_own(copies):
    original = Dropout(0.5, rng=0)
    x = np.ones(64)
    twins = [copies(original) for _ in range(6)]
    twins.append(copies(twins[0]))
    masks = {tuple(twin(x).data) for twin in [original, *twins]}
    assert len(masks) == 8
    np.testing.assert_array_equal(original(x).data, second_mask(x))  # copying leaves the original's own numbers alone


def second_mask(x):
    layer = Dropout(0.5, rng=0)
    layer(x)
    return layer(x).data


class Noisy(Module):
    def __init__(self, rng):
        self.rng = rng
        self.layers = [Dropout(0.5, rng=rng), Dropout(0.5, rng=rng)]

    def forward(self, x):
        return dropout(self.layers[1](self.layers[0](x)), 0.5, True, self.rng)


def test_mod_e_a_generator_of_several_modules_is_still_one_in_a_copy():
    model = Noisy(np.random.default_rng(0))
    twin = copy.deepcopy(model)
    assert twin.rng is twin.layers[0].rng is twin.layers[1].rng
    assert twin.rng is not model.rng
    assert not np.array_equal(twin(np.ones(64)).data, model(np.ones(64)).data)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model))(np.ones(64)).data, model(np.ones(64)).data)


def test_mod_f_a_list_that_is_assigned_in_forward_renames_nothing():
    class Remembering(Linear):
        def forward(self, x):
            self.seen, self.parts = [x], [self.weight]
            return super().forward(x)

    model = Module()
    model.child = Remembering(2, 2, rng=0)
    model.child(np.ones((1, 2)))
    assert model.child.weight.name == "child.weight"
    assert model.child.bias.name == "child.bias"
    model.child.named_parameters()
    model.child.modules()
    assert model.child.weight.name == "child.weight"


@pytest.mark.parametrize("optimizer", [SGD, AdamW])
def test_mod_d_an_optimizer_without_parameters_is_refused(optimizer):
    with pytest.raises(ValueError, match="needs parameters to move; got none"):
        optimizer(Holder().parameters(), lr=0.1)
