"""no_grad and scope: as context, as decorator, nested, in threads, after errors."""

import threading

import pytest

from minigrad import Tensor, no_grad, scope


@pytest.fixture
def x():
    return Tensor([1.0, 2.0], requires_grad=True)


def test_no_grad_nests_and_ends(x):
    with no_grad():
        with no_grad():
            assert (x * 2).op is None
        assert (x * 2).op is None
    assert (x * 2).op is not None


def test_one_no_grad_used_again_and_again(x):
    quiet = no_grad()
    for _ in range(2):
        with quiet, quiet:
            assert (x * 2).op is None
        assert (x * 2).op is not None


def test_no_grad_as_a_decorator(x):
    @no_grad()
    def double(x):
        return x * 2

    assert double(x).op is None and (x * 2).op is not None


def test_no_grad_ends_with_an_error(x):
    with pytest.raises(ZeroDivisionError), no_grad():
        1 / 0  # noqa: B018
    assert (x * 2).op is not None


def test_backward_inside_of_no_grad(x):
    y = (x * x).sum()
    with no_grad():
        y.backward()
    assert (x.grad == [2, 4]).all()


def test_scopes(x):
    @scope("f")
    def function(x):
        return x * 2

    with scope("a"):
        y = function(x)
        with scope("b"):
            z = x * 2
    assert y.op.path == "a.f.multiply" and z.op.path == "a.b.multiply" and (x * 2).op.path == "multiply"
    with pytest.raises(ZeroDivisionError), scope("c"):
        1 / 0  # noqa: B018
    assert (x * 2).op.scope == ()


def test_threads_do_not_see_each_other(x):
    seen = []
    with no_grad(), scope("main"):
        thread = threading.Thread(target=lambda: seen.append((x * 2).op))
        thread.start()
        thread.join()
    assert seen[0] is not None and seen[0].scope == ()
