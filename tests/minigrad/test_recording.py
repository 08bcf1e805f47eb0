"""no_grad and scope: as context, as decorator, nested, in threads, after errors."""

import asyncio
import contextvars
import inspect
import threading

import numpy as np
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


@pytest.mark.parametrize(("block", "path"), [(no_grad(), None), (scope("inside"), "inside.multiply")])
def test_cut_b_a_decorated_generator_is_inside_while_its_own_code_runs(x, block, path):
    @block
    def doubled(x, n):
        """Doubles."""
        for _ in range(n):
            x = x * 2
            got = yield x
            assert got in (None, "sent")
        return "done"

    def outer():
        return (yield from doubled(x, 3))

    generator = outer()
    assert path_of(next(generator)) == path
    assert path_of(x * 2) == "multiply"
    assert path_of(generator.send("sent")) == path
    assert path_of(x * 2) == "multiply"
    next(generator)
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "done"
    assert inspect.isgeneratorfunction(doubled)
    assert (doubled.__name__, doubled.__doc__) == ("doubled", "Doubles.")


def path_of(tensor):
    return None if tensor.op is None else tensor.op.path


def test_cut_b_errors_and_close_reach_a_decorated_generator(x):
    seen = []

    @no_grad()
    def steps():
        try:
            yield x * 2
        except ValueError:
            seen.append((x * 2).op)
            yield x * 3
        finally:
            seen.append((x * 4).op)

    generator = steps()
    next(generator)
    assert generator.throw(ValueError).op is None
    generator.close()
    assert seen == [None, None]
    assert (x * 2).op is not None
    generator = steps()
    next(generator)
    with pytest.raises(KeyError):
        generator.throw(KeyError)
    assert (x * 2).op is not None


def test_cut_b_a_decorated_method_and_coroutine(x):
    class Sampler:
        @no_grad()
        def walk(self, x):
            yield x * 2

        @no_grad()
        async def sample(self, x):
            await asyncio.sleep(0)
            return x * 2

    async def both():
        return await asyncio.gather(Sampler().sample(x), recorded())

    async def recorded():
        await asyncio.sleep(0)
        return x * 2

    (walked,) = Sampler().walk(x)
    sampled, other = asyncio.run(both())
    assert walked.op is None and sampled.op is None and other.op is not None
    with pytest.raises(TypeError, match=r"@no_grad on an asynchronous generator: put `with no_grad"):

        @no_grad()
        async def stream():
            yield x


def test_cut_b_blocks_that_end_in_the_order_they_began(x):
    def holding(block):
        with block:
            yield

    for first, second in [(no_grad(), no_grad()), (scope("a"), scope("b")), (scope("a"), scope("a"))]:
        one, two = holding(first), holding(second)
        next(one)
        next(two)
        inside = (x * 2).op
        one.close()
        between = (x * 2).op
        two.close()
        assert path_of(x * 2) == "multiply"
        if isinstance(first, scope):
            assert inside.scope == (first.name, second.name) and between.scope == (second.name,)
        else:
            assert inside is None and between is None
    assert first.name  # the blocks themselves can be used again
    with no_grad():
        assert (x * 2).op is None
    assert (x * 2).op is not None


def test_cut_b_one_no_grad_shared_by_two_contexts(x):
    quiet = no_grad()
    other = contextvars.copy_context()
    other.run(quiet.__enter__)
    with quiet:
        assert (x * 2).op is None
    assert (x * 2).op is not None
    assert other.run(lambda: x * 2).op is None
    other.run(quiet.__exit__)
    assert other.run(lambda: x * 2).op is not None
    assert quiet.cuts == []


def test_cut_b_a_generator_that_is_closed_in_another_context(x):
    def holding():
        with no_grad():
            yield

    generator = holding()
    contextvars.copy_context().run(next, generator)
    generator.close()
    assert (x * np.ones(2)).op is not None
