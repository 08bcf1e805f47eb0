"""What each residual wrote, and its effect: the sums close, and the direct part is the path of length 0."""

import numpy as np
import pytest

from blocks import LanguageModel, Stack, gradient_faults, gradient_paths, residual_gradients, residual_stream
from minigrad import Tensor, cross_entropy, mse_loss, residual_add, where
from minigrad.graph import stream_start

TOKENS = [1, 5, 2, 7, 3]
OPTIONS = {"vocab_size": 11, "max_length": 8, "n_blocks": 3, "d_model": 16, "n_heads": 2, "d_ff": 32}


def model_with(norm="pre", **options):
    """A model whose every parameter is random, biases and gains too, as a trained one's are."""
    model = LanguageModel(**OPTIONS, norm=norm, rng=0, **options)
    rng = np.random.default_rng(1)
    for parameter in model.parameters():
        parameter.data = parameter.data + 0.3 * rng.normal(size=parameter.shape)
    return model


def logit_difference(model, tokens=TOKENS):
    logits = model(tokens)
    return logits[-1, 3] - logits[-1, 5]


@pytest.mark.parametrize("norm_scale", ["true", "held"])
@pytest.mark.parametrize("norm", ["pre", "post", None])
def test_effects_divide_into_direct_and_indirect_whole_and_per_token(norm, norm_scale):
    stream = residual_stream(logit_difference(model_with(norm)), norm_scale=norm_scale)
    assert len(stream) == 6
    for write in (stream.start, *stream):
        assert write.effect == pytest.approx(write.direct + write.indirect, rel=1e-10, abs=1e-12)
        assert write.effect == pytest.approx((write.written * write.gradient).sum(), rel=1e-10, abs=1e-12)
        for name in ("effect", "direct", "indirect"):
            by_token = getattr(write, f"{name}_by_token")
            assert by_token.shape == (5,)
            assert by_token.sum() == pytest.approx(getattr(write, name), rel=1e-10, abs=1e-12)
    assert stream[-1].indirect == 0


