"""Arithmetic of two arrays, element by element, with NumPy's broadcasting."""

import numpy as np

from minigrad.arrays import TensorLike
from minigrad.op import Op
from minigrad.tensor import Tensor


class Add(Op):
    """z = x + y;   dL/dx = dL/dz,   dL/dy = dL/dz."""

    elementwise = True

    def forward(self, x, y):
        return x + y

    def backward(self, grad_z):
        grad_x = grad_y = grad_z
        return grad_x, grad_y


class Subtract(Op):
    """z = x - y;   dL/dx = dL/dz,   dL/dy = -dL/dz."""

    elementwise = True

    def forward(self, x, y):
        return x - y

    def backward(self, grad_z):
        grad_x, grad_y = grad_z, -grad_z
        return grad_x, grad_y


class Multiply(Op):
    """z = x y;   dL/dx = dL/dz * y,   dL/dy = dL/dz * x."""

    elementwise = True

    def forward(self, x, y):
        self.x, self.y = x, y
        return x * y

    def backward(self, grad_z):
        grad_x = grad_z * self.y if self.inputs[0].requires_grad else None
        grad_y = grad_z * self.x if self.inputs[1].requires_grad else None
        return grad_x, grad_y


class Divide(Op):
    """z = x / y;   dL/dx = dL/dz / y,   dL/dy = -dL/dz * z / y."""

    elementwise = True

    def forward(self, x, y):
        self.y = y
        self.z = x / y
        return self.z

    def backward(self, grad_z):
        grad_x = grad_z / self.y
        grad_y = -grad_x * self.z if self.inputs[1].requires_grad else None
        return grad_x, grad_y


class Negative(Op):
    """y = -x;   dL/dx = -dL/dy."""

    elementwise = True

    def forward(self, x):
        return -x

    def backward(self, grad_y):
        grad_x = -grad_y
        return (grad_x,)


class Power(Op):
    """z = x^p;   dL/dx = dL/dz * p x^(p-1),   dL/dp = dL/dz * z ln x.

    Constants have slope 0, so dL/dx = 0 where p = 0 (at x = 0 too), and dL/dp = 0 where z = 0 (as 0^p is for p > 0).
    """

    elementwise = True

    def forward(self, x, p):
        self.x, self.p = x, p
        self.z = x**p
        return self.z

    def backward(self, grad_z):
        x, p = self.x, self.p
        grad_x = grad_p = None
        if self.inputs[0].requires_grad:
            lowered = np.where(p == 0, 0, p - 1)  # keeps 0 * 0^-1 = NaN out of the slope of a constant
            grad_x = grad_z * (p * x**lowered)
        if self.inputs[1].requires_grad:
            grad_p = grad_z * (self.z * np.log(np.where(self.z == 0, 1, x)))
        return grad_x, grad_p


def add(x: TensorLike, y: TensorLike) -> Tensor:
    """x + y, with broadcasting; also ``x + y``.

    >>> add(Tensor([1.0, 2.0]), 10).data
    array([11., 12.])
    """
    return Add()(x, y)


def subtract(x: TensorLike, y: TensorLike) -> Tensor:
    """x - y, with broadcasting; also ``x - y``.

    >>> subtract(Tensor([1.0, 2.0]), 10).data
    array([-9., -8.])
    """
    return Subtract()(x, y)


def multiply(x: TensorLike, y: TensorLike) -> Tensor:
    """x y element by element, with broadcasting; also ``x * y``.

    >>> multiply(Tensor([1.0, 2.0]), [3.0, 4.0]).data
    array([3., 8.])
    """
    return Multiply()(x, y)


def divide(x: TensorLike, y: TensorLike) -> Tensor:
    """x / y, with broadcasting; also ``x / y``. By zero it is inf or NaN, as in NumPy.

    >>> divide(6, Tensor([2.0, 3.0])).data
    array([3., 2.])
    """
    return Divide()(x, y)


def negative(x: TensorLike) -> Tensor:
    """-x; also ``-x``.

    >>> negative(Tensor([1.0, -2.0])).data
    array([-1.,  2.])
    """
    return Negative()(x)


def power(x: TensorLike, p: TensorLike) -> Tensor:
    """x to the power p, with broadcasting; also ``x ** p``. A negative x takes whole p only, otherwise NaN.

    >>> power(Tensor([-2.0, 3.0]), 3).data
    array([-8., 27.])
    """
    return Power()(x, p)


# What Python calls for `x + y` when x is no tensor; it hands y over first.
def reflected_add(y: TensorLike, x: TensorLike) -> Tensor:
    return add(x, y)


def reflected_subtract(y: TensorLike, x: TensorLike) -> Tensor:
    return subtract(x, y)


def reflected_multiply(y: TensorLike, x: TensorLike) -> Tensor:
    return multiply(x, y)


def reflected_divide(y: TensorLike, x: TensorLike) -> Tensor:
    return divide(x, y)


def reflected_power(p: TensorLike, x: TensorLike) -> Tensor:
    return power(x, p)
