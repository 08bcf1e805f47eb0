"""The table of operators and methods: all of it is bound, and it is the functions themselves."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor
from minigrad.operators import Operators

METHODS = [name for name in vars(Operators) if not name.startswith("_") and name not in ("T", "on_gradient")]
FUNCTIONS = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "negative",
    "power",
    "matmul",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "sigmoid",
    "relu",
    "gelu",
    "silu",
    "abs",
    "maximum",
    "minimum",
    "where",
    "clip",
    "sum",
    "mean",
    "max",
    "min",
    "var",
    "std",
    "prod",
    "cumsum",
    "norm",
    "logsumexp",
    "reshape",
    "transpose",
    "swapaxes",
    "broadcast_to",
    "getitem",
    "concatenate",
    "stack",
    "einsum",
    "softmax",
    "log_softmax",
    "layer_norm",
    "rms_norm",
    "dropout",
    "embedding",
    "cross_entropy",
    "mse_loss",
    "log1p",
    "expm1",
    "sin",
    "cos",
    "squeeze",
    "expand_dims",
    "flatten",
    "split",
]


def test_all_promised_functions_are_there():
    assert set(FUNCTIONS) <= set(mg.__all__)
    assert all(callable(getattr(mg, name)) and getattr(mg, name).__doc__ for name in FUNCTIONS)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "where"])
def test_a_method_is_its_function(name):
    assert getattr(Tensor, name) is getattr(mg, name)


def test_where_as_a_method_chooses_its_tensor():
    x = Tensor(np.random.default_rng(0).uniform(0.1, 0.9, (2, 3)))
    assert (x.where(x > 0.5, 0).data == mg.where(x > 0.5, x, 0).data).all()


def test_operators():
    x, y = Tensor([3.0, 4.0]), Tensor([2.0, 5.0])
    for got, expected in (
        (x + y, [5, 9]),
        (x - y, [1, -1]),
        (x * y, [6, 20]),
        (x / y, [1.5, 0.8]),
        (x**y, [9, 1024]),
        (-x, [-3, -4]),
        (abs(-x), [3, 4]),
        (1 + x, [4, 5]),
        (1 - x, [-2, -3]),
        (2 * x, [6, 8]),
        (12 / x, [4, 3]),
        (2**x, [8, 16]),
        ([1.0, 2.0] @ x, 11),
        (x @ y, 26),
        (x[1], 4),
        (x.T, [3, 4]),
    ):
        np.testing.assert_allclose(got.data, expected)


def test_comparisons_give_plain_arrays():
    x = Tensor([1.0, 2.0, 3.0])
    for got, expected in (
        (x < 2, [1, 0, 0]),
        (x <= 2, [1, 1, 0]),
        (x > Tensor(2.0), [0, 0, 1]),
        (x >= 2, [0, 1, 1]),
        (x == [1, 0, 3], [1, 0, 1]),
        (x != 2, [1, 0, 1]),
        (np.array([9.0, 0.0, 9.0]) > x, [1, 0, 1]),
        (np.array([1.0, 0.0, 3.0]) == x, [1, 0, 1]),
    ):
        assert type(got) is np.ndarray and got.dtype == bool and (got == expected).all()


def test_in_and_hash():
    x = Tensor(1.0)
    assert x in [x] and hash(x) == hash(x)
