"""The gradient's parts: exact, complete, and independent of what was computed before."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from blocks import Stack, TransformerBlock, gradient_faults, gradient_paths, lesson_block, residual_gradients
from minigrad import Module, Tensor, layer_norm, residual_add, scope, where
from minigrad.backprop import topological_order
from minigrad.ops.activations import Tanh
from minigrad.residuals import GradientPaths, ResidualGradient, ResidualGradients

REFERENCE = json.loads((Path(__file__).parent / "lesson_reference.json").read_text(encoding="utf-8"))
LESSON_WEIGHTS = np.arange(12.0).reshape(3, 4) / 10


def weighted_loss(y, seed=0):
    return (y * np.random.default_rng(seed).normal(size=y.shape).astype(y.dtype)).sum()


def random_input(*shape, seed=0, dtype=np.float64):
    return Tensor(np.random.default_rng(seed).normal(size=shape).astype(dtype), requires_grad=True, name="x")


def assert_equal_parts(parts, whole, rtol):
    np.testing.assert_allclose(sum(parts), whole, rtol=rtol, atol=rtol * np.abs(whole).max())


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_lessons_block_agrees_with_pytorch(norm):
    block, x = lesson_block(norm)
    expected = REFERENCE[norm]
    y = block(x)
    loss = (y * LESSON_WEIGHTS).sum()
    loss.backward()
    np.testing.assert_allclose(y.data, expected["output"], rtol=1e-10)
    np.testing.assert_allclose(loss.data, expected["loss"], rtol=1e-10)
    np.testing.assert_allclose(x.grad, expected["grad"], rtol=1e-10, atol=1e-12)
    for route, part in gradient_paths(loss, x, by="route").items():
        np.testing.assert_allclose(part, expected["routes"][" ".join(route)], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("norm", ["post", "pre", None])
@pytest.mark.parametrize("seed", range(3))
def test_parts_sum_to_the_gradient_at_every_tensor(norm, dtype, rtol, seed):
    stack = Stack(2, 8, 2, 16, norm=norm, causal=seed == 1, dtype=dtype, rng=seed)
    x = random_input(2, 5, 8, seed=seed, dtype=dtype)
    h = stack.blocks[0](x)
    loss = weighted_loss(stack.blocks[1](h))
    loss.backward()
    for tensor in (x, h):
        for by in ("route", "length"):
            parts = gradient_paths(loss, tensor, by)
            assert all(part.dtype == dtype and part.shape == tensor.shape for part in parts.values())
            assert_equal_parts(parts.values(), tensor.grad, rtol)
        residuals = residual_gradients(loss, tensor)
        assert_equal_parts((residuals[0].skip, residuals[0].branch), residuals[0].total, rtol)
    first = residual_gradients(loss, x)[0]
    if norm != "pre":
        assert_equal_parts((first.skip, first.branch), x.grad, rtol)


def test_residuals_come_in_order_from_the_input_with_their_names():
    stack = Stack(2, 4, 1, 8, rng=0)
    x = random_input(3, 4)
    names = [residual.name for residual in residual_gradients(weighted_loss(stack(x)), x)]
    assert names == [
        "blocks.0.attention_residual",
        "blocks.0.feed_forward_residual",
        "blocks.1.attention_residual",
        "blocks.1.feed_forward_residual",
    ]


def test_total_is_the_gradient_at_the_residuals_input():
    """Measured with finite differences on the second residual's input, which is an inner tensor."""
    block, x = lesson_block()
    h = block.attention_norm(x + block.attention(x)).detach().data
    leaf = Tensor(h, requires_grad=True)

    def loss_of(h):
        return (block.feed_forward_norm(residual_add(h, block.feed_forward(h), "second")) * LESSON_WEIGHTS).sum()

    (residual,) = residual_gradients(loss_of(leaf), leaf)
    for index in np.ndindex(h.shape):
        step = np.zeros_like(h)
        step[index] = 1e-6
        slope = (loss_of(Tensor(h + step)).item() - loss_of(Tensor(h - step)).item()) / 2e-6
        assert residual.total[index] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    np.testing.assert_allclose(residual.total, residual.skip + residual.branch, rtol=1e-12)


