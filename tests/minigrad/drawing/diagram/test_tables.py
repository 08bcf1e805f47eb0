"""Arrays as numbers, heat maps and statistics, in the cells of a label."""

import numpy as np
import pytest

from minigrad.drawing.colors import NEGATIVE, NOT_FINITE, POSITIVE, shade
from minigrad.drawing.diagram import tables


@pytest.mark.parametrize(
    ("shape", "values", "form"),
    [
        ((), "auto", "numbers"),
        ((3, 4), "auto", "numbers"),
        ((4, 8), "auto", "heatmap"),
        ((2, 3, 4, 5), "auto", "heatmap"),
        ((33,), "auto", "statistics"),
        ((1000, 1000), "auto", "statistics"),
        ((0, 3), "auto", "statistics"),
        ((4, 8), "numbers", "numbers"),
        ((100, 100), "numbers", "statistics"),
        ((2, 2), "heatmap", "heatmap"),
        ((), "heatmap", "numbers"),
        ((2, 2), "statistics", "statistics"),
    ],
)
def test_the_form_of_an_array(shape, values, form):
    assert tables.form_of(np.ones(shape), values) == form


def test_the_scale_is_symmetric_with_white_at_0():
    assert shade(0.0, 5.0) == "#ffffff"
    assert shade(5.0, 5.0) == POSITIVE
    assert shade(-5.0, 5.0) == NEGATIVE
    assert shade(0.0, 0.0) == "#ffffff"


def test_each_cell_of_a_heat_map_has_the_colour_of_its_number():
    array = np.array([[1.0, -2.0], [0.0, np.nan]])
    markup = tables.array_cell("value", array, "heatmap")
    expected = [shade(1.0, 2.0), shade(-2.0, 2.0), shade(0.0, 2.0), NOT_FINITE]
    positions = [markup.index(f'BGCOLOR="{color}"') for color in expected]
    assert positions == sorted(positions)
    assert markup.count("BGCOLOR") == 4
    assert "±2" in markup


@pytest.mark.parametrize(
    ("number", "says"), [(0.0, "all 0"), (np.nan, "all NaN"), (np.inf, "0, NaN or inf"), (2.0, "±2")]
)
def test_an_array_without_a_scale_says_what_is_in_it(number, says):
    assert f"value {says}<" in tables.array_cell("value", np.full((5, 5), number), "auto")


def test_a_nan_alone_is_marked_as_one_among_others():
    assert NOT_FINITE in tables.array_cell("value", np.array(np.nan), "auto")


@pytest.mark.parametrize("array", [np.array([True, False]), np.array([1, -2]), np.array(3), np.float32([1e-30, 1e30])])
def test_any_dtype_can_be_shown(array):
    for values in ("numbers", "heatmap", "statistics"):
        assert tables.array_cell("value", array, values).startswith("<TD")


def test_extreme_numbers_stay_short():
    for value in (1e300, -1e-300, 5e-324, 123456.789, 0.1 + 0.2):
        assert len(tables.aligned(value, abs(value))) <= 9
