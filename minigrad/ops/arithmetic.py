"""Arithmetic of two arrays, element by element, with NumPy's broadcasting."""

from minigrad.op import Op
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Add(Op):
    """z = x + y;   dL/dx = dL/dz,   dL/dy = dL/dz."""

    def forward(self, x, y):
        return x + y

    def backward(self, grad_z):
        grad_x = grad_y = grad_z
        return grad_x, grad_y


def add(x: TensorLike, y: TensorLike) -> Tensor:
    """x + y, with broadcasting; also ``x + y``.

    >>> add(Tensor([1.0, 2.0]), 10).data
    array([11., 12.])
    """
    return Add()(x, y)


class Subtract(Op):
    """z = x - y;   dL/dx = dL/dz,   dL/dy = -dL/dz."""

    def forward(self, x, y):
        return x - y

    def backward(self, grad_z):
        grad_x, grad_y = grad_z, -grad_z
        return grad_x, grad_y


def subtract(x: TensorLike, y: TensorLike) -> Tensor:
    """x - y, with broadcasting; also ``x - y``.

    >>> subtract(Tensor([1.0, 2.0]), 10).data
    array([-9., -8.])
    """
    return Subtract()(x, y)


class Multiply(Op):
    """z = x y;   dL/dx = dL/dz * y,   dL/dy = dL/dz * x."""

    def forward(self, x, y):
        self.x, self.y = x, y
        return x * y

    def backward(self, grad_z):
        grad_x = grad_z * self.y if self.inputs[0].requires_grad else None
        grad_y = grad_z * self.x if self.inputs[1].requires_grad else None
        return grad_x, grad_y


def multiply(x: TensorLike, y: TensorLike) -> Tensor:
    """x y element by element, with broadcasting; also ``x * y``.

    >>> multiply(Tensor([1.0, 2.0]), [3.0, 4.0]).data
    array([3., 8.])
    """
    return Multiply()(x, y)


class Divide(Op):
    """z = x / y;   dL/dx = dL/dz / y,   dL/dy = -dL/dz * z / y."""

    def forward(self, x, y):
        self.y = y
        self.z = x / y
        return self.z

    def backward(self, grad_z):
        grad_x = grad_z / self.y
        grad_y = -grad_x * self.z if self.inputs[1].requires_grad else None
        return grad_x, grad_y


def divide(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, with broadcasting; also ``x / y``. By zero it is inf or NaN, as in NumPy.

    >>> divide(6, Tensor([2.0, 3.0])).data
    array([3., 2.])
    """
    return Divide()(x, y)


class Negative(Op):
    """y = -x;   dL/dx = -dL/dy."""

    def forward(self, x):
        return -x

    def backward(self, grad_y):
        grad_x = -grad_y
        return (grad_x,)


def negative(x: TensorLike) -> Tensor:
    """-x; also ``-x``.

    >>> negative(Tensor([1.0, -2.0])).data
    array([-1.,  2.])
    """
    return Negative()(x)