def test_no_backward_is_needed_and_no_gradient_is_touched():
    block, x = lesson_block()
    loss = (block(x) * LESSON_WEIGHTS).sum()
    before = residual_gradients(loss, x)[0].total
    gradient_paths(loss, x)
    assert x.grad is None
    assert loss.op.grad_inputs is None
    loss.backward()
    kept = x.grad.copy()
    np.testing.assert_array_equal(residual_gradients(loss, x)[0].total, before)
    np.testing.assert_array_equal(x.grad, kept)


def test_parts_are_writable_only_where_nobody_else_reads_them():
    block, x = lesson_block("pre")
    loss = (block(x) * LESSON_WEIGHTS).sum()
    first = residual_gradients(loss, x)
    first[0].skip[...] = 0
    assert np.abs(residual_gradients(loss, x)[0].skip).max() > 0


class ParallelBlock(Module):
    """Attention's place and the feed-forward's place stand side by side, behind one shared norm."""

    def forward(self, x):
        h = layer_norm(x)
        return residual_add(residual_add(x, h.tanh(), "one"), h.gelu() * 2, "two")


def test_parallel_branches_behind_a_shared_norm():
    x = random_input(3, 4)
    loss = weighted_loss(ParallelBlock()(x))
    loss.backward()
    routes = gradient_paths(loss, x)
    assert set(routes) == {("skip", "skip"), ("branch", "skip"), ("-", "branch")}
    assert_equal_parts(routes.values(), x.grad, 1e-12)
    # The same branches cut by hand.
    leaf = random_input(3, 4)
    weighted_loss(layer_norm(leaf).gelu() * 2).backward()
    np.testing.assert_allclose(routes["-", "branch"], leaf.grad, rtol=1e-12)
    one, two = residual_gradients(loss, x)
    assert_equal_parts((one.skip, one.branch), routes["skip", "skip"] + routes["branch", "skip"], 1e-12)
    np.testing.assert_allclose(two.branch, leaf.grad, rtol=1e-12)  # its ways part at x, not at the first one's sum
    np.testing.assert_allclose(two.skip, one.total, rtol=1e-12)


def test_a_hundred_parallel_blocks_cost_no_more_than_a_hundred_times_one():
    """Each branch begins before its residual's skip does; the labels of such parts must not multiply."""
    x = random_input(2, 4)
    y = x
    for _ in range(100):
        h = layer_norm(y)
        y = residual_add(residual_add(y, h.tanh() * 0.1, "one"), h.gelu() * 0.1, "two")
    residuals = residual_gradients(weighted_loss(y), x)
    assert len(residuals) == 200
    for one, two in zip(residuals[::2], residuals[1::2], strict=True):
        np.testing.assert_allclose(two.skip, one.total, rtol=1e-12)
        assert np.abs(two.branch).max() > 0


class CountedTanh(Tanh):
    """Counts how often its rule runs."""

    calls = 0

    def backward(self, grad_y):
        CountedTanh.calls += 1
        return super().backward(grad_y)


@pytest.mark.parametrize("n", [1, 4, 14, 40])
def test_res_b_an_input_added_again_at_each_residual_costs_at_most_one_pass_for_each(n, monkeypatch):
    """2^n labels before; the sums that are asked for are 2 n, and at most one is open for each block passed."""
    x = random_input(2, 4)
    z = x
    for k in range(n):
        z = residual_add(z, residual_add(x, CountedTanh()(z) * 0.5, f"again{k}"), f"on{k}")
    loss = weighted_loss(z)
    monkeypatch.setattr(CountedTanh, "calls", 0)
    residuals = {residual.name: residual for residual in residual_gradients(loss, x)}
    assert CountedTanh.calls <= n * (n + 1)  # n tanh, each at most once for the whole and for each residual behind it
    assert len(residuals) == 2 * n

    loss.backward()
    results = {tensor.op.path: tensor for tensor in topological_order(loss) if tensor.op is not None}
    grads = [(results[f"on{k}"].grad, results[f"again{k}"].grad) for k in range(n)]
    close = {"rtol": 1e-12, "atol": 1e-12}
    for k, (grad_on, grad_again) in enumerate(grads):
        through = grad_again * 0.5 * (1 - results[f"on{k}"].op.inputs[0].tanh().data ** 2)
        np.testing.assert_allclose(residuals[f"on{k}"].skip, grad_on, **close)
        np.testing.assert_allclose(residuals[f"again{k}"].skip, grad_again, **close)
        np.testing.assert_allclose(residuals[f"on{k}"].branch, through + (grad_again if k == 0 else 0), **close)
        x.grad = None
        results[f"again{k}"].op.inputs[1].backward(grad_again)  # a pass of its own, which begins at the branch
        np.testing.assert_allclose(residuals[f"again{k}"].branch, x.grad, **close)


