"""Random nets with residuals in odd places: inside branches, side by side, around nothing, read by several losses.

A part is checked against a net in which the other edges were cut, by detaching what they carry: nothing of the tools
under test takes part in that.
"""

import itertools

import numpy as np
import pytest

from blocks import gradient_paths, residual_gradients, residual_stream
from minigrad import Tensor, layer_norm, residual_add
from minigrad.backprop import topological_order

N_NETS = 30
MOST_RESIDUALS = 4
SHAPE = (2, 4)


class Net:
    """A program of random instructions; each reads earlier results, and residuals stand anywhere."""

    def __init__(self, seed, dtype=np.float64, n_steps=12):
        rng = np.random.default_rng(seed)
        self.x = rng.normal(size=SHAPE).astype(dtype)
        self.weights = [(rng.normal(size=(4, 4)) / 2).astype(dtype) for _ in range(2)]  # shared by many steps
        self.loss_weights = [rng.normal(size=SHAPE).astype(dtype) for _ in range(3)]
        self.steps = []
        for n in range(1, n_steps + 1):
            name = rng.choice(["tanh", "gelu", "linear", "norm", "softmax", "multiply", "residual", "residual"])
            if sum(step[0] == "residual" for step in self.steps) == MOST_RESIDUALS and name == "residual":
                name = "tanh"
            recent = [max(0, n - 1 - int(k)) for k in rng.geometric(0.5, size=2) - 1]
            self.steps.append((name, *recent))
        self.readers = (n_steps, n_steps - 1, n_steps // 2)  # three losses

    def run(self, ways=None):
        """x, the loss, and all results. `ways` says for each residual what is kept: "skip", "branch" or "-"."""
        x = Tensor(self.x, requires_grad=True, name="x")
        results, n_residuals = [x], 0
        for name, i, j in self.steps:
            a, b = results[i], results[j]
            if name == "residual":
                way = ways[n_residuals] if ways else None
                skip = a if way in (None, "skip") else a.detach()
                branch = b if way in (None, "branch") else b.detach()
                results.append(residual_add(skip, branch, f"r{n_residuals}"))
                n_residuals += 1
            elif name == "linear":
                results.append(a @ self.weights[i % 2])
            else:
                results.append(STEPS[name](a, b))
        loss = sum((results[n] * w).sum() for n, w in zip(self.readers, self.loss_weights, strict=True))
        return x, loss, results


def norm(a, b):
    return layer_norm(a, eps=0.1)


STEPS = {
    "tanh": lambda a, b: a.tanh(),
    "gelu": lambda a, b: a.gelu(),
    "norm": norm,
    "softmax": lambda a, b: a.softmax() * 3,
    "multiply": lambda a, b: a * b,
}


def gradient(net, ways=None):
    x, loss, _ = net.run(ways)
    if not loss.requires_grad:
        return np.zeros(SHAPE)
    loss.backward()
    return np.zeros(SHAPE) if x.grad is None else x.grad


def independent_parts(net, residuals):
    """The gradient of every route, by cutting alone.

    With the edges cut that a route does not take, what is left is that route and those that take the same way or go
    past ("-") wherever it does: they are smaller, known already, and subtracted.
    """
    n_residuals = sum(step[0] == "residual" for step in net.steps)
    parts = {}
    for route in sorted(itertools.product(("-", "skip", "branch"), repeat=len(residuals)), key=number_of_ways):
        ways = dict(zip(residuals, route, strict=True))
        left = gradient(net, [ways.get(f"r{n}", "-") for n in range(n_residuals)])
        smaller = [
            part for other, part in parts.items() if all(o in ("-", w) for o, w in zip(other, route, strict=True))
        ]
        parts[route] = left - sum(smaller, np.zeros(SHAPE))
    return parts


def number_of_ways(route):
    return len(route) - route.count("-")


@pytest.mark.parametrize("seed", range(N_NETS))
def test_each_part_is_the_gradient_with_the_other_edges_cut(seed):
    net = Net(seed)
    x, loss, _ = net.run()
    routes = gradient_paths(loss, x)
    expected = independent_parts(net, routes.residuals)
    size = max(np.abs(part).max() for part in expected.values())
    close = {"rtol": 1e-10, "atol": 1e-12 * size}
    for route, part in expected.items():
        np.testing.assert_allclose(routes.get(route, np.zeros(SHAPE)), part, **close)

    for length, part in gradient_paths(loss, x, "length").items():
        of_length = [grad for route, grad in expected.items() if route.count("branch") == length]
        np.testing.assert_allclose(part, sum(of_length), **close)
    for i, part in enumerate(gradient_paths(loss, x, "residual").values()):
        through = [grad for route, grad in expected.items() if route[i] == "branch"]
        np.testing.assert_allclose(part, sum(through), **close)


@pytest.mark.parametrize("seed", range(N_NETS))
def test_skip_and_branch_are_what_walked_back_from_that_residual(seed):
    """Each part is a backward pass of its own from that residual, which begins with dL/dy, to where the ways part.

    Where the branch was made from the skip, they part at the skip, and its part is dL/dy as it is.
    """
    x, loss, results = Net(seed).run()
    loss.backward()
    by_name = {y.op.path: (y.grad, y.op) for y in results if y.op is not None and y.op.name == "residual_add"}
    for name, skip_part, branch_part in residual_gradients(loss, x):
        grad_y, residual = by_name[name]
        skip, branch = residual.inputs
        at = skip if branch is skip or skip in set(topological_order(branch)) else last_gate(x, residual.inputs)
        if at is skip:
            np.testing.assert_allclose(skip_part, 0 if grad_y is None else grad_y, rtol=1e-12)
        for part, way in ((skip_part, skip), (branch_part, branch)):
            expected = pass_of_its_own(way, grad_y, at)
            np.testing.assert_allclose(part, expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def pass_of_its_own(way, grad_y, at):
    """What comes to tensor `at` of a backward pass that begins with grad_y at `way`."""
    if grad_y is None or way is at:
        return np.zeros(SHAPE) if grad_y is None else grad_y
    at.grad = None
    way.backward(grad_y)
    return np.zeros(SHAPE) if at.grad is None else at.grad


def last_gate(x, ends):
    """The youngest tensor without which no end can be reached from x: found by trying, one tensor after the other."""
    for gate in topological_order(residual_add(*ends)):
        if not any(leads_around(end, x, gate) for end in ends):
            return gate


def leads_around(tensor, x, gate):
    unread, seen = [tensor], set()
    while unread:
        t = unread.pop()
        if t is gate or t in seen:
            continue
        if t is x:
            return True
        seen.add(t)
        unread += t.op.inputs if t.op is not None else ()
    return False


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("seed", range(N_NETS))
def test_parts_sum_to_the_whole_at_every_tensor(seed, dtype, rtol):
    _, loss, results = Net(seed, dtype).run()
    loss.backward()
    for tensor in results:
        if tensor.grad is None:
            continue  # the loss does not read it
        scale = max(np.abs(part).max() for part in gradient_paths(loss, tensor).values())
        for by in ("route", "length"):
            parts = gradient_paths(loss, tensor, by)
            assert all(part.dtype == dtype for part in parts.values())
            np.testing.assert_allclose(sum(parts.values()), tensor.grad, rtol=rtol, atol=rtol * scale)


def test_the_random_nets_hold_what_they_promise():
    """Enough residuals, some of them inside of branches or side by side, and routes that go past a residual."""
    routes = []
    for seed in range(N_NETS):
        x, loss, _ = Net(seed).run()
        routes += gradient_paths(loss, x)
    assert max(len(route) for route in routes) == MOST_RESIDUALS
    assert sum("-" in route for route in routes) > 20


@pytest.mark.parametrize("seed", range(N_NETS))
def test_direct_gradients_are_those_of_a_net_without_branches(seed):
    """What comes over skips alone is what is left if the graph is cut at every branch; the rest is indirect."""
    net = Net(seed)
    x, loss, results = net.run()
    n_residuals = sum(step[0] == "residual" for step in net.steps)
    _, cut_loss, cut_results = net.run(["skip"] * n_residuals)
    loss.backward()
    if cut_loss.requires_grad:
        cut_loss.backward()
    by_name = {y.op.path: (y, cut) for y, cut in zip(results, cut_results, strict=True) if y.op is not None}
    for write in residual_stream(loss, x):
        y, cut = by_name[write.name]
        whole, direct = (np.zeros(SHAPE) if tensor.grad is None else tensor.grad for tensor in (y, cut))
        close = {"rtol": 1e-10, "atol": 1e-12 * np.abs(whole).max(initial=1)}
        np.testing.assert_allclose(write.gradient, whole, **close)
        np.testing.assert_allclose(write.direct_gradient, direct, **close)
        np.testing.assert_array_equal(write.written, y.op.inputs[1].data)
        assert write.effect == pytest.approx(write.direct + write.indirect, rel=1e-10, abs=1e-12)