@pytest.mark.parametrize("norm", ["pre", "post", None])
def test_the_gradients_are_those_of_backward_and_the_direct_ones_are_paths_of_length_0(norm):
    loss = cross_entropy(model_with(norm)(TOKENS), [5, 2, 7, 3, 1])
    stream = residual_stream(loss)
    loss.backward()
    results = {tensor.op.path: tensor for tensor in walk(loss)}
    for write in stream:
        y = results[write.name]
        np.testing.assert_allclose(write.gradient, y.grad, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(write.direct_gradient, gradient_paths(loss, y, by="length")[0])
        np.testing.assert_array_equal(write.stream, y.op.inputs[0].data)
        np.testing.assert_array_equal(write.written, y.op.inputs[1].data)
    start = stream_start(loss)
    np.testing.assert_array_equal(stream.start.direct_gradient, gradient_paths(loss, start, by="length")[0])
    np.testing.assert_allclose(stream.start.gradient, start.grad, rtol=1e-12, atol=1e-15)


def walk(loss):
    unread, found = [loss], {}
    while unread:
        tensor = unread.pop()
        if tensor.op is not None and tensor not in found:
            found[tensor] = None
            unread += tensor.op.inputs
    return found


OTHER_MODELS = [{"norm_type": "rms"}, {"positions": "rotary", "activation": "swiglu", "n_kv_heads": 1}]


@pytest.mark.parametrize("options", OTHER_MODELS, ids=lambda options: next(iter(options)))
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_models_of_other_parts_close_as_well(norm, options):
    difference = logit_difference(model_with(norm, **options))
    stream = residual_stream(difference, norm_scale="held")
    assert stream.direct_sum == pytest.approx(difference.item(), abs=1e-10)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("norm", ["pre", "post", None])
def test_with_the_norms_scale_held_the_direct_parts_are_the_logit_difference(norm, tied):
    difference = logit_difference(model_with(norm, tied=tied))
    stream = residual_stream(difference, norm_scale="held")
    parts = [stream.start.direct, *(write.direct for write in stream), *stream.biases.values()]
    assert sum(parts) == pytest.approx(difference.item(), abs=1e-10)
    assert stream.direct_sum == pytest.approx(difference.item(), abs=1e-10)
    assert stream.loss == difference.item()
    assert "sum to the loss" in str(stream)


def test_with_the_true_gradient_of_a_final_norm_they_sum_to_nothing():
    """A norm is invariant to the scale of the stream, but for its eps."""
    difference = logit_difference(model_with())
    stream = residual_stream(difference)
    written = stream.start.direct + sum(write.direct for write in stream)
    assert abs(difference.item()) > 0.3
    assert abs(written) < 1e-5 * max(abs(write.direct) for write in stream)
    assert "about 0" in str(stream)


def test_constants_and_biases_on_the_way_have_parts_of_their_own():
    x = Tensor([[1.0, -2.0, 4.0]], requires_grad=True, name="x")
    b = Tensor([0.5, 0.5, 1.0], requires_grad=True, name="b")
    y = residual_add(x, x.tanh(), "squash") - b
    z = where([[True, True, False]], y, -3.0)
    stream = residual_stream((z * [1.0, 2.0, 3.0]).sum(), norm_scale="held")
    assert stream.biases["b"] == pytest.approx(-1.5)
    assert stream.direct_sum == pytest.approx((z.data * [1, 2, 3]).sum(), abs=1e-12)


def test_a_residual_that_the_loss_does_not_read_has_no_effect():
    x = Tensor([[1.0, -2.0]], requires_grad=True, name="x")
    y = residual_add(x, x.tanh(), "one")
    stream = residual_stream((residual_add(y.detach(), y.sin(), "two") * 1.0).sum(), x)
    assert [write.name for write in stream] == ["one", "two"]
    assert stream[0].direct == 0
    assert stream[0].indirect == stream[0].effect != 0


def test_the_start_of_the_stream_is_found():
    model = model_with()
    logits = model(TOKENS)
    start = stream_start(logits.sum())
    assert start.shape == (5, 16)
    np.testing.assert_allclose(start.data, model.tokens.weight.data[TOKENS] + model.positions.weight.data[:5])
    x = Tensor(np.random.default_rng(0).normal(size=(3, 8)), requires_grad=True, name="x")
    for norm in ("pre", "post", None):
        assert stream_start((Stack(2, 8, 2, 16, norm=norm, rng=0)(x) ** 3).sum()) is x
    h = x * 2
    parallel = residual_add(residual_add(h, h.tanh(), "one"), h.sin(), "two")
    assert stream_start(parallel.sum()) is h
    assert stream_start(residual_add(x * 1.5, (x * 2).tanh()).sum()) is x
    learned = model.positions.weight
    assert stream_start(residual_add(learned, learned.tanh()).sum()) is learned
    cut = residual_add(residual_add(h, h.tanh()), h.detach() * learned.sum())
    assert stream_start(cut.sum()) is h


def test_where_no_start_is_found_it_says_what_to_do():
    x = Tensor([[1.0, 2.0]], requires_grad=True)
    weight = Tensor(np.eye(2), requires_grad=True)
    for tool in (residual_stream, residual_gradients, gradient_paths, gradient_faults):
        with pytest.raises(ValueError, match=r"(?s)no residual was made with residual_add.*pass the tensor x"):
            tool((x * 2).sum())
        with pytest.raises(ValueError, match=r"begins with a constant.*requires_grad=True"):
            tool(residual_add(Tensor([[1.0, 2.0]]), x.detach() @ weight).sum())
    with pytest.raises(ValueError, match='"true" or "held"'):
        residual_stream(residual_add(x, x.tanh()).sum(), norm_scale="fixed")


def test_tools_without_x_are_those_at_the_start():
    loss = cross_entropy(model_with()(TOKENS), [5, 2, 7, 3, 1])
    start = stream_start(loss)
    for by in ("route", "length", "residual"):
        found, expected = gradient_paths(loss, by=by), gradient_paths(loss, start, by)
        assert list(found) == list(expected)
        for part, other in zip(found.values(), expected.values(), strict=True):
            np.testing.assert_array_equal(part, other)
    for found, expected in zip(residual_gradients(loss), residual_gradients(loss, start), strict=True):
        np.testing.assert_array_equal(found.skip, expected.skip)
    assert str(gradient_faults(loss)) == str(gradient_faults(loss, start))


def test_res_c_two_blocks_that_are_300_times_too_large_are_found_at_a_weight():
    model = LanguageModel(vocab_size=20, max_length=8, n_blocks=4, d_model=32, n_heads=4, d_ff=64, rng=0)
    for block in model.blocks[1:3]:
        for parameter in block.parameters():
            if parameter.ndim == 2:
                parameter.data = parameter.data * 300
    tokens = np.random.default_rng(0).integers(0, 20, (2, 8))
    loss = cross_entropy(model(tokens).reshape(16, 20), np.roll(tokens, -1, axis=1).reshape(16))
    for x in (model.tokens.weight, model.positions.weight, None):
        report = gradient_faults(loss, x)
        assert [fault.kind for fault in report][:2] == ["collapse", "explosion"]
        assert "blocks.0.feed_forward_residual" in report[1].where
        assert "norm at 10 places" in report.checked


def test_res_c_what_cannot_be_looked_at_is_said_first():
    model = LanguageModel(vocab_size=20, max_length=8, n_blocks=1, d_model=8, n_heads=2, d_ff=16, rng=0)
    report = gradient_faults(cross_entropy(model([1, 2]), [2, 3]), model.blocks[0].attention.query.weight)
    assert str(report).startswith("Not looked at: the gradient's norm from layer to layer")
    assert "(8, 8)" in report.not_checked


def test_a_large_model_prints_what_matters_and_the_rest_on_request():
    x = Tensor(np.random.default_rng(0).normal(size=(4, 8)), requires_grad=True, name="x")
    loss = mse_loss(Stack(30, 8, 2, 16, norm="pre", rng=0)(x), np.ones((4, 8)))
    stream = residual_stream(loss)
    lines = str(stream).splitlines()
    assert len(lines) < 30
    assert max(len(line) for line in lines) <= 110
    others = next(line.split() for line in lines if line.startswith("44 others"))
    shown = [write for write in stream if any(line.startswith(write.name) for line in lines)]
    rest = sum(write.effect for write in stream) - sum(write.effect for write in shown)
    assert len(shown) == 16
    assert float(others[2]) == pytest.approx(rest, rel=1e-3)
    assert len(str(stream.table(rows=None)).splitlines()) > 60
    html = stream._repr_html_()
    assert html.count("<tr>") == 21  # header, start, 16, others, biases, sum
    assert "blocks.29" in stream.table(rows=None)._repr_html_()
    assert len(stream.to_dicts()) == 61
    assert stream.to_dicts()[1]["effect_by_token"].shape == (4,)