def test_res_b_in_a_row_and_nested_every_rule_runs_once(monkeypatch):
    x = random_input(2, 4)
    y = x
    for _ in range(5):
        inner = residual_add(y, CountedTanh()(y), "inner")
        y = residual_add(y, CountedTanh()(inner), "outer")
    monkeypatch.setattr(CountedTanh, "calls", 0)
    residual_gradients(weighted_loss(y), x)
    assert CountedTanh.calls == 10


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e155, 1e300])
def test_res_d_shares_and_cosine_do_not_depend_on_the_gradients_scale(scale):
    x = Tensor([3.0, 4.0], requires_grad=True)
    loss = (residual_add(x, x * -0.5, "half") * scale).sum()
    (residual,) = residual_gradients(loss, x)
    assert (residual.skip_share, residual.branch_share, residual.cosine) == pytest.approx((2, -1, -1), rel=1e-12)
    assert f"{2**0.5 * scale:.4g}" in repr(residual)
    assert "100.0%" in str(gradient_paths(loss, x))
    assert "inf" not in str(residual_gradients(loss, x))
    assert "nan" not in str(gradient_paths(loss, x, by="length"))


def test_a_where_inside_a_branch_keeps_its_zeros():
    """The side that `where` did not take gets exactly 0, in every part; its root has a safe input, see why()."""
    x = Tensor([0.0, 0.0, 4.0], requires_grad=True)
    y = residual_add(x, where(x.data > 0, where(x.data > 0, x, 1.0).sqrt(), 0.0), "root")
    loss = residual_add(y, y.tanh(), "squash").sum()
    loss.backward()
    for by in ("route", "length"):
        assert_equal_parts(gradient_paths(loss, x, by).values(), x.grad, 1e-12)
    (root, _) = residual_gradients(loss, x)
    np.testing.assert_array_equal(root.branch[:2], 0)


@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero) encountered:RuntimeWarning")  # 0 * inf, wanted here
def test_a_gradient_that_is_nan_has_nan_in_the_part_that_made_it():
    x = Tensor([0.0, 4.0], requires_grad=True)
    loss = residual_add(x, where(x.data > 0, x.sqrt(), 0.0), "root").sum()
    loss.backward()
    routes = gradient_paths(loss, x)
    np.testing.assert_array_equal(np.isnan(x.grad), [True, False])
    np.testing.assert_array_equal(np.isnan(routes["branch",]), [True, False])
    np.testing.assert_array_equal(routes["skip",], [1, 1])
    np.testing.assert_array_equal(sum(routes.values()), x.grad)


def test_residual_inside_a_branch():
    x = random_input(3, 4)

    def branch(x):
        inner = residual_add(x, x.tanh(), "inner")
        return inner * 3

    loss = weighted_loss(residual_add(x, branch(x), "outer"))
    loss.backward()
    inner, outer = residual_gradients(loss, x)
    assert (inner.name, outer.name) == ("inner", "outer")
    assert_equal_parts((outer.skip, outer.branch), x.grad, 1e-12)
    np.testing.assert_allclose(outer.branch, inner.total, rtol=1e-12)
    routes = gradient_paths(loss, x)
    assert set(routes) == {("-", "skip"), ("skip", "branch"), ("branch", "branch")}
    assert_equal_parts(routes.values(), x.grad, 1e-12)


def test_shared_weights_and_one_tensor_read_by_two_losses():
    block = TransformerBlock(4, 2, 8, norm="pre", rng=0)
    x = random_input(3, 4)
    h = block(x)
    loss = weighted_loss(block(h), seed=1) + weighted_loss(h, seed=2)
    loss.backward()
    for by in ("route", "length"):
        assert_equal_parts(gradient_paths(loss, x, by).values(), x.grad, 1e-12)
    residuals = residual_gradients(loss, x)
    assert_equal_parts((residuals[0].skip, residuals[0].branch), x.grad, 1e-12)
    assert len(residuals) == 4
    names = list(gradient_paths(loss, x, "residual"))
    assert names == [residual.name for residual in residuals]
    assert names[2] == "block.attention_residual #2"


