"""Waves and turns, by hand; and what makes them positions."""

import numpy as np
import pytest

from blocks import Rotary, Sinusoidal
from minigrad import Tensor
from tests.blocks.checking import assert_all_gradients


@pytest.mark.parametrize("d", [1, 2, 5, 6])
def test_each_wave(d):
    table = Sinusoidal(4, d).table
    for p, j in np.ndindex(4, d):
        angle = p / 10000 ** (2 * (j // 2) / d)
        assert table[p, j] == pytest.approx(np.cos(angle) if j % 2 else np.sin(angle), abs=1e-15)
    assert Sinusoidal(4, d)([[3, 0], [1, 1]]).shape == (2, 2, d)
    assert not Sinusoidal(4, d).parameters()


@pytest.mark.parametrize("pairs", ["neighbours", "halves"])
def test_rotary(pairs):
    rotary = Rotary(6, pairs=pairs)
    x = np.random.default_rng(0).normal(size=(2, 3, 4, 6))
    assert_all_gradients(Placed(rotary), x)
    y = rotary(Tensor(x), np.arange(4)).data
    np.testing.assert_allclose((y**2).sum(-1), (x**2).sum(-1))  # a turn keeps lengths
    np.testing.assert_array_equal(y[..., 0, :], x[..., 0, :])  # position 0 is not turned
    places = np.array([[0, 1, 2, 3], [5, 4, 3, 2]])
    by_sample = rotary(Tensor(x), places).data
    for i in range(2):
        np.testing.assert_array_equal(by_sample[i], rotary(Tensor(x[i]), places[i]).data)


class Placed(Rotary):
    def __init__(self, rotary):
        self.__dict__.update(vars(rotary))

    def forward(self, x):
        return super().forward(x, np.arange(x.shape[-2]))


@pytest.mark.parametrize("pairs", ["neighbours", "halves"])
def test_a_product_depends_on_the_distance_alone(pairs):
    rotary = Rotary(4, pairs=pairs)
    query, key = np.random.default_rng(0).normal(size=(2, 1, 1, 4))
    products = [(rotary(Tensor(query), [p + 3]).data * rotary(Tensor(key), [p]).data).sum() for p in (0, 1, 10, 1000)]
    np.testing.assert_allclose(products, products[0], rtol=1e-10)


def test_pairs_are_those_of_their_name():
    x = Tensor(np.array([[[1.0, 0.0, 0.0, 0.0]]]))
    np.testing.assert_array_equal(Rotary(4)(x, [1]).data != 0, [[[True, True, False, False]]])
    np.testing.assert_array_equal(Rotary(4, pairs="halves")(x, [1]).data != 0, [[[True, False, True, False]]])


def test_wrong_arguments():
    with pytest.raises(ValueError, match='pairs is "neighbours" or "halves"; got \'half\''):
        Rotary(4, pairs="half")
    with pytest.raises(ValueError, match="a head's width must be even; got 3"):
        Rotary(3)


@pytest.mark.parametrize("module", [Rotary(4), Rotary(4, pairs="halves")], ids=["neighbours", "halves"])
def test_float32(module):
    assert module(Tensor(np.ones((1, 2, 4), np.float32)), [0, 1]).dtype == np.float32
