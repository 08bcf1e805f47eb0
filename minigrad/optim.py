"""Optimizers: how parameters move against their gradients, how far at which step, and how long a gradient may be.

A step gives each parameter a new array and leaves the old one alone, because a recorded graph may still need it. What
an optimizer remembers of a parameter is its own, and is changed in place.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from minigrad.precision import norm
from minigrad.tensor import Tensor

Parameters = Iterable[Tensor] | Iterable[dict[str, Any]]


class Optimizer:
    """What all optimizers share: groups of parameters, what is remembered of each, `step` and `zero_grad`.

    Args:
        parameters: a list of leaves, such as `model.parameters()`; or of groups, which are dicts: "params" is such a
            list, "weight_decay" is for these parameters alone, and "lr_scale" is a factor on their learning rate.
            A parameter that is used in two places is still moved once per step.
        lr: the learning rate; it may be set anew before each step (`optimizer.lr = schedule(step)`).
        weight_decay: of the groups that name none.

    Attributes:
        groups: the groups; one of them if `parameters` was a plain list.
        parameters: all parameters, each once.
        state: for each parameter what is remembered of it, by name, such as `optimizer.state[p]["m"]`.

    Raises:
        TypeError: anything but leaves that ask for a gradient; a group with an unknown option.
        ValueError: no parameters at all; one in two groups; a learning rate that is no positive number; in `step`, a
            gradient of another shape than its parameter, before anything has moved.
    """

    def __init__(self, parameters: Parameters, lr: float, weight_decay: float = 0.0):
        if not isinstance(lr, (int, float, np.number)) or not lr > 0:
            raise ValueError(f"the learning rate is a positive number; got {lr!r}")
        self.lr = lr
        self.groups = groups_of(parameters, weight_decay)
        self.parameters: list[Tensor] = [p for group in self.groups for p in group["params"]]
        self.state = {p: self.first_state(p) for p in self.parameters}

    def first_state(self, p: Tensor) -> dict[str, Any]:
        """What is remembered of a parameter before its first step."""
        raise NotImplementedError(f"{type(self).__name__} has no first_state(self, p) yet")

    def update(self, p: Tensor, grad: np.ndarray, lr: float, weight_decay: float) -> np.ndarray:
        """The parameter's next array, from its gradient and from what is remembered of it."""
        raise NotImplementedError(f"{type(self).__name__} has no update(self, p, grad, lr, weight_decay) yet")

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for p in self.parameters:
            if p.grad is not None and p.grad.shape != p.shape:
                raise ValueError(f"{p} has a gradient of another shape, {p.grad.shape}: it was set by hand, or kept")
        for group in self.groups:
            lr, weight_decay = float(self.lr) * group["lr_scale"], group["weight_decay"]
            for p in group["params"]:
                if p.grad is not None:
                    data = self.update(p, p.grad, lr, weight_decay)
                    data.setflags(write=False)
                    p.data = data

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for p in self.parameters:
            p.grad = None


class SGD(Optimizer):
    """Stochastic gradient descent:  v = momentum * v + (dL/dp + weight_decay * p),   p = p - lr * v.

    >>> from minigrad import Parameter
    >>> p = Parameter([1.0])
    >>> (p * p).sum().backward()
    >>> SGD([p], lr=0.25).step()
    >>> p.data
    array([0.5])
    """

    def __init__(self, parameters: Parameters, lr: float, momentum: float = 0.0, weight_decay: float = 0.0):
        super().__init__(parameters, lr, weight_decay)
        self.momentum = float(momentum)

    def first_state(self, p: Tensor) -> dict[str, Any]:
        return {"v": np.zeros_like(p.data)}

    def update(self, p: Tensor, grad: np.ndarray, lr: float, weight_decay: float) -> np.ndarray:
        v = self.state[p]["v"]
        v *= self.momentum
        v += grad
        if weight_decay:
            v += weight_decay * p.data
        data = -lr * v
        data += p.data
        return np.asarray(data)


