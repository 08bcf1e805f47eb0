"""Programs as a user writes them, with what a type checker must know of each value.

`test_typing.py` has mypy read this file strictly, and runs it too: a value must be of the type that mypy sees.
"""

from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, get_origin

import numpy as np
import pytest

import blocks
from minigrad import (
    Graph,
    Module,
    Op,
    Parameter,
    Tensor,
    break_at,
    concatenate,
    cross_entropy,
    detect_anomaly,
    draw,
    explain,
    find,
    find_all,
    gradcheck,
    no_grad,
    scope,
    softmax,
    stack,
    where,
    why,
    write_stepper,
)
from minigrad.backprop import Step
from minigrad.debugging import Answer, Explanation
from minigrad.drawing import Picture
from minigrad.gradcheck import GradcheckReport
from minigrad.optim import SGD, AdamW

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value, kind):
        assert isinstance(value, kind if isinstance(kind, UnionType) else get_origin(kind) or kind)


def use_tensors() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True, name="x")
    w, b = Tensor(np.eye(2)), Tensor(0.5)
    y = softmax(x @ w + b)
    assert_type(y, Tensor)
    assert_type(y.data, np.ndarray)
    assert_type(y.shape, tuple[int, ...])
    assert_type(y.ndim, int)
    assert_type(y.size, int)
    assert_type(y.dtype, np.dtype)
    assert_type(y.requires_grad, bool)
    assert_type(y.is_leaf, bool)
    assert_type(y.name, str | None)
    assert_type(y.op, Op | None)
    assert_type(x.grad, np.ndarray | None)
    assert_type(x.detach(), Tensor)
    assert_type(y.sum().item(), float)


def use_operators() -> None:
    x, array = Tensor([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2))
    for result in (x + 1, 1 - x, 2 * x, x / x, 2 / x, x**2, 2**x, -x, abs(x), x @ x):
        assert_type(result, Tensor)
    for result in (array + x, array - x, array * x, array / x, array @ x, x @ array):
        assert_type(result, Tensor)
    for result in (x[0], x[:, 1], x[..., None], x[array > 0], x.T, x[0] + [1.0, 2.0]):
        assert_type(result, Tensor)
    for answer in (x < 1, x <= x.T, x > array, x >= 1, x == 1, x != x.T):
        assert_type(answer, np.ndarray)
    assert_type(len(x), int)
    assert_type(iter(x), Iterator[Tensor])
    assert_type(float(x.sum()), float)


def use_methods() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    for result in (x.exp(), x.log(), x.sqrt(), x.relu(), x.gelu(), x.where(x > 1, 0.0), x.clip(0, 1), x.maximum(2)):
        assert_type(result, Tensor)
    for result in (x.sum(), x.mean(axis=0), x.max(axis=(0, 1), keepdims=True), x.var(ddof=1), x.cumsum(axis=-1)):
        assert_type(result, Tensor)
    for result in (x.reshape(4), x.reshape(1, -1), x.reshape((2, 2)), x.transpose(1, 0), x.swapaxes(-1, -2)):
        assert_type(result, Tensor)
    for result in (x.softmax(axis=0), x.logsumexp(), x.layer_norm(), x.rms_norm(eps=1e-6), x.matmul(x)):
        assert_type(result, Tensor)
    for result in (stack([x, x]), concatenate([x, [[5.0, 6.0]]]), where(x > 1, x, 0), cross_entropy(x, [0, 1])):
        assert_type(result, Tensor)


def use_backprop() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    assert x.grad is not None
    x.data = x.data - 0.1 * x.grad
    x.zero_grad()
    assert_type(loss.backprop(), Iterator[Step])
    for step in loss.backprop(grad=1.0):
        assert_type(step.tensor, Tensor)
        assert_type(step.op, Op)
        assert_type(step.op.path, str)
        assert_type(step.grad_output, np.ndarray)
        for grad_input in step.grad_inputs or ():
            assert_type(grad_input, np.ndarray | None)
    x.on_gradient(lambda grad: np.clip(grad, -1, 1))
    x.on_gradient(print)


