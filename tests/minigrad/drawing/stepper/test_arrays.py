"""Arrays in a page: exact where they are small, tiles that hide nothing where they are large."""

import numpy as np
import pytest

from minigrad.drawing.stepper.data import PageArrays, farthest_from_zero, grain_for, numbers


@pytest.mark.parametrize(
    "array",
    [
        np.array(2.5),
        np.array([1e-300, -0.0, np.pi, 1e300]),
        np.array([[np.nan, np.inf], [-np.inf, 5e-324]]),
        np.arange(24.0).reshape(2, 3, 4),
        np.array([1.1, 2.2], np.float32),
        np.array([[1, 2], [3, 4]]),
        np.array([True, False]),
        np.zeros((0, 3)),
        np.arange(60.0).reshape(5, 12).T,
    ],
)
def test_small_arrays_are_exact(array):
    arrays = PageArrays(side=32, whole=1024)
    entry = arrays.entries[arrays.add(array)]
    assert entry["tile"] == [1, 1]
    np.testing.assert_array_equal(numbers(entry["numbers"]), array.ravel().astype(np.float64))
    assert entry["shape"] == list(array.shape)


@pytest.mark.parametrize("shape", [(40, 40), (7, 200), (1, 1000), (90, 1), (65, 65), (3, 5, 90)])
def test_each_tile_shows_its_number_farthest_from_0(shape):
    array = np.random.default_rng(0).normal(size=shape)
    array.ravel()[17] = np.nan
    entry = PageArrays(side=8, whole=64).entry(array)
    rows = array.reshape(-1, shape[-1])
    height, width = entry["tile"]
    assert max(entry["grid"]) <= 8
    shown = numbers(entry["numbers"]).reshape(entry["grid"])
    for i, j in np.ndindex(*entry["grid"]):
        tile = rows[i * height : (i + 1) * height, j * width : (j + 1) * width]
        if np.isnan(tile).any():
            assert np.isnan(shown[i, j])
        else:
            assert shown[i, j] == max(tile.ravel(), key=abs)


def test_infinity_is_farthest():
    assert farthest_from_zero(np.array([[1.0, -np.inf, 5.0]]), 1, 3) == -np.inf


def test_equal_arrays_are_kept_once_and_different_ones_apart():
    arrays = PageArrays(side=32, whole=1024)
    zeros = np.zeros((2, 3))
    assert arrays.add(zeros) == arrays.add(zeros.copy()) == 0
    others = [zeros.T, zeros.reshape(6), zeros.astype(np.float32), -zeros, zeros + 1]
    assert [arrays.add(other) for other in others] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("count", [1, 100, 500, 3000])
@pytest.mark.parametrize("shape", [(50, 50), (8, 16)])
def test_the_budget_is_kept(count, shape):
    array = np.random.default_rng(0).normal(size=shape)
    arrays = PageArrays(*grain_for([array] * count))
    entry = arrays.entry(array)
    assert count * len(numbers(entry["numbers"])) <= 200_000


def test_arrays_of_256_numbers_are_whole_in_a_page_of_a_deep_stack():
    array = np.random.default_rng(0).normal(size=(16, 16))
    arrays = PageArrays(*grain_for([array] * 500 + [np.zeros((64, 64))] * 500))
    assert arrays.entry(array)["tile"] == [1, 1]
