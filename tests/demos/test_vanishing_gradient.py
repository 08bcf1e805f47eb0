"""The claims of demos/vanishing_gradient.py, as numbers."""

import numpy as np

from demos import vanishing_gradient
from demos.vanishing_gradient import DEPTHS, silent_feed_forward, sizes


def geometric_means(wiring, norm):
    return 10 ** np.log10(sizes(wiring, norm, DEPTHS, n_seeds=5)).mean(axis=0)


def test_without_residuals_it_vanishes_and_with_them_it_does_not():
    plain = geometric_means("none", None)
    assert (np.diff(plain) < 0).all()
    assert plain[-1] < 1e-6
    for wiring, norm in (("one", None), ("two", None), ("two", "pre")):
        assert geometric_means(wiring, norm).min() > 0.5
    assert geometric_means("two", None)[-1] > 1e5  # it grows,
    assert geometric_means("two", "pre")[-1] < 100  # and norms hold it back


def test_one_residual_is_not_two():
    assert silent_feed_forward("one") == (2, 0.0)
    routes, gradient = silent_feed_forward("two")
    assert routes == 4
    assert gradient > 1


def test_it_prints_what_it_claims(capsys, tmp_path):
    vanishing_gradient.main(["--seeds", "2", "--plot", str(tmp_path / "vanishing.png")])
    printed = capsys.readouterr().out
    assert "a factor of 0." in printed
    assert "2 routes, |dL/dW| of attention's output map 0\n" in printed
