"""In which type ops add up and compute, so that small types lose nothing on the way.

Results come back in the type of the inputs. Sums of float16 and float32 are added up in float64: a long axis would lose
digits, or not count at all. Where squares, counts or exponentials occur, float16 is computed in float32. Integers and
booleans become float64 where an op has fractions, and int64 where it sums products, before anything can wrap.
"""

import math

import numpy as np


def floating(x):
    """x itself if it is floating; integers and booleans as float64."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def widened(x):
    """x as it can be squared and counted in: float16 as float32, integers and booleans as float64."""
    return x.astype(np.float32) if x.dtype == np.float16 else floating(x)


def narrowed(y, *xs):
    """y, which was computed from the xs `widened`, in the type that the xs have together."""
    if all(x.dtype == y.dtype for x in xs):
        return y
    return y.astype(np.result_type(*(x.dtype if x.dtype.kind == "f" else np.float64 for x in xs)), copy=False)


def whole(x):
    """x as its products can be summed: integers and booleans as int64, floating types as they are."""
    return x if x.dtype.kind == "f" or x.dtype == np.uint64 else x.astype(np.int64)


def summed(x, axis=None, keepdims=False, parts=None):
    """The sum over `axis`, divided by `parts` if given; in the type of x, but added up in float64.

    Integers and booleans sum to a 64-bit integer, as in NumPy, and have a float64 mean.
    """
    wide = sum_type(x)
    total = np.add.reduce(x, axis=axis, dtype=wide, keepdims=keepdims)
    if parts is not None:
        total = total / parts
    return total.astype(x.dtype) if wide else total


def running_sum(x, axis=None):
    """np.cumsum, added up as `summed` does."""
    wide = sum_type(x)
    total = np.cumsum(x, axis=axis, dtype=wide)
    return total.astype(x.dtype) if wide else total


def sum_type(x):
    """The type to add up x in: float64 for shorter floating types; None, NumPy's own choice, for all others."""
    return np.float64 if x.dtype.kind == "f" and x.dtype.itemsize <= 4 else None


def mean(x, axis=None, keepdims=False):
    """The mean over `axis`, added up as `summed` does; NaN, with NumPy's warning, if there is nothing to average."""
    if not x.size:
        return x.mean(axis=axis, keepdims=keepdims)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return summed(x, axis, keepdims, parts=math.prod(x.shape[a] for a in axes))


def norm(array: np.ndarray) -> float:
    """The Euclidean norm of all elements, as a Python number in double precision.

    >>> print(f"{norm(np.array([3e200, 4e200])):.3g}, {norm(np.array([3e-200, 4e-200])):.3g}")
    5e+200, 5e-200
    """
    with np.errstate(all="ignore"):
        array, exponent = scaled(array)
        return float(np.ldexp(np.sqrt(np.square(array).sum()), exponent))


def scaled(array: np.ndarray) -> tuple[np.ndarray, int]:
    """`array` / 2^exponent in double precision, and the exponent that brings its largest element to between 1/2 and 1.

    So the squares of what matters neither overflow nor vanish, and not a digit changes.
    """
    array = array.astype(np.float64, copy=False)
    _, exponent = np.frexp(np.abs(array).max(initial=0))
    return np.ldexp(array, -exponent), int(exponent)