class Square(Op):
    """y = x^2;   dL/dx = dL/dy * 2 x."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.x = x
        result: np.ndarray = np.square(x)
        return result

    def backward(self, grad_y: np.ndarray) -> tuple[np.ndarray, ...]:
        return (grad_y * 2 * self.x,)


class Affine(Module):
    def __init__(self, d: int) -> None:
        self.weight = Parameter(np.eye(d))
        self.square = Square

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return self.square()(x @ self.weight) * scale


class Halves(Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x[:1], x[1:]


def use_modules() -> None:
    x, model = Tensor([1.0, 2.0]), Affine(2)
    assert_type(Square()(x), Tensor)
    assert_type(model(x), Tensor)
    assert_type(model(x, scale=2.0), Tensor)
    assert_type(Halves()(x), tuple[Tensor, Tensor])
    assert_type(model.weight.grad, np.ndarray | None)
    assert_type(model.parameters(), list[Parameter])
    assert_type(model.named_parameters(), list[tuple[str, Parameter]])
    assert_type(model.train().eval(), Affine)
    model.load_state_dict(model.state_dict())
    for optimizer in (SGD(model.parameters(), lr=0.1, momentum=0.9), AdamW([model.weight])):
        optimizer.zero_grad()
        model(x).sum().backward(retain_grads=False)
        optimizer.step()


@no_grad()
def predicted(model: Affine, x: Tensor) -> Tensor:
    with scope("prediction"):
        return model(x)


def use_debugging() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert_type(predicted(Affine(2), x), Tensor)
    with detect_anomaly() as search, break_at("tanh", forward=False, backward=False), break_at(lambda step: False):
        assert_type(search, detect_anomaly)
        loss = x.tanh().sum()
        loss.backward()
    assert_type(explain(x, loss), Explanation)
    assert_type(why(x, loss), Answer)
    assert_type(why(x, loss).verdict, str)
    assert_type(find(loss, "tanh"), Tensor)
    assert_type(find_all(loss), list[Tensor])
    assert_type(gradcheck(Square(), [1.0, 2.0]), GradcheckReport)
    assert_type(gradcheck(lambda x: x.relu(), x, rtol=1e-4).kinks, list[tuple[int, tuple[int, ...]]])


def use_pictures() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True, name="x")
    loss = (x * x).sum()
    picture = draw(loss, "graph.dot", depth=1, highlight={x: "red"}, meanings={"red": "the input"})
    assert_type(picture, Picture)
    assert_type(picture.text(), str)
    assert_type(picture.path, Path | None)
    assert_type(draw(Graph(loss), Path("graph.txt")), Picture)
    assert_type(write_stepper(loss, "steps.html"), Path)
    for node in Graph(loss).nodes:
        assert_type(node.tensor, Tensor)
    for edge in Graph(loss).edges:
        assert_type(edge.gradient, np.ndarray | None)


def use_blocks() -> None:
    block, x = blocks.lesson_block(norm="pre")
    y = block(x)
    assert_type(y, Tensor)
    assert_type(block.attention.weights, np.ndarray | None)
    assert_type(block.attention.query.weight, Parameter)
    loss = (y**2).sum()
    loss.backward()
    for residual in blocks.residual_gradients(loss, x):
        assert_type(residual.name, str)
        assert_type(residual.total, np.ndarray)
        assert_type(residual.skip_share, float)
    for part in blocks.gradient_paths(loss, x, by="length").values():
        assert_type(part, np.ndarray)
    for fault in blocks.gradient_faults(loss, x):
        assert_type(fault.kind, str)
    assert_type(blocks.draw_residual_gradients(loss, x), Picture)

    model = blocks.LanguageModel(vocab_size=9, max_length=4, n_blocks=1, d_model=4, n_heads=2, d_ff=8, rng=0)
    assert_type(model([1, 2, 3]), Tensor)
    assert_type(model.probabilities(np.array([[1, 2]])), Tensor)
    assert_type(model.blocks[0].feed_forward.up.weight.grad, np.ndarray | None)
    assert_type(blocks.Linear(2, 3, dtype=np.float32)(Tensor([1.0, 2.0])), Tensor)


def misuse() -> None:
    """Mistakes that a checker reports before the program does; mypy complains of an `ignore` that hides nothing."""
    x = Tensor([1.0, 2.0], requires_grad=True)
    block, tokens = blocks.lesson_block()
    with pytest.raises(TypeError, match="cannot be written into"):
        x[0] = 1.0  # type: ignore[index]
    with pytest.raises(TypeError, match="lose the gradient"):
        np.exp(x)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="msk"):
        block(tokens, msk=None)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="zero_grads"):
        x.zero_grads()  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="sofmax"):
        from minigrad import sofmax  # type: ignore[attr-defined]  # noqa: F401, PLC0415
