"""Optimizers, against numbers by hand and PyTorch's."""

import tracemalloc

import numpy as np
import pytest

from blocks import LanguageModel, Linear
from minigrad import Parameter, Tensor, cross_entropy
from minigrad.optim import SGD, AdamW, CosineDecay, LinearDecay, clip_grad_norm, decay_groups

# torch 2.13 in float64: p = [1, -2], the gradient of (p * p * [1, 10]).sum() at each of three steps.
MOMENTUM = [0.783216, 1.08]  # SGD, lr 0.02, momentum 0.9
ADAMW = [0.698911183158232, -1.69494451369627]  # AdamW, lr 0.1, weight_decay 0.01


def walk(optimizer, p, steps=3):
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p * [1.0, 10.0]).sum().backward()
        optimizer.step()
    return p.data


def test_sgd_by_hand():
    p = Parameter([1.0, -2.0])
    np.testing.assert_allclose(walk(SGD([p], lr=0.01), p, steps=2), [0.98**2, -2 * 0.8**2])


def test_sgd_with_momentum_against_torch():
    p = Parameter([1.0, -2.0])
    np.testing.assert_allclose(walk(SGD([p], lr=0.02, momentum=0.9), p), MOMENTUM, rtol=1e-12)


def test_adamw_against_torch():
    p = Parameter([1.0, -2.0])
    np.testing.assert_allclose(walk(AdamW([p], lr=0.1, weight_decay=0.01), p), ADAMW, rtol=1e-12)


def test_float32_parameters_stay_float32():
    for lr in (0.1, np.float64(0.1)):
        for make in (SGD, AdamW):
            p = Parameter(np.array([1, -2], np.float32))
            assert walk(make([p], lr=lr), p).dtype == np.float32


def test_a_parameter_without_a_gradient_stays():
    for make in (SGD, AdamW):
        p, q = Parameter([1.0]), Parameter([1.0])
        (p * 2).sum().backward()
        make([p, q], lr=0.1).step()
        assert q.data == 1 and p.data != 1


def test_a_parameter_that_is_listed_twice_moves_once():
    p = Parameter([1.0])
    (p * 2).sum().backward()
    SGD([p, p], lr=0.1).step()
    assert p.data == 0.8


def test_a_step_leaves_old_arrays_and_recorded_graphs_alone():
    p = Parameter([3.0])
    loss = (p * p).sum()
    before = p.data
    loss.backward()
    SGD([p], lr=0.1).step()
    assert before == 3 and not p.data.flags.writeable
    p.zero_grad()
    loss.backward()
    assert p.grad == 6


def test_zero_grad_forgets():
    p = Parameter([1.0])
    (p * 2).sum().backward()
    SGD([p], lr=0.1).zero_grad()
    assert p.grad is None


@pytest.mark.parametrize("wrong", [Parameter([1.0, 2.0]), Linear(2, 2)], ids=["a parameter", "a module"])
def test_what_is_not_a_list(wrong):
    with pytest.raises(TypeError, match=r"takes a list, such as model.parameters\(\)"):
        SGD(wrong, lr=0.1)


@pytest.mark.parametrize("wrong", [Tensor([1.0]), Parameter([1.0]) * 2, np.ones(2), "weight"])
def test_what_cannot_be_moved(wrong):
    with pytest.raises(TypeError, match="leaves that were made with requires_grad=True"):
        AdamW([wrong], lr=0.1)


def test_options_that_are_numpys_numbers_keep_float32():
    """NUM-E"""
    p = Parameter(np.ones(2, np.float32))
    for optimizer in (
        SGD([p], np.float64(0.1), momentum=np.float64(0.9), weight_decay=np.float64(0.1)),
        AdamW([p], np.float64(0.1), betas=np.array([0.9, 0.999]), eps=np.float64(1e-8), weight_decay=np.float64(0.1)),
    ):
        walk(optimizer, p)
        arrays = [array for array in optimizer.state[p].values() if isinstance(array, np.ndarray)]
        assert {array.dtype for array in [p.data, *arrays]} == {np.dtype(np.float32)}


def test_each_parameter_counts_its_own_steps():
    """NUM-G: the first step of AdamW is lr long, also when it comes late."""
    early, late = Parameter([1.0]), Parameter([1.0])
    optimizer = AdamW([early, late], lr=1e-3)
    for _ in range(5000):
        early.grad = np.ones(1)
        optimizer.step()
    late.grad = np.array([7.0])
    optimizer.step()
    assert late.data[0] == pytest.approx(1 - 1e-3, rel=1e-9)
    assert (optimizer.state[early]["t"], optimizer.state[late]["t"]) == (5001, 1)


@pytest.mark.parametrize("none", [[], iter(()), [{"params": []}]], ids=["list", "iterator", "group"])
def test_nothing_to_move(none):
    """MOD-D"""
    with pytest.raises(ValueError, match="needs parameters to move"):
        AdamW(none)


def test_a_number_of_its_own_stays_an_array():
    for make in (SGD, AdamW):
        p = Parameter(3.0)
        (p * p).backward()
        make([p], lr=0.1, weight_decay=0.1).step()
        assert isinstance(p.data, np.ndarray) and p.shape == () and not p.data.flags.writeable


def test_a_gradient_of_another_shape_moves_nothing():
    p, q = Parameter([1.0]), Parameter([1.0])
    p.grad, q.grad = np.ones(1), np.ones(3)
    with pytest.raises(ValueError, match="another shape"):
        SGD([p, q], lr=0.1).step()
    assert p.data == 1


