"""Types that several floors name."""

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike


class HasArray(Protocol):
    """What type checkers know of a `Tensor` on the floors under it."""

    data: np.ndarray
    requires_grad: bool


TensorLike: TypeAlias = HasArray | ArrayLike  # a tensor, or numbers that an op takes as a constant
Axis: TypeAlias = int | tuple[int, ...] | None  # one axis, several, or all
Rng: TypeAlias = "np.random.Generator | int | None"  # a source of random numbers, or its seed; None: a fresh one
