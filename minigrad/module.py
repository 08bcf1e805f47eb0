"""Parameter and Module: tensors that are learned, and the things that are built of them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from minigrad.arrays import as_array
from minigrad.recording import SCOPE
from minigrad.tensor import Tensor

if TYPE_CHECKING:
    from typing_extensions import Self

Inputs = ParamSpec("Inputs")
Output_co = TypeVar("Output_co", covariant=True)


class HasForward(Protocol[Inputs, Output_co]):
    """What a type checker knows of a module: a call takes what its `forward` takes, and gives what that gives."""

    name: str | None

    def forward(self, *inputs: Inputs.args, **options: Inputs.kwargs) -> Output_co: ...


class Parameter(Tensor):
    """A leaf that is learned. A module finds the parameters among its attributes, and names them."""

    __slots__ = ()

    def __init__(self, data: "ArrayLike", requires_grad: bool = True, name: str | None = None):
        super().__init__(data, requires_grad, name)


class Module:
    """A piece of a model: parameters, smaller modules, and a `forward` that uses them.

    What is assigned as an attribute is found and named by it: parameters, modules, and lists of them. Names are
    joined with dots (`blocks.0.attention.query.weight`), and while a module runs, its name is the scope.

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
    training = True

    def forward(self, *inputs: Any, **options: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward(self, x, ...) yet")

    def __call__(self: HasForward[Inputs, Output_co], *inputs: Inputs.args, **options: Inputs.kwargs) -> Output_co:
        if self.name is None:
            return self.forward(*inputs, **options)
        token = SCOPE.set((*SCOPE.get(), self.name))
        try:
            return self.forward(*inputs, **options)
        finally:
            SCOPE.reset(token)

    def __setattr__(self, attribute: str, value: Any) -> None:
        if isinstance(value, dict) and any(isinstance(item, (Parameter, Module)) for item in value.values()):
            raise TypeError(f"{attribute}: parameters and modules in a dict are not found; use attributes or a list")
        object.__setattr__(self, attribute, value)
        if isinstance(value, (Parameter, Module, list, tuple)):
            for name, child in self.children():
                child.name = name
            for name, parameter in self.named_parameters():
                parameter.name = name

    def children(self) -> "list[tuple[str, Module]]":
        """The modules directly in this one, with their names, in the order in which they were assigned."""
        return [(name, value) for name, value in members(self) if isinstance(value, Module)]

    def modules(self) -> "list[tuple[str, Module]]":
        """This module, whose name is empty, and all in it, each once, with their full names."""
        found: dict[Module, str] = {}
        places: list[tuple[str, Module]] = [("", self)]
        while places:
            name, module = places.pop(0)
            if module not in found:
                found[module] = name
                prefix = f"{name}." if name else ""
                places = [(prefix + child_name, child) for child_name, child in module.children()] + places
        return [(name, module) for module, name in found.items()]

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """All parameters with their full names; one that is used in two places comes once, under its first name."""
        found: dict[Parameter, str] = {}
        for module_name, module in self.modules():
            for name, value in members(module):
                if isinstance(value, Parameter):
                    found.setdefault(value, f"{module_name}.{name}" if module_name else name)
        return [(name, parameter) for parameter, name in found.items()]

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
            KeyError: a name too few or too many.
            ValueError: an array of another shape.
        """
        parameters = dict(self.named_parameters())
        if missing := sorted(parameters.keys() - state.keys()):
            raise KeyError(f"load_state_dict: these parameters are missing: {', '.join(missing)}")
        if unknown := sorted(state.keys() - parameters.keys()):
            raise KeyError(f"load_state_dict: no parameters of these names: {', '.join(unknown)}")
        for name, parameter in parameters.items():
            if np.shape(state[name]) != parameter.shape:
                raise ValueError(f"load_state_dict: {name} has shape {parameter.shape}, got {np.shape(state[name])}")
        arrays = {name: as_array(state[name], parameter.dtype) for name, parameter in parameters.items()}
        for name, parameter in parameters.items():
            parameter.data = arrays[name]

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for parameter in self.parameters():
            parameter.grad = None

    def train(self, mode: bool = True) -> "Self":
        """Turn on what belongs to training only, such as dropout; returns the module."""
        for _, module in self.modules():
            module.training = mode
        return self

    def eval(self) -> "Self":
        """Turn off what belongs to training only; returns the module."""
        return self.train(False)

    def __repr__(self) -> str:
        count = sum(parameter.size for parameter in self.parameters())
        return f"<{type(self).__name__} {self.name or ''}: {count:,} parameters>".replace(" :", ":")


def members(module: Module) -> Iterator[tuple[str, Any]]:
    """A module's attributes with their names; the items of a list or tuple one by one, as `blocks.0`, `blocks.1` ..."""
    for name, value in vars(module).items():
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                yield f"{name}.{i}", item
        else:
            yield name, value
