"""Each kind of fault, planted on purpose, is found where it was planted; healthy stacks are found healthy."""

import numpy as np
import pytest

from blocks import LanguageModel, Stack, TransformerBlock, gradient_faults, lesson_block
from minigrad import Tensor, cross_entropy, layer_norm, no_grad, residual_add
from minigrad.ops.residual import ResidualAdd


def random_input(*shape, scale=1.0, dtype=np.float64):
    values = scale * np.random.default_rng(0).normal(size=shape)
    return Tensor(values.astype(dtype), requires_grad=True, name="x")


def weighted_loss(y):
    return (y * np.random.default_rng(1).normal(size=y.shape).astype(y.dtype)).sum()


def found(loss, x):
    return [(fault.kind, fault.where) for fault in gradient_faults(loss, x)]


@pytest.mark.parametrize("scale", [0.02, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_blocks", "d_model", "n_tokens"), [(1, 8, 3), (6, 64, 16), (24, 16, 8), (48, 8, 4)])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_fresh_stack_is_healthy(norm, n_blocks, d_model, n_tokens, dtype, scale):
    model = Stack(n_blocks, d_model, 4, 4 * d_model, norm=norm, causal=True, dtype=dtype, rng=0)
    x = random_input(n_tokens, d_model, scale=scale, dtype=dtype)
    report = gradient_faults(weighted_loss(model(x)), x)
    assert report == []
    assert str(report).startswith("Nothing odd")
    assert f"{2 * n_blocks} residuals" in str(report)
    assert f"{n_tokens} tokens" in str(report)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_fresh_language_model_is_healthy(norm):
    model = LanguageModel(vocab_size=20, max_length=8, n_blocks=4, d_model=32, n_heads=4, d_ff=64, norm=norm, rng=0)
    tokens = np.random.default_rng(0).integers(0, 20, (2, 8))
    loss = cross_entropy(model(tokens).reshape(16, 20), np.roll(tokens, -1, axis=1).reshape(16))
    for table in (model.tokens.weight, model.positions.weight):
        faults = gradient_faults(loss, table)
        unused = len(set(range(20)) - set(tokens.ravel().tolist())) if table is model.tokens.weight else 0
        assert [fault.kind for fault in faults] == ["tokens without gradient"] * bool(
            unused and model.output is not None
        )


class NoSkip(ResidualAdd):
    """A wrong rule: the skip is left out."""

    def backward(self, grad_y):
        return None, grad_y


class ZeroSkip(ResidualAdd):
    """A wrong rule: the skip is given zeros."""

    def backward(self, grad_y):
        return 0 * grad_y, grad_y


class NoBranch(ResidualAdd):
    """A wrong rule: the branch is left out."""

    def backward(self, grad_y):
        return grad_y, None


@pytest.mark.parametrize("rule", [NoSkip, ZeroSkip])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_skip_that_its_rule_forgot(norm, rule):
    block, x = lesson_block(norm)
    block.add = lambda skip, branch, label: (rule if label == "feed_forward_residual" else ResidualAdd)(label)(
        skip, branch
    )
    faults = gradient_faults((block(x) * np.arange(12.0).reshape(3, 4)).sum(), x)
    assert [(fault.kind, fault.where) for fault in faults] == [("missing skip", "block.feed_forward_residual")]
    assert f"{rule.__name__}.backward" in faults[0].text
    assert "test_faults.py" in faults[0].text


def test_a_skip_that_was_detached():
    x = random_input(3, 4)
    h = x * 2
    y = residual_add(h.detach(), h.tanh(), "cut")
    (fault,) = gradient_faults(weighted_loss(y), x)
    assert (fault.kind, fault.where) == ("missing skip", "cut")
    assert "multiply was cut off by detach()" in fault.text


def test_a_skip_that_was_computed_without_recording():
    x = random_input(3, 4)
    with no_grad():
        skip = x * 2
    (fault,) = gradient_faults(weighted_loss(residual_add(skip, x.tanh(), "cut")), x)
    assert (fault.kind, fault.where) == ("missing skip", "cut")
    assert "no_grad()" in fault.text


def test_a_branch_that_delivers_nothing():
    x = random_input(3, 4)
    assert found(weighted_loss(residual_add(x, x.tanh() * 0, "zero")), x) == [("dead branch", "zero")]
    assert found(weighted_loss(residual_add(x, (x - 100).relu(), "off")), x) == [("dead branch", "off")]
    assert found(weighted_loss(NoBranch("rule")(x, x.tanh())), x) == [("dead branch", "rule")]
    weight = Tensor(np.eye(4), requires_grad=True)
    (fault,) = gradient_faults(weighted_loss(residual_add(x, x.detach() @ weight, "cut")), x)
    assert (fault.kind, fault.where) == ("dead branch", "cut")
    assert "x was cut off by detach()" in fault.text


def test_a_branch_that_begins_before_the_skip_is_not_dead():
    x = random_input(3, 4)
    h = layer_norm(x)
    loss = weighted_loss(residual_add(residual_add(x, h.tanh(), "one"), h.gelu(), "two"))
    assert found(loss, x) == []


def test_a_tensor_inside_a_branch_or_a_skip_that_is_learned():
    block, x = lesson_block("pre")
    y = block(x)
    inside = y.op.inputs[ResidualAdd.BRANCH]
    assert found(weighted_loss(y), inside) == []
    latents = random_input(3, 4)
    assert found(weighted_loss(residual_add(latents, x.tanh(), "read")), x) == []


def test_skip_and_branch_that_cancel():
    x = random_input(3, 4)
    (fault,) = gradient_faults(weighted_loss(residual_add(x, x * -0.99, "minus")), x)
    assert (fault.kind, fault.where) == ("cancellation", "minus")
    assert found(weighted_loss(residual_add(x, x * -0.5, "half")), x) == []


def test_a_layer_where_the_norm_collapses_or_explodes():
    block, x = lesson_block("pre")
    h = block(x)
    squashed = h * 1e-5
    (fault,) = gradient_faults(weighted_loss(squashed.exp()), x)
    assert (fault.kind, fault.where) == ("collapse", "between multiply and block.feed_forward_residual")
    (fault,) = gradient_faults(weighted_loss(h * 1e5), x)
    assert (fault.kind, fault.where) == ("explosion", "between multiply and block.feed_forward_residual")
    # A norm takes the factor out of the value again, but not out of the gradient on the way: up by 1e5, down by 1e5.
    assert [kind for kind, _ in found(weighted_loss(layer_norm(squashed, eps=1e-20)), x)] == ["explosion", "collapse"]


def test_a_gradient_that_is_zero_behind_a_norm():
    """The sum over a normalized row is 0 whatever the row, so its gradient is rounding noise."""
    x = random_input(3, 4)
    faults = gradient_faults(layer_norm(residual_add(x, x.tanh(), "squash")).sum(), x)
    assert faults[0].kind == "collapse"
    assert faults[0].where == "between layer_norm and squash"
    assert "is constant" in faults[0].text


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_loss_that_a_norm_makes_constant(norm):
    """The mean square of normalized rows is 1 whatever the input; only eps leaves a trace of gradient."""
    model = Stack(2, 16, 2, 32, norm=norm, rng=0)
    x = random_input(4, 16)
    (fault,) = gradient_faults((model(x) ** 2).mean(), x)
    assert fault.kind == "collapse"
    assert "is constant" in fault.text


def test_without_residuals_the_gradient_vanishes_with_depth():
    model = Stack(24, 16, 4, 64, norm=None, residual=False, rng=0)
    x = random_input(8, 16)
    report = gradient_faults(weighted_loss(model(x)), x)
    assert [fault.kind for fault in report] == ["vanishing with depth"]
    assert "no residual" in str(report)


def test_tokens_that_get_no_gradient():
    block = TransformerBlock(8, 2, 16, norm="pre", rng=0)
    x = random_input(2, 5, 8)
    padding = np.ones((2, 5), dtype=bool)
    padding[0, 3:] = False
    y = block(x, mask=padding[:, None, :])
    loss = weighted_loss(y * padding[..., None].astype(float))
    assert found(loss, x) == [("tokens without gradient", "2 of 10, at [0, 3], [0, 4]")]
    causal = TransformerBlock(8, 2, 16, causal=True, rng=0)
    x = random_input(5, 8)
    assert found(weighted_loss(causal(x)[:3]), x) == [("tokens without gradient", "2 of 5, at 3, 4")]


def test_no_gradient_at_all_and_nan():
    x = random_input(3, 4)
    kinds = [kind for kind, _ in found(weighted_loss((x - 100).relu()), x)]
    assert kinds == ["collapse", "no gradient"]
    y = residual_add(x, x.tanh(), "squash")
    with np.errstate(all="ignore"):
        (fault,) = gradient_faults((y * 0).sqrt().sum() + y.sum(), x)
    assert fault.kind == "non-finite"
    assert fault.where == "multiply"
    assert "detect_anomaly()" in fault.text


def test_a_nan_in_forward_blames_no_residual_and_has_no_range():
    block, x = lesson_block()
    block.feed_forward.up.weight.data = np.full(block.feed_forward.up.weight.shape, np.nan)
    faults = gradient_faults(weighted_loss(block(x)), x)
    assert faults[0].where == "sum"
    assert "print(why(x, loss))" in faults[0].text
    assert "nan to nan" not in str(faults)


def test_nothing_is_touched_and_a_gradient_can_be_given():
    block, x = lesson_block()
    y = block(x)
    with pytest.raises(ValueError, match="single number"):
        gradient_faults(y, x)
    assert gradient_faults(y, x, grad=np.arange(12.0).reshape(3, 4)) == []
    assert x.grad is None
    assert y.op.grad_inputs is None
    with pytest.raises(ValueError, match="does not depend on"):
        gradient_faults(y, Tensor([1.0], requires_grad=True), grad=np.ones((3, 4)))


def test_report_counts_names_and_explains():
    x = random_input(3, 4)
    y = residual_add(NoSkip("first")(x, x.tanh()), x.gelu(), "second")
    report = str(gradient_faults(weighted_loss(y), x))
    assert report.startswith("1 odd thing about the gradient\n\n1. missing skip: first\n")
    assert "Looked at: 2 residuals" in report
    assert repr(gradient_faults(weighted_loss(y), x)) == "[<missing skip: first>]"


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-30, 1e30, 1e155, 1e280])
def test_res_d_faults_do_not_depend_on_the_gradients_scale(scale):
    """The squares of the first and the last are 0 and inf; the gradients are neither."""
    x = random_input(3, 4)
    healthy = residual_add(x, x.tanh(), "healthy")
    assert gradient_faults(weighted_loss(healthy) * scale, x) == []
    planted = NoSkip("planted")(healthy, healthy.tanh())
    assert ("missing skip", "planted") in found(weighted_loss(planted) * scale, x)


@pytest.mark.parametrize("shape", [(3, 0), (0, 4), (0,)])
def test_sml_a_an_input_without_elements_is_said_to_have_none(shape):
    x = Tensor(np.zeros(shape), requires_grad=True, name="x")
    (fault,) = gradient_faults(residual_add(x, x * 2.0).sum(), x)
    assert fault.kind == "no gradient"
    assert str(shape) in fault.text