def test_by_residual_is_what_passed_its_branch():
    stack = Stack(2, 4, 1, 8, norm="pre", rng=3)
    x = random_input(3, 4)
    loss = weighted_loss(stack(x))
    routes = gradient_paths(loss, x)
    for i, part in enumerate(gradient_paths(loss, x, "residual").values()):
        through = sum(grad for route, grad in routes.items() if route[i] == "branch")
        np.testing.assert_allclose(part, through, rtol=1e-10, atol=1e-13)


def test_by_length_sums_the_routes_of_that_length():
    stack = Stack(2, 4, 1, 8, rng=3)
    x = random_input(3, 4)
    loss = weighted_loss(stack(x))
    routes = gradient_paths(loss, x)
    lengths = gradient_paths(loss, x, "length")
    assert list(lengths) == [0, 1, 2, 3, 4]
    for length, part in lengths.items():
        of_length = sum(grad for route, grad in routes.items() if route.count("branch") == length)
        np.testing.assert_allclose(part, of_length, rtol=1e-10, atol=1e-13)


def test_without_residuals_the_whole_gradient_is_one_part():
    block = TransformerBlock(4, 1, 8, residual=False, rng=0)
    x = random_input(3, 4)
    loss = weighted_loss(block(x))
    loss.backward()
    assert residual_gradients(loss, x) == []
    assert "no residual" in str(residual_gradients(loss, x))
    for by, key in (("route", ()), ("length", 0)):
        parts = gradient_paths(loss, x, by)
        assert list(parts) == [key]
        np.testing.assert_allclose(parts[key], x.grad, rtol=1e-12)
        assert "100.0%" in str(parts)
    assert gradient_paths(loss, x, "residual") == {}


def test_loss_that_is_no_single_number():
    block, x = lesson_block()
    y = block(x)
    with pytest.raises(ValueError, match="single number"):
        residual_gradients(y, x)
    routes = gradient_paths(y, x, grad=LESSON_WEIGHTS)
    y.backward(LESSON_WEIGHTS)
    assert_equal_parts(routes.values(), x.grad, 1e-12)
    np.testing.assert_array_equal(gradient_paths(y, y, grad=LESSON_WEIGHTS)[()], LESSON_WEIGHTS)


def test_bad_input_is_named():
    block, x = lesson_block()
    loss = (block(x) * LESSON_WEIGHTS).sum()
    other = Tensor([1.0], requires_grad=True, name="other")
    for split in (residual_gradients, gradient_paths):
        with pytest.raises(ValueError, match=r"does not depend on .*'other'"):
            split(loss, other)
        with pytest.raises(ValueError, match="requires_grad=True"):
            split(loss, Tensor([1.0]))
        with pytest.raises(TypeError, match="must be tensors"):
            split(loss, x.data)
    with pytest.raises(ValueError, match="route, length, residual"):
        gradient_paths(loss, x, by="depth")


def test_too_many_routes_are_refused_with_their_number():
    stack = Stack(7, 4, 1, 8, rng=0)
    x = random_input(2, 4)
    loss = weighted_loss(stack(x))
    with pytest.raises(ValueError, match=r'14 residuals make 2\^14 routes.*by="length"'):
        gradient_paths(loss, x)
    assert len(gradient_paths(loss, x, "length")) == 15


def test_a_skip_that_delivers_nothing_is_zero_not_missing():
    x = random_input(3, 4)
    h = x * 2
    loss = weighted_loss(residual_add(h.detach(), h.tanh(), "cut"))
    loss.backward()
    routes = gradient_paths(loss, x)
    assert set(routes) == {("branch",)}
    np.testing.assert_allclose(routes["branch",], x.grad, rtol=1e-12)
    assert residual_gradients(loss, x) == []  # no gradient arrives at its input, and gradient_faults says why


def test_names_come_from_scopes_and_labels():
    x = random_input(2, 2)
    with scope("mine"):
        y = residual_add(x, x.tanh(), "squash")
    assert [r.name for r in residual_gradients(weighted_loss(y), x)] == ["mine.squash"]


