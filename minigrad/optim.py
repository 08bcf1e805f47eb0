"""Optimizers: how parameters move against their gradients.

A step gives each parameter a new array and leaves the old one alone, because a recorded graph may still need it.
"""

from collections.abc import Iterable

import numpy as np

from minigrad.arrays import as_array
from minigrad.tensor import Tensor


class Optimizer:
    """What all optimizers share: the parameters, each once, and `zero_grad`.

    A parameter that is used in two places is still moved once per step.

    Raises:
        TypeError: anything but a list of leaves that ask for a gradient, such as `model.parameters()`.
        ValueError: a learning rate that is no positive number; in `step`, a gradient of another shape.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float):
        if isinstance(parameters, Tensor) or hasattr(parameters, "parameters"):
            got = type(parameters).__name__
            raise TypeError(f"an optimizer takes a list, such as model.parameters() or [weight, bias]; got a {got}")
        parameters = list(parameters)
        for p in parameters:
            if not isinstance(p, Tensor) or not p.is_leaf or not p.requires_grad:
                raise TypeError(f"an optimizer moves leaves that were made with requires_grad=True; got {p!r}")
        if not isinstance(lr, (int, float, np.number)) or not lr > 0:
            raise ValueError(f"the learning rate is a positive number; got {lr!r}")
        self.parameters = list(dict.fromkeys(parameters))
        self.lr = lr

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for p in self.parameters:
            p.grad = None


class SGD(Optimizer):
    """Stochastic gradient descent:  v = momentum * v + dL/dp,   p = p - lr * v.

    >>> from minigrad import Parameter
    >>> p = Parameter([1.0])
    >>> (p * p).sum().backward()
    >>> SGD([p], lr=0.25).step()
    >>> p.data
    array([0.5])
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.0):
        super().__init__(parameters, lr)
        self.momentum = momentum
        self.velocities = [np.zeros_like(p.data) for p in self.parameters]

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                self.velocities[i] = self.momentum * self.velocities[i] + p.grad
                move(p, self.lr * self.velocities[i])


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Kingma and Ba 2015; Loshchilov and Hutter 2019, algorithm 2).

    m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2,
    p = p - lr * ((m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps) + weight_decay * p).
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(parameters, lr)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay
        self.t = 0
        self.m = [np.zeros_like(p.data) for p in self.parameters]
        self.v = [np.zeros_like(p.data) for p in self.parameters]

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        self.t += 1
        b1, b2 = self.betas
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                self.m[i] = b1 * self.m[i] + (1 - b1) * p.grad
                self.v[i] = b2 * self.v[i] + (1 - b2) * p.grad * p.grad
                m = self.m[i] / (1 - b1**self.t)
                v = self.v[i] / (1 - b2**self.t)
                move(p, self.lr * (m / (np.sqrt(v) + self.eps) + self.weight_decay * p.data))


def move(parameter: Tensor, change: np.ndarray) -> None:
    if change.shape != parameter.shape:
        raise ValueError(f"{parameter} has a gradient of another shape, {change.shape}: it was set by hand, or kept")
    parameter.data = as_array(parameter.data - change, parameter.dtype)
