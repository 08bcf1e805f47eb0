"""Plain arrays: broadcasting undone, and data protected."""

import itertools

import numpy as np
import pytest

from minigrad.arrays import as_array, sum_to_shape

SHAPES = [(), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3), (4, 1, 3), (1, 2, 1), (0, 3), (2, 0)]


@pytest.mark.parametrize(("small", "large"), list(itertools.product(SHAPES, SHAPES)))
def test_sum_to_shape_is_the_transpose_of_broadcasting(small, large):
    """<sum_to_shape(g), x> = <g, broadcast(x)> for all x and g, or an error where x does not broadcast to g."""
    rng = np.random.default_rng(0)
    g, x = rng.standard_normal(large), rng.standard_normal(small)
    try:
        repeated = np.broadcast_to(x, large)
    except ValueError:
        with pytest.raises(ValueError, match="does not broadcast to that"):
            sum_to_shape(g, small)
        return
    summed = sum_to_shape(g, small)
    assert summed.shape == small
    np.testing.assert_allclose((summed * x).sum(), (g * repeated).sum(), atol=1e-12)


def test_as_array_takes_a_dtype():
    assert as_array([1, 2], np.float32).dtype == np.float32
    assert as_array(np.ones(2, np.float32)).dtype == np.float32
    assert as_array(3, np.int64).dtype == np.int64
    with pytest.raises(TypeError, match="got str that NumPy reads as"):
        as_array("1.5", np.float64)
    with pytest.raises(TypeError, match="got NoneType that NumPy reads as object"):
        as_array(None, np.float64)