def test_tables_say_what_they_show():
    block, x = lesson_block()
    loss = (block(x) * LESSON_WEIGHTS).sum()
    table = str(residual_gradients(loss, x))
    for word in ("|skip|", "|branch|", "cosine", "block.attention_residual", "block.feed_forward_residual"):
        assert word in table
    routes = str(gradient_paths(loss, x))
    for route in itertools.product(("skip", "branch"), repeat=2):
        assert any(line.split()[:2] == list(route) for line in routes.splitlines())
    assert "100.0%" in routes
    assert "branches passed" in str(gradient_paths(loss, x, "length"))
    assert "overlap" in str(gradient_paths(loss, x, "residual"))


def test_shares_and_cosine_of_parts_known_by_hand():
    x = Tensor([3.0, 4.0], requires_grad=True)
    loss = residual_add(x, x * -0.5, "half").sum()
    (residual,) = residual_gradients(loss, x)
    np.testing.assert_array_equal(residual.skip, [1, 1])
    np.testing.assert_array_equal(residual.branch, [-0.5, -0.5])
    assert residual.skip_share == 2
    assert residual.branch_share == -1
    assert residual.cosine == pytest.approx(-1)
    assert repr(residual) == "<residual half: |skip|=1.414, |branch|=0.7071>"


def test_res_a_a_scaled_skip_parts_where_it_was_scaled():
    rng = np.random.default_rng(0)
    x, W = random_input(3, 4), Tensor(rng.normal(size=(4, 4)))
    skip = Tensor(x.data, requires_grad=True)
    branch = Tensor(x.data, requires_grad=True)
    weighted_loss(skip * 1.5).backward()
    weighted_loss((branch @ W).tanh()).backward()
    loss = weighted_loss(residual_add(x * 1.5, (x @ W).tanh(), "deepnorm"))
    for given in (x, None):
        (residual,) = residual_gradients(loss, given)
        np.testing.assert_allclose(residual.skip, skip.grad, rtol=1e-12)
        np.testing.assert_allclose(residual.branch, branch.grad, rtol=1e-12)
        paths = gradient_paths(loss, given)
        np.testing.assert_allclose(paths["skip",], residual.skip, rtol=1e-12)
        np.testing.assert_allclose(paths["branch",], residual.branch, rtol=1e-12)
    assert gradient_faults(loss, x) == []


@pytest.mark.parametrize("way", ["projected", "normed", "parallel", "gated"])
def test_res_a_other_skips_that_part_further_back(way):
    rng = np.random.default_rng(0)
    h, P, W = random_input(3, 4), Tensor(rng.normal(size=(4, 4))), Tensor(rng.normal(size=(4, 4)))
    x = h * 1.0

    def branch(x):
        return (x @ W).tanh()

    def skip(x):
        if way == "projected":
            return x @ P
        if way == "normed":
            return layer_norm(x)
        if way == "gated":
            return x * x.sigmoid()
        return residual_add(x, x.sin(), "first")

    loss = weighted_loss(residual_add(skip(x), branch(x), "last"))
    residual = residual_gradients(loss, h)[-1]
    for part, f in ((residual.skip, skip), (residual.branch, branch)):
        leaf = Tensor(x.data, requires_grad=True)
        weighted_loss(f(leaf)).backward()
        np.testing.assert_allclose(part, leaf.grad, rtol=1e-12)
    loss.backward()
    np.testing.assert_allclose(residual.total, x.grad, rtol=1e-12)


def test_a_deep_stack_of_scaled_skips_sums_to_the_gradient_at_each_input():
    x = h = random_input(3, 4)
    inputs = []
    for k in range(12):
        inputs.append(h)
        h = layer_norm(residual_add(h * 1.5, CountedTanh()(h), f"r{k}"))
    loss = weighted_loss(h)
    loss.backward()
    CountedTanh.calls = 0
    for residual, at in zip(residual_gradients(loss, x), inputs, strict=True):
        np.testing.assert_allclose(residual.total, at.grad, rtol=1e-10, atol=1e-14)
    assert CountedTanh.calls == 12