class AdamW(Optimizer):
    """Adam with decoupled weight decay (Kingma and Ba 2015; Loshchilov and Hutter 2019, algorithm 2).

    m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2,
    p = (1 - lr * weight_decay) p - lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps).

    Each parameter counts its own steps t, those at which it had a gradient.
    """

    def __init__(
        self,
        parameters: Parameters,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(parameters, lr, weight_decay)
        self.betas, self.eps = (float(betas[0]), float(betas[1])), float(eps)

    def first_state(self, p: Tensor) -> dict[str, Any]:
        return {"m": np.zeros_like(p.data), "v": np.zeros_like(p.data), "t": 0}

    def update(self, p: Tensor, grad: np.ndarray, lr: float, weight_decay: float) -> np.ndarray:
        b1, b2 = self.betas
        state = self.state[p]
        m, v = state["m"], state["v"]
        state["t"] = t = state["t"] + 1
        part = np.empty_like(p.data)  # the one temporary array, written anew by each line that names it as out
        m *= b1
        m += np.multiply(1 - b1, grad, out=part)
        np.square(grad, out=part)
        v *= b2
        v += np.multiply(1 - b2, part, out=part)
        np.sqrt(np.multiply(v, 1 / (1 - b2**t), out=part), out=part)
        part += self.eps
        np.divide(m, part, out=part)
        part *= lr / (1 - b1**t)
        data = p.data.copy()
        if weight_decay:
            data *= 1 - lr * weight_decay
        data -= part
        return data


def groups_of(parameters: Parameters, weight_decay: float) -> list[dict[str, Any]]:
    """The groups of an optimizer, each with all its options, from a list of parameters or of groups."""
    if isinstance(parameters, Tensor) or hasattr(parameters, "parameters"):
        got = type(parameters).__name__
        raise TypeError(f"an optimizer takes a list, such as model.parameters() or [weight, bias]; got a {got}")
    listed: list[Any] = list(parameters)
    if not any(isinstance(p, dict) for p in listed):
        listed = [{"params": listed}]
    groups: list[dict[str, Any]] = []
    group_of: dict[Tensor, int] = {}
    for i, given in enumerate(listed):
        if not isinstance(given, dict) or "params" not in given:
            raise TypeError(f'groups are dicts with a list of parameters as "params"; got {given!r} among them')
        group = {"weight_decay": weight_decay, "lr_scale": 1.0, **given, "params": []}
        if unknown := group.keys() - {"params", "weight_decay", "lr_scale"}:
            raise TypeError(f"a group has params, weight_decay and lr_scale; got {', '.join(sorted(unknown))}")
        for p in given["params"]:
            if not isinstance(p, Tensor) or not p.is_leaf or not p.requires_grad:
                raise TypeError(f"an optimizer moves leaves that were made with requires_grad=True; got {p!r}")
            if group_of.setdefault(p, i) != i:
                raise ValueError(f"{p!r} is in the groups {group_of[p]} and {i}; a parameter belongs to one")
        group["params"] = list(dict.fromkeys(given["params"]))
        group["weight_decay"], group["lr_scale"] = float(group["weight_decay"]), float(group["lr_scale"])
        groups.append(group)
    if not group_of:
        raise ValueError("an optimizer needs parameters to move; got none (has the model found its own?)")
    return groups


def decay_groups(parameters: Iterable[Tensor], weight_decay: float) -> list[dict[str, Any]]:
    """Two groups for an optimizer: matrices and tables decay, biases and the gains of norms do not.

    The former have two axes or more, the latter one. Decay pulls towards zero what multiplies the stream; a bias or a
    gain has a place of its own to be at.

    >>> from minigrad import Parameter
    >>> weight, bias = Parameter(np.ones((2, 2))), Parameter(np.zeros(2))
    >>> optimizer = AdamW(decay_groups([weight, bias], 0.1))
    >>> [(len(group["params"]), group["weight_decay"]) for group in optimizer.groups]
    [(1, 0.1), (1, 0.0)]
    """
    parameters = list(parameters)
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


def clip_grad_norm(parameters: Iterable[Tensor], max_norm: float) -> float:
    """Shorten the gradient to `max_norm` if it is longer:  g = g * min(1, max_norm / (|g| + 1e-6)), as PyTorch has it.

    All gradients together are one vector g, which keeps its direction.

    Returns:
        |g| as it was, in double precision.

    Raises:
        ValueError: a max_norm that is no positive number; a gradient with NaN or inf, which has no direction to keep.

    >>> from minigrad import Parameter
    >>> p = Parameter([3.0, 4.0])
    >>> (p * p).sum().backward()
    >>> clip_grad_norm([p], 1.0)
    10.0
    >>> p.grad.round(4)
    array([0.6, 0.8])
    """
    if not max_norm > 0:
        raise ValueError(f"clip_grad_norm: max_norm is a positive number; got {max_norm!r}")
    if isinstance(parameters, Tensor) or hasattr(parameters, "parameters"):
        raise TypeError(f"clip_grad_norm: takes a list, such as model.parameters(); got a {type(parameters).__name__}")
    grads = {p: p.grad for p in parameters if p.grad is not None}
    norms = {p: norm(grad) for p, grad in grads.items()}
    length = math.hypot(*norms.values())
    if not math.isfinite(length):
        broken = [p.name or repr(p) for p in norms if not math.isfinite(norms[p])]
        raise ValueError(
            f"clip_grad_norm: NaN or inf in the gradient of {', '.join(broken)}; nothing was changed "
            f"(detect_anomaly names the op that makes the first one)"
        )
    scale = float(max_norm) / (length + 1e-6)
    if scale < 1:
        for p, grad in grads.items():
            p.grad = np.asarray(grad * scale)  # a new array: the graph may hold the old one
    return length


class Schedule:
    """The learning rate at each step: up in a straight line to `peak`, then down to `final`.

    Step i of the warm-up has peak * (i + 1) / warmup, so that the first step moves and the last of the warm-up is at
    the peak. After step n_steps it stays at `final`.

    Args:
        peak: the largest learning rate.
        n_steps: how many steps there are, warm-up included.
        warmup: how many of them go up.
        final: the rate at the end.
    """

    def __init__(self, peak: float, n_steps: int, warmup: int = 0, final: float = 0.0):
        if not 0 <= warmup <= n_steps:
            raise ValueError(f"the warm-up is a part of the steps; got warmup={warmup}, n_steps={n_steps}")
        self.peak, self.n_steps, self.warmup, self.final = peak, n_steps, warmup, final

    def __call__(self, step: int) -> float:
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        done = min(1.0, (step - self.warmup) / max(1, self.n_steps - self.warmup))
        return self.final + (self.peak - self.final) * self.left(done)

    def left(self, done: float) -> float:
        """What is left of the way down, from 1 to 0, when this part of the steps after the warm-up is done."""
        raise NotImplementedError(f"{type(self).__name__} has no left(self, done) yet")

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(peak={self.peak}, n_steps={self.n_steps}, warmup={self.warmup}, final={self.final})"
        )


class CosineDecay(Schedule):
    """Down along half a cosine, (1 + cos(pi * done)) / 2 (Loshchilov and Hutter 2017, eq. 5).

    >>> schedule = CosineDecay(peak=1.0, n_steps=6, warmup=2)
    >>> [round(schedule(step), 3) for step in range(7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0]
    """

    def left(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


class LinearDecay(Schedule):
    """Down in a straight line.

    >>> schedule = LinearDecay(peak=1.0, n_steps=6, warmup=2)
    >>> [schedule(step) for step in range(7)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """

    def left(self, done: float) -> float:
        return 1 - done
