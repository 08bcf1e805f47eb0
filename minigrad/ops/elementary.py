"""Elementary functions, element by element: exponentials and logarithms, powers and roots, sine and cosine."""

import numpy as np

from minigrad.op import Op
from minigrad.precision import floating
from minigrad.tensor import Tensor
from minigrad.types import TensorLike


class Exp(Op):
    """y = e^x;   dL/dx = dL/dy * y."""

    def forward(self, x):
        self.y = np.exp(floating(x))
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y * self.y
        return (grad_x,)


def exp(x: TensorLike) -> Tensor:
    """e to the power x.

    >>> exp(Tensor([0.0, 1.0])).data
    array([1.        , 2.71828183])
    """
    return Exp()(x)


class Expm1(Op):
    """y = e^x - 1;   dL/dx = dL/dy * e^x."""

    def forward(self, x):
        self.x = floating(x)
        return np.expm1(self.x)

    def backward(self, grad_y):
        grad_x = grad_y * np.exp(self.x)
        return (grad_x,)


def expm1(x: TensorLike) -> Tensor:
    """e^x - 1, exact near 0, where e^x itself rounds to 1.

    >>> expm1(Tensor([1e-20, 1.0])).data
    array([1.00000000e-20, 1.71828183e+00])
    """
    return Expm1()(x)


class Log(Op):
    """y = ln x;   dL/dx = dL/dy / x."""

    def forward(self, x):
        self.x = floating(x)
        return np.log(self.x)

    def backward(self, grad_y):
        grad_x = grad_y / self.x
        return (grad_x,)


def log(x: TensorLike) -> Tensor:
    """Natural logarithm; -inf at 0 and NaN below, as in NumPy.

    >>> log(Tensor([1.0, 10.0])).data
    array([0.        , 2.30258509])
    """
    return Log()(x)


class Log1p(Op):
    """y = ln(1 + x);   dL/dx = dL/dy / (1 + x)."""

    def forward(self, x):
        self.x = floating(x)
        return np.log1p(self.x)

    def backward(self, grad_y):
        grad_x = grad_y / (1 + self.x)
        return (grad_x,)


def log1p(x: TensorLike) -> Tensor:
    """ln(1 + x), exact near 0, where 1 + x itself rounds to 1; -inf at -1 and NaN below.

    >>> log1p(Tensor([1e-20, 1.0])).data
    array([1.00000000e-20, 6.93147181e-01])
    """
    return Log1p()(x)


class Power(Op):
    """z = x^p;   dL/dx = dL/dz * p x^(p-1),   dL/dp = dL/dz * z ln x.

    Constants have slope 0, so dL/dx = 0 where p = 0 (at x = 0 too), and dL/dp = 0 where z = 0 (as 0^p is for p > 0).
    """

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


def power(x: TensorLike, p: TensorLike) -> Tensor:
    """x to the power p, with broadcasting; also ``x ** p``. A negative x needs a whole p; otherwise it is NaN.

    >>> power(Tensor([-2.0, 3.0]), 3).data
    array([-8., 27.])
    """
    return Power()(x, p)


class Sqrt(Op):
    """y = x^(1/2);   dL/dx = dL/dy / (2 y), which is inf at x = 0."""

    def forward(self, x):
        self.y = np.sqrt(floating(x))
        return self.y

    def backward(self, grad_y):
        grad_x = grad_y / (2 * self.y)
        return (grad_x,)


def sqrt(x: TensorLike) -> Tensor:
    """Square root; NaN below 0, as in NumPy.

    >>> sqrt(Tensor([4.0, 9.0])).data
    array([2., 3.])
    """
    return Sqrt()(x)


class Sin(Op):
    """y = sin x;   dL/dx = dL/dy * cos x."""

    def forward(self, x):
        self.x = floating(x)
        return np.sin(self.x)

    def backward(self, grad_y):
        grad_x = grad_y * np.cos(self.x)
        return (grad_x,)


def sin(x: TensorLike) -> Tensor:
    """Sine of x, an angle in radians.

    >>> sin(Tensor([0.0, np.pi / 2])).data
    array([0., 1.])
    """
    return Sin()(x)


class Cos(Op):
    """y = cos x;   dL/dx = -dL/dy * sin x."""

    def forward(self, x):
        self.x = floating(x)
        return np.cos(self.x)

    def backward(self, grad_y):
        grad_x = -grad_y * np.sin(self.x)
        return (grad_x,)


def cos(x: TensorLike) -> Tensor:
    """Cosine of x, an angle in radians.

    >>> cos(Tensor([0.0, np.pi])).data
    array([ 1., -1.])
    """
    return Cos()(x)


class Abs(Op):
    """y = |x|;   dL/dx = dL/dy * sign(x), with slope 0 at x = 0."""

    def forward(self, x):
        self.x = x
        return np.abs(x)

    def backward(self, grad_y):
        grad_x = grad_y * np.sign(self.x)
        return (grad_x,)


def abs(x: TensorLike) -> Tensor:
    """Absolute value; also ``abs(x)``. Its slope at 0 is 0.

    >>> abs(Tensor([-1.0, 2.0])).data
    array([1., 2.])
    """
    return Abs()(x)
