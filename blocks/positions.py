"""How a model knows the order of its tokens: a wave added to each embedding, or each query and key turned.

The third way, a learned row for each position, is an `Embedding` like that of the tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from minigrad import Module, Tensor, concatenate, stack


class Sinusoidal(Module):
    """Position p as d waves of falling frequency (Vaswani et al. 2017, section 3.5). It has no parameters.

    wave[p, 2i] = sin(p w_i),   wave[p, 2i + 1] = cos(p w_i),   w_i = 10000^(-2i / d).   An odd d ends with a sine.

    Attributes:
        table: the waves, (n_positions, d).

    >>> Sinusoidal(3, 5)([0, 1]).data.round(3)
    array([[0.   , 1.   , 0.   , 1.   , 0.   ],
           [0.841, 0.54 , 0.025, 1.   , 0.001]])
    """

    def __init__(self, n_positions: int, d: int, *, dtype: DTypeLike = np.float64):
        angles = np.arange(n_positions)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)  # (n_positions, ceil(d / 2))
        table = np.empty((n_positions, d), dtype)
        table[:, 0::2] = np.sin(angles)
        table[:, 1::2] = np.cos(angles)[:, : d // 2]
        self.table = table

    def forward(self, position_ids: ArrayLike) -> Tensor:
        """The waves of these positions: (..., T) integers to a constant (..., T, d)."""
        return Tensor(self.table[np.asarray(position_ids)])


class Rotary(Module):
    """Pairs of numbers, each turned by an angle that grows with the position (Su et al. 2021, section 3.2.2).

    (a, b) becomes (a cos t - b sin t, a sin t + b cos t) with t = p w_i at position p, and w_i = base^(-2i / d) for
    pair i. A query's product with a key then depends on how far apart the two are, and not on where they are. There are
    no parameters, and a turn keeps lengths, so the gradient is turned back by the same angle and keeps its length too.

    Args:
        d: width of a head; it must be even.
        pairs: "neighbours" pairs number 2i with 2i + 1, as the paper does; "halves" pairs i with i + d / 2, as
            GPT-NeoX and Llama do in most libraries. Weights trained with one are wrong with the other.
        base: how slowly the slowest pair turns; the larger, the further the positions it can tell apart.

    Raises:
        ValueError: an odd d; another word for `pairs`.

    >>> Rotary(2)(Tensor([[[1.0, 0.0], [1.0, 0.0]]]), [0, 1]).data.round(3)
    array([[[1.   , 0.   ],
            [0.54 , 0.841]]])
    """

    def __init__(self, d: int, *, pairs: str = "neighbours", base: float = 10000.0):
        if pairs not in ("neighbours", "halves"):
            raise ValueError(f'Rotary: pairs is "neighbours" or "halves"; got {pairs!r}')
        if d % 2:
            raise ValueError(f"Rotary: numbers are turned in pairs, so a head's width must be even; got {d}")
        self.pairs = pairs
        self.frequencies = base ** (-np.arange(0, d, 2) / d)  # (d / 2,)

    def forward(self, x: Tensor, position_ids: ArrayLike) -> Tensor:
        """Queries or keys x (..., H, T, d), turned by position_ids (T,) or (..., T)."""
        angles = np.asarray(position_ids)[..., None, :, None] * self.frequencies  # (..., 1, T, d / 2)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        if self.pairs == "neighbours":
            a, b = x[..., 0::2], x[..., 1::2]  # (..., H, T, d / 2)
            return stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)
        half = x.shape[-1] // 2
        a, b = x[..., :half], x[..., half:]  # (..., H, T, d / 2)
        return concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