def test_res_e_a_plain_sum_is_found_by_its_structure_and_named_with_its_line():
    x = random_input(3, 4)
    y = x + x.tanh()
    z = y.sin() + y
    loss = weighted_loss(z * 2 + 1.0)
    loss.backward()
    line = y.op.lineno
    said = str(residual_gradients(loss, x))
    assert "made with residual_add" in said
    assert f"test_split.py:{line} and 1 more looks like one" in said.replace(",", "")
    first, second = residual_gradients(loss, x, plain_sums=True)
    assert first.name == f"add (test_split.py:{line})"
    assert second.name == f"add (test_split.py:{line + 1})"
    assert_equal_parts((first.skip, first.branch), x.grad, 1e-12)
    assert_equal_parts((second.skip, second.branch), y.grad, 1e-12)
    np.testing.assert_array_equal(second.skip, z.grad)
    marked_y = residual_add(x, x.tanh())
    marked = weighted_loss(residual_add(marked_y, marked_y.sin()) * 2 + 1.0)
    for by in ("route", "length"):
        found, expected = gradient_paths(loss, by=by, plain_sums=True), gradient_paths(marked, by=by)
        assert list(found) == list(expected)
        for part, other in zip(found.values(), expected.values(), strict=True):
            np.testing.assert_allclose(part, other, rtol=1e-12)
    assert f"test_split.py:{line}" in gradient_faults(loss, x).checked


def test_sums_of_two_results_are_no_residuals():
    x = random_input(3, 4)
    W = Tensor(np.eye(4), requires_grad=True)
    loss = weighted_loss((x.tanh() + x.sin()) @ W + 1.0)
    assert residual_gradients(loss, x, plain_sums=True) == []
    assert "looks like" not in str(residual_gradients(loss, x))
    assert residual_gradients(weighted_loss(x + x), x, plain_sums=True) == []


def test_res_f_words_and_shares_of_a_row_agree():
    def row(skip, branch):
        return str(ResidualGradients([ResidualGradient("r", np.array(skip), np.array(branch))])).splitlines()[4]

    assert " ".join(row([1.0, 3.0], [1.0, -2.0]).split()) == "r 2.236 3.162 2.236 100% 0% -0.71 they cancel in part"
    assert " ".join(row([1.0, 2.0], [1.0, -1.5]).split()[4:]) == "71% 29% -0.50 they cancel in part"
    assert row([1.0, 0.0], [-0.5, 0.1]).endswith("the branch opposes")
    assert row([-0.5, 0.1], [1.0, 0.0]).endswith("the skip opposes")
    assert row([1.0, 0.0], [1.0, 0.1]).endswith("they add up")
    assert "-0%" not in row([1.0, 0.0], [-0.001, 1.0])
    assert "-0.0%" not in str(GradientPaths({0: np.array([1.0, 0.0]), 1: np.array([-1e-5, 1.0])}, "length", ["r"]))


def test_res_f_routes_come_by_size_and_the_rest_is_one_line():
    stack = Stack(6, 4, 1, 8, norm="pre", rng=0)
    x = random_input(2, 4)
    routes = gradient_paths(weighted_loss(stack(x)), x)
    assert len(routes) == 4096
    lines = str(routes).splitlines()
    assert len(lines) < 30
    assert max(map(len, lines)) <= 112
    parts = [float(line.split()[1]) for line in lines[4:20]]
    assert parts == sorted(parts, reverse=True)
    shares = [float(line.split()[-1].rstrip("%")) for line in lines[4:21]]
    assert lines[20].startswith("4,080 others")
    assert sum(shares) == pytest.approx(100, abs=1)
    assert "sBssss" in str(routes.table(rows=None))
    assert routes._repr_html_().count("<tr>") == 19
    assert routes.to_dicts()[0]["route"] == ("skip",) * 12
    assert sum(row["share"] for row in routes.to_dicts()) == pytest.approx(1, abs=1e-10)


def test_a_table_in_a_notebook_escapes_what_a_user_wrote():
    x = random_input(2, 2)
    residuals = residual_gradients(weighted_loss(residual_add(x, x.tanh(), "<b>&")), x)
    assert "&lt;b&gt;&amp;" in residuals._repr_html_()
    assert "<b>&" not in residuals._repr_html_().replace("<p><b>", "")
    assert residuals.to_dicts()[0]["name"] == "<b>&"
