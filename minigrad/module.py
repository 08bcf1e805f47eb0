"""Parameter and Module: tensors that are learned, and the things that are built of them."""

import copy
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set, ValuesView
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from minigrad.arrays import as_array
from minigrad.recording import SCOPE, ModuleName
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing_extensions import Self

Inputs = ParamSpec("Inputs")
Output_co = TypeVar("Output_co", covariant=True)


SIMPLE = (str, int, float, type(None))  # what most attributes are that are no part of the model


class HasForward(Protocol[Inputs, Output_co]):
    """What a type checker knows of a module: a call takes what its `forward` takes, and gives what that gives."""

    name: str | None
    growing: tuple[str, ...]

    def forward(self, *inputs: Inputs.args, **options: Inputs.kwargs) -> Output_co: ...


class Parameter(Tensor):
    """A leaf that is learned. A module finds the parameters among its attributes, and names them."""

    __slots__ = ()

    def __init__(self, data: "ArrayLike", requires_grad: bool = True, name: str | None = None):
        super().__init__(data, requires_grad, name)


class Module:
    """A piece of a model: parameters, smaller modules, and a `forward` that uses them.

    Its attributes are its parameters and modules, and lists and tuples of them, nested or not, and filled at any time.
    Each is named by where it is, with dots between (`blocks.0.attention.query.weight`), and while a module
    runs, its name in the module that holds it is the scope. What is held in two places has the name of the first.

    A deep copy draws random numbers of its own: the generators in it are spawned from those of the original.

    Raises:
        TypeError: parameters or modules in a dict, a set or another container, where they would not be found.

    >>> class Affine(Module):
    ...     def __init__(self):
    ...         self.slope = Parameter([2.0])
    ...         self.offset = Parameter([1.0])
    ...
    ...     def forward(self, x):
    ...         return x * self.slope + self.offset
    >>> model = Affine()
    >>> model(Tensor([3.0])).data
    array([7.])
    >>> [name for name, parameter in model.named_parameters()]
    ['slope', 'offset']
    """

    name: str | None = None  # its name in the module that holds it; None for the outermost
    place = ""  # its name in the outermost module, with which the names of its parameters begin
    growing: tuple[str, ...] = ()  # the attributes that can hold others at the next call: lists
    training = True

    def forward(self, *inputs: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, x, ...) yet")

    def __call__(self: HasForward[Inputs, Output_co], *inputs: Inputs.args, **options: Inputs.kwargs) -> Output_co:
        if self.growing:
            name_what_came(self)  # type: ignore[arg-type]  # it is a Module
        if self.name is None:
            return self.forward(*inputs, **options)
        token = SCOPE.set((*SCOPE.get(), ModuleName(self.name)))
        try:
            return self.forward(*inputs, **options)
        finally:
            SCOPE.reset(token)

    def __setattr__(self, attribute: str, value: Any) -> None:
        list(held(attribute, value))  # refuses what it could not find again, before it is assigned
        object.__setattr__(self, attribute, value)
        if may_hold(value):
            if not isinstance(value, (Parameter, Module)) and attribute not in self.growing:
                object.__setattr__(self, "growing", (*self.growing, attribute))
            name_all(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Self":
        twin = memo[id(self)] = object.__new__(type(self))
        for value in vars(self).values():
            if isinstance(value, np.random.Generator) and id(value) not in memo:
                memo[id(value)] = value.spawn(1)[0]
        vars(twin).update(copy.deepcopy(vars(self), memo))
        return twin

    def children(self) -> "list[tuple[str, Module]]":
        """The modules directly in this one, with their names, in the order in which they were assigned."""
        return [(name, value) for name, value in members(self) if isinstance(value, Module)]

    def modules(self) -> "list[Module]":
        """This module and all in it, each once."""
        return [module for _, module in self.named_modules()]

    def named_modules(self) -> "list[tuple[str, Module]]":
        """This module, whose name is empty, and all in it, each once, with their full names."""
        name_all(self)
        return [(name, module) for module, name in all_modules(self).items()]

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """All parameters with their full names; one that is used in two places comes once, under its first name."""
        name_all(self)
        return [(name, parameter) for parameter, name in all_parameters(self).items()]

    def parameters(self) -> list[Parameter]:
        """All parameters, each once."""
        return [parameter for _, parameter in self.named_parameters()]

    def state_dict(self) -> dict[str, np.ndarray]:
        """The values of all parameters by name, as arrays of their own."""
        return {name: parameter.data.copy() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state: "Mapping[str, ArrayLike]") -> None:
        """Take the values of all parameters from `state`, which must have just their names and shapes.

        Nothing is changed if anything does not fit.

        Raises:
            KeyError: a name too few or too many; the message lists all of them, and all arrays of another shape.
            ValueError: arrays of another shape, where the names fit.
        """
        parameters = dict(self.named_parameters())
        missing, unknown = sorted(parameters.keys() - state.keys()), sorted(state.keys() - parameters.keys())
        shapes = [(name, p.shape, np.shape(state[name])) for name, p in parameters.items() if name in state]
        faults = [f"these parameters are missing: {', '.join(missing)}"] if missing else []
        faults += [f"no parameters of these names: {', '.join(unknown)}"] if unknown else []
        faults += [f"{name} has shape {shape}, got {got}" for name, shape, got in shapes if shape != got]
        if faults:
            raise (KeyError if missing or unknown else ValueError)("load_state_dict: " + "; ".join(faults))
        arrays = {name: as_array(state[name], parameter.dtype) for name, parameter in parameters.items()}
        for name, parameter in parameters.items():
            parameter.data = arrays[name]

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for parameter in all_parameters(self):
            parameter.grad = None

    def train(self, mode: bool = True) -> "Self":
        """Turn on what belongs to training only, such as dropout; returns the module."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> "Self":
        """Turn off what belongs to training only; returns the module."""
        return self.train(False)

    def __repr__(self) -> str:
        count = sum(parameter.size for parameter in self.parameters())
        return f"<{type(self).__name__} {self.name or ''}: {count:,} parameters>".replace(" :", ":")


def members(module: Module) -> Iterator[tuple[str, Any]]:
    """The parameters and modules directly in a module, with their names: `gain`, `blocks.0`, `heads.answer` ..."""
    for name, value in vars(module).items():
        if not isinstance(value, SIMPLE):
            yield from held(name, value)


def held(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The parameters and modules in an attribute, or in an item of a list or tuple, each with its name."""
    if isinstance(value, (Parameter, Module)):
        yield name, value
    elif isinstance(value, (list, tuple, deque)):
        for i, item in enumerate(value):
            yield from held(f"{name}.{i}", item)
    elif any(True for item in hidden_in(value) for _ in held(name, item)):
        raise TypeError(
            f"{name}: parameters and modules in a {type(value).__name__} are not found: use a list, or a Module with "
            f"an attribute for each"
        )


def hidden_in(value: Any) -> Iterable[Any]:
    """What is in a container of the kinds whose items have no place in an order."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, SimpleNamespace) or is_dataclass(value):
        return vars(value).values()
    if isinstance(value, np.ndarray) and value.dtype == object:
        return value.flat
    return value if isinstance(value, (Set, ValuesView)) else ()


def may_hold(value: Any) -> bool:
    """Whether this is a parameter, a module, or a container that holds one or is empty, and so may be filled.

    A long list of other things (a vocabulary) is none of the model's business.
    """
    if isinstance(value, (list, tuple, deque, Mapping, Set)):
        items = value.values() if isinstance(value, Mapping) else value
        return not value or any(may_hold(item) for item in items)
    return isinstance(value, (Parameter, Module))


def all_modules(outermost: Module) -> dict[Module, str]:
    """A module and all in it, the outer before the inner ones, with their full names."""
    found: dict[Module, str] = {}
    unread = [("", outermost)]
    while unread:
        name, module = unread.pop()
        if module not in found:
            found[module] = name
            unread += [(dotted(name, child_name), child) for child_name, child in reversed(module.children())]
    return found


def all_parameters(outermost: Module) -> dict[Parameter, str]:
    """All parameters in a module, with their full names: of each module its own ones before those of its modules."""
    found: dict[Parameter, str] = {}
    for module, module_name in all_modules(outermost).items():
        for name, value in members(module):
            if isinstance(value, Parameter):
                found.setdefault(value, dotted(module_name, name))
    return found


def name_all(outermost: Module) -> None:
    """Name everything in a module by where it is."""
    for module, name in reversed(all_modules(outermost).items()):
        for child_name, child in reversed(module.children()):
            child.name, child.place = child_name, dotted(outermost.place, name, child_name)
    for parameter, name in all_parameters(outermost).items():
        parameter.name = dotted(outermost.place, name)


def name_what_came(module: Module) -> None:
    """Name everything anew if a list holds other things than at the last call, or in another order."""
    for attribute in module.growing:
        for name, value in held(attribute, vars(module).get(attribute)):
            if value.name != (name if isinstance(value, Module) else dotted(module.place, name)):
                return name_all(module)
    return None


def dotted(*names: str) -> str:
    return ".".join(name for name in names if name)