def test_groups_have_rates_and_decays_of_their_own():
    p, q, r = (Parameter([1.0]) for _ in range(3))
    groups = [{"params": [p, p], "lr_scale": 0.5}, {"params": [q], "weight_decay": 0.0}, {"params": [r]}]
    optimizer = SGD(groups, lr=0.1, weight_decay=1.0)
    for each in (p, q, r):
        each.grad = np.ones(1)
    optimizer.lr = 0.2
    optimizer.step()
    np.testing.assert_allclose([p.data[0], q.data[0], r.data[0]], [1 - 0.1 * 2, 1 - 0.2, 1 - 0.2 * 2])
    assert optimizer.parameters == [p, q, r]


SHARED = Parameter([1.0])


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        ([{"params": [SHARED], "momentum": 0.9}], TypeError, "params, weight_decay and lr_scale; got momentum"),
        ([{"parameters": [SHARED]}], TypeError, 'dicts with a list of parameters as "params"'),
        ([{"params": [SHARED]}, Parameter([1.0])], TypeError, "among them"),
        ([{"params": [Tensor([1.0])]}], TypeError, "leaves that were made with requires_grad=True"),
        ([{"params": [SHARED]}, {"params": [SHARED]}], ValueError, "is in the groups 0 and 1"),
    ],
)
def test_groups_that_are_none(groups, error, words):
    with pytest.raises(error, match=words):
        AdamW(groups)


def test_norms_and_biases_do_not_decay():
    model = LanguageModel(vocab_size=5, max_length=4, n_blocks=1, d_model=4, n_heads=2, d_ff=8, rng=0)
    decaying, others = decay_groups(model.parameters(), 0.1)
    assert {p.name.rpartition(".")[2] for p in decaying["params"]} == {"weight"}
    assert {p.name.rpartition(".")[2] for p in others["params"]} == {"gain", "bias"}
    assert len(decaying["params"]) + len(others["params"]) == len(model.parameters())


def test_clipping_shortens_what_is_too_long_and_nothing_else():
    p, q, untouched = Parameter([0.0, 0.0]), Parameter([[0.0]]), Parameter([1.0])
    p.grad, q.grad = np.array([3.0, 0.0]), np.array([[4.0]])
    before = p.grad
    assert clip_grad_norm([p, q, untouched, p], 6.0) == 5
    assert p.grad is before
    assert clip_grad_norm([p, q, untouched, p], 1.0) == 5
    np.testing.assert_allclose([*p.grad, *q.grad[0]], [0.6, 0, 0.8], rtol=1e-6)
    np.testing.assert_array_equal(before, [3, 0])  # the graph may hold it


def test_clipping_keeps_float32_and_reads_gradients_whose_squares_overflow_there():
    p, q = Parameter(np.zeros(2, np.float32)), Parameter([0.0])
    p.grad, q.grad = np.full(2, 3e30, np.float32), np.array([4e30])
    assert clip_grad_norm([p, q], 1.0) == pytest.approx(np.sqrt(34) * 1e30)
    assert p.grad.dtype == np.float32
    assert p.grad[0] == pytest.approx(3 / np.sqrt(34))


def test_what_clipping_refuses():
    model = Linear(2, 2, rng=0)
    model.weight.grad, model.bias.grad = np.ones((2, 2)), np.array([np.nan, 1.0])
    with pytest.raises(ValueError, match=r"NaN or inf in the gradient of bias; nothing was changed"):
        clip_grad_norm(model.parameters(), 1.0)
    assert (model.weight.grad == 1).all()
    with pytest.raises(ValueError, match="max_norm is a positive number"):
        clip_grad_norm(model.parameters(), 0.0)
    with pytest.raises(TypeError, match=r"a list, such as model.parameters\(\); got a Linear"):
        clip_grad_norm(model, 1.0)


@pytest.mark.parametrize("make", [CosineDecay, LinearDecay])
def test_schedules_go_up_and_down(make):
    schedule = make(peak=2.0, n_steps=100, warmup=10, final=0.5)
    rates = np.array([schedule(step) for step in range(120)])
    np.testing.assert_allclose(rates[:10], 2.0 * np.arange(1, 11) / 10)
    assert rates.max() == rates[10] == 2.0
    assert (np.diff(rates[10:101]) < 0).all()
    np.testing.assert_allclose(rates[55], 1.25)  # half of the way down at half of the steps
    np.testing.assert_allclose(rates[100:], 0.5)
    assert repr(schedule) == f"{make.__name__}(peak=2.0, n_steps=100, warmup=10, final=0.5)"
    with pytest.raises(ValueError, match="a part of the steps; got warmup=11, n_steps=10"):
        make(peak=1.0, n_steps=10, warmup=11)


def test_a_step_of_adamw_makes_one_array_beside_the_new_one():
    p = Parameter(np.ones(100_000))
    p.grad = np.ones(100_000)
    optimizer = AdamW([p], weight_decay=0.1)
    optimizer.step()
    tracemalloc.start()
    optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.1 * p.data.nbytes


def test_gradients_add_up_over_the_parts_of_a_batch():
    rng = np.random.default_rng(1)
    tokens = rng.integers(1, 9, (6, 7))
    tokens[2, 4:] = 0  # padding, so that the parts have different numbers of targets
    results = []
    for parts in (1, 2, 3):
        model = LanguageModel(vocab_size=9, max_length=6, n_blocks=1, d_model=8, n_heads=2, d_ff=16, rng=0)
        optimizer = SGD(model.parameters(), lr=0.5, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            n = np.count_nonzero(tokens[:, 1:])
            for part in np.split(tokens, parts):
                loss = cross_entropy(model(part[:, :-1]), part[:, 1:], ignore_index=0, reduction="sum") / n
                loss.backward(retain_grads=False)
            optimizer.step()
        results.append(model.state_dict())
    for name, together in results[0].items():
        for other in results[1:]:
            np.testing.assert_allclose(other[name], together, rtol=1e-10, atol=1e-13, err_msg=name)
