"""The plots show the numbers that the tables do, name their axes, and need matplotlib only when they are made."""

import subprocess
import sys

import numpy as np
import pytest

from blocks import Stack, gradient_paths, residual_gradients, residual_stream
from minigrad import Tensor
from minigrad.residuals import plots


def loss_and_input(n_blocks=2, norm="pre"):
    rng = np.random.default_rng(0)
    x = Tensor(rng.normal(size=(5, 8)), requires_grad=True)
    y = Stack(n_blocks, 8, 2, 16, norm=norm, rng=0)(x)
    return (y * rng.normal(size=y.shape)).sum(), x


def all_text(figure):
    texts = [figure.get_supxlabel()]
    for axes in figure.axes:
        texts += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
        texts += [label.get_text() for label in axes.get_xticklabels()]
        if axes.get_legend():
            texts += [text.get_text() for text in axes.get_legend().get_texts()]
    return " ".join(" ".join(texts).split())


@pytest.fixture
def matplotlib():
    return pytest.importorskip("matplotlib", reason="plots need matplotlib: pip install matplotlib")


@pytest.mark.usefixtures("matplotlib")
def test_norms_of_skip_branch_and_total():
    loss, x = loss_and_input()
    residuals = residual_gradients(loss, x)
    figure = plots.plot_residual_gradients(residuals)
    total, skip, branch = (line.get_ydata() for line in figure.axes[0].lines)
    for residual, plotted in zip(residuals, zip(total, skip, branch, strict=True), strict=True):
        parts = (residual.skip + residual.branch, residual.skip, residual.branch)
        np.testing.assert_allclose(plotted, [np.sqrt((part**2).sum()) for part in parts], rtol=1e-12)
    text = all_text(figure)
    for word in (
        "loss per unit of h",
        "input (left)",
        "over the skip",
        "through the branch",
        "Each place",
        "blocks.1.",
    ):
        assert word in text


@pytest.mark.usefixtures("matplotlib")
def test_spectrum_of_path_lengths():
    loss, x = loss_and_input()
    loss.backward()
    paths = gradient_paths(loss, x, "length")
    figure = plots.plot_path_lengths(paths)
    norms, shares = ([bar.get_height() for bar in axes.patches] for axes in figure.axes)
    np.testing.assert_allclose(norms, [np.sqrt((part**2).sum()) for part in paths.values()], rtol=1e-12)
    expected = [100 * (part * x.grad).sum() / (x.grad**2).sum() for part in paths.values()]
    np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-9)
    assert sum(shares) == pytest.approx(100)
    text = all_text(figure)
    for word in ("number of branches passed", "percent", "loss per unit of x", "Each bar"):
        assert word in text


@pytest.mark.usefixtures("matplotlib")
def test_many_residuals_and_a_dead_one():
    loss, x = loss_and_input(n_blocks=20)
    assert "number of the residual" in all_text(plots.plot_residual_gradients(residual_gradients(loss, x)))
    residuals = residual_gradients(loss, x)
    residuals[3].branch[...] = 0
    assert plots.plot_residual_gradients(residuals).axes[0].get_yscale() == "linear"


@pytest.mark.usefixtures("matplotlib")
@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_saving(tmp_path, suffix, start):
    loss, x = loss_and_input()
    path = tmp_path / f"lengths.{suffix}"
    plots.plot_path_lengths(gradient_paths(loss, x, "length"), path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        plots.plot_residual_gradients(residual_gradients(loss, x), tmp_path / "missing" / "plot.png")


@pytest.mark.usefixtures("matplotlib")
def test_what_cannot_be_plotted_is_named():
    loss, x = loss_and_input()
    with pytest.raises(TypeError, match=r"residual_gradients\(loss, x\); got Tensor"):
        plots.plot_residual_gradients(loss)
    with pytest.raises(ValueError, match="by='route'"):
        plots.plot_path_lengths(gradient_paths(loss, x))
    with pytest.raises(ValueError, match="no residual"):
        plots.plot_residual_gradients(residual_gradients((x * 2).sum(), x))


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    loss, x = loss_and_input()
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plots.plot_path_lengths(gradient_paths(loss, x, "length"))


def test_importing_the_blocks_loads_no_matplotlib():
    code = "import sys, blocks, minigrad.residuals.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.usefixtures("matplotlib")
def test_what_was_written_as_bars_along_depth(tmp_path):
    stream = residual_stream(loss_and_input()[0])
    figure = plots.plot_residual_stream(stream, tmp_path / "stream.png")
    bars = [bar.get_height() for bar in figure.axes[0].patches]
    writes = [stream.start, *stream]
    np.testing.assert_allclose(bars, [w.direct for w in writes] + [w.indirect for w in writes])
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [w.effect for w in writes])
    heights = [bar.get_height() for bar in figure.axes[1].patches]
    np.testing.assert_allclose(heights, [np.linalg.norm(w.written) for w in writes])
    for word in ("effect on the loss", "|written|", "|stream|", "blocks.0.attention_residual", "norm_scale='true'"):
        assert word in all_text(figure)
    assert (tmp_path / "stream.png").stat().st_size > 1000
    many = plots.plot_residual_stream(residual_stream(loss_and_input(n_blocks=20)[0]))
    assert "number of the residual" in all_text(many)


@pytest.mark.usefixtures("matplotlib")
def test_what_was_written_token_by_token():
    stream = residual_stream(loss_and_input()[0])
    figure = plots.plot_residual_stream(stream, by="token")
    shown = figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(shown, [w.effect_by_token for w in (stream.start, *stream)])
    with pytest.raises(ValueError, match='"residual" or "token"'):
        plots.plot_residual_stream(stream, by="head")
    with pytest.raises(TypeError, match="residual_stream"):
        plots.plot_residual_stream([])


@pytest.mark.usefixtures("matplotlib")
def test_shares_as_bars():
    residuals = residual_gradients(*loss_and_input(n_blocks=6))
    figure = plots.plot_residual_gradients(residuals, by="share")
    [skip, branch] = figure.axes[0].containers
    np.testing.assert_allclose([bar.get_height() for bar in skip], [100 * one.skip_share for one in residuals])
    np.testing.assert_allclose([bar.get_height() for bar in branch], [100 * one.branch_share for one in residuals])
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == list("012345")
    assert "in each attention, then feed forward" in all_text(figure)
    with pytest.raises(ValueError, match='by is "norm" or "share"'):
        plots.plot_residual_gradients(residuals, by="shares")
