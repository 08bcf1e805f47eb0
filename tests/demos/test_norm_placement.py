"""Theorem 1 of Xiong et al. 2020, with the means over seeds as far from it as their errors allow."""

import numpy as np
import pytest

from demos import norm_placement
from demos.norm_placement import DEPTHS, THEOREM, Slope, fitted_slope, measure

SEEDS = 10


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_slopes_agree_with_the_theorem(norm):
    gradients, deviations = measure(norm, DEPTHS, SEEDS)
    slope = fitted_slope(DEPTHS, gradients)
    assert slope.error < 0.05  # small enough to tell 0 from -1/2
    assert abs(slope.value - THEOREM[norm]) < 3 * slope.error
    divided_by = fitted_slope(DEPTHS, deviations)
    assert abs(slope.value + divided_by.value) < 3 * np.hypot(slope.error, divided_by.error)


def test_slope_of_an_exact_power():
    depths = np.array([2, 4, 8])
    sizes = np.array([[3.0], [5.0]]) * depths**-0.5
    slope = fitted_slope(depths, sizes)
    assert slope.value == pytest.approx(-0.5, abs=1e-12)
    assert slope.error == pytest.approx(0, abs=1e-12)
    assert Slope(-0.45, 0.03).agrees_with(-0.5)
    assert not Slope(-0.45, 0.02).agrees_with(-0.5)


def test_it_prints_what_it_claims(capsys, tmp_path):
    norm_placement.main(["--seeds", "3", "--plot", str(tmp_path / "norms.png")])
    printed = capsys.readouterr().out
    assert printed.count("the theorem says") == 2
    assert "theorem says -0.5" in printed
    assert "deviation that the last norm divides by" in printed
