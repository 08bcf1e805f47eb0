"""The table of what can be written on a Tensor: each operator and method, and the function that it calls."""

from typing import TYPE_CHECKING

from minigrad import habits, protocols, watching
from minigrad.ops import (
    activations,
    arithmetic,
    comparisons,
    elementary,
    normalization,
    products,
    reductions,
    reflected,
    selection,
    shapes,
)
from minigrad.ops import softmax as softmaxes
from minigrad.tensor import Tensor


class Operators:
    """What Tensor gets below. Type checkers and editors see it as Tensor's base class."""

    __add__, __radd__ = arithmetic.add, reflected.add
    __sub__, __rsub__ = arithmetic.subtract, reflected.subtract
    __mul__, __rmul__ = arithmetic.multiply, reflected.multiply
    __truediv__, __rtruediv__ = arithmetic.divide, reflected.divide
    __pow__, __rpow__ = elementary.power, reflected.power
    __matmul__, __rmatmul__ = products.matmul, reflected.matmul
    __neg__, __pos__, __abs__ = arithmetic.negative, protocols.itself, elementary.abs
    __getitem__ = shapes.getitem
    __len__, __iter__, __bool__ = protocols.length, protocols.iterate, protocols.truth
    __float__, __int__, __index__ = protocols.as_float, protocols.as_int, protocols.as_index
    __format__, __round__, __deepcopy__ = protocols.formatted, protocols.rounded, protocols.deep_copy
    if not TYPE_CHECKING:  # refused, mostly: a checker that does not see them says so before the program runs
        __setitem__ = protocols.refuse_writing
        __array__ = protocols.as_numpy
        __array_function__, __array_ufunc__ = protocols.numpy_function, protocols.numpy_ufunc
        __getattr__, __reduce_ex__ = habits.no_attribute, protocols.reduced

    __lt__, __le__ = comparisons.less, comparisons.less_equal
    __gt__, __ge__ = comparisons.greater, comparisons.greater_equal
    __eq__, __ne__ = comparisons.equal, comparisons.not_equal  # type: ignore[assignment]  # an array

    exp, log, sqrt, abs = elementary.exp, elementary.log, elementary.sqrt, elementary.abs
    expm1, log1p, sin, cos = elementary.expm1, elementary.log1p, elementary.sin, elementary.cos
    relu, sigmoid, tanh = activations.relu, activations.sigmoid, activations.tanh
    gelu, silu = activations.gelu, activations.silu
    where, clip = selection.tensor_where, selection.clip
    maximum, minimum = selection.maximum, selection.minimum

    sum, mean, prod = reductions.sum, reductions.mean, reductions.prod
    max, min = reductions.max, reductions.min
    var, std, norm = reductions.var, reductions.std, reductions.norm
    cumsum = reductions.cumsum
    softmax, log_softmax, logsumexp = softmaxes.softmax, softmaxes.log_softmax, softmaxes.logsumexp
    layer_norm, rms_norm = normalization.layer_norm, normalization.rms_norm

    matmul = products.matmul
    reshape, flatten, transpose, swapaxes = shapes.reshape, shapes.flatten, shapes.transpose, shapes.swapaxes
    squeeze, expand_dims, broadcast_to, split = shapes.squeeze, shapes.expand_dims, shapes.broadcast_to, shapes.split
    T: Tensor  # a property, see below

    on_gradient = watching.on_gradient


for name, function in vars(Operators).items():
    if callable(function):
        setattr(Tensor, name, function)
Tensor.T = property(protocols.transposed)  # type: ignore[assignment]
