"""What a trace holds, by name, against the model taken apart; the count of parameters; the picture of attention."""

import numpy as np
import pytest

import blocks
from blocks import LanguageModel
from minigrad import Module, Tensor, cross_entropy, no_grad

TOKENS = np.array([[1, 2, 3, 4], [4, 3, 2, 1]])
OPTIONS = [
    {},
    {"norm": "post", "positions": "sinusoidal"},
    {"positions": "rotary", "n_kv_heads": 1, "norm_type": "rms", "activation": "swiglu"},
    {"norm": None, "positions": None},
    {"dropout": 0.5},
]


def small(**options):
    return LanguageModel(vocab_size=9, max_length=6, n_blocks=2, d_model=8, n_heads=2, d_ff=16, rng=0, **options)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_its_tensors_are_those_of_the_model(options):
    model = small(**options).eval()
    trace = model.trace(TOKENS)
    names = ["embeddings"]
    for i in range(2):
        names += [f"blocks.{i}.{part}" for part in ("attention.weights", "attention_residual", "feed_forward_residual")]
    assert list(trace) == [*names, *(["final_norm"] if options.get("norm", "pre") == "pre" else []), "logits"]
    np.testing.assert_array_equal(trace.logits.data, model(TOKENS).data)
    np.testing.assert_array_equal(trace["embeddings"].data, model.embed(TOKENS).data)
    for i, block in enumerate(model.blocks):
        weights = trace[f"blocks.{i}.attention.weights"]
        assert weights.shape == (2, 2, 4, 4)
        np.testing.assert_array_equal(weights.data, block.attention.weights)
        np.testing.assert_allclose(weights.data.sum(-1), 1)
    stream = model.embed(TOKENS)
    for i, block in enumerate(model.blocks):
        stream = block(stream)
        behind = trace[f"blocks.{i}.feed_forward_residual"]
        behind = block.feed_forward_norm(behind) if options.get("norm") == "post" else behind
        np.testing.assert_allclose(behind.data, stream.data, rtol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_its_gradients(options):
    model = small(**options)
    trace = model.trace(TOKENS)
    assert trace["embeddings"].grad is None
    cross_entropy(trace.logits, TOKENS).backward()
    assert all(tensor.grad.shape == tensor.shape for tensor in trace.values())
    if options == {}:  # the gradient at the embeddings is that of the rows that were read
        expected = np.zeros((9, 8))
        np.add.at(expected, TOKENS, trace["embeddings"].grad)
        output = np.einsum("btv,btd->vd", trace["logits"].grad, trace["final_norm"].data)  # tied: it is read again
        np.testing.assert_allclose(model.tokens.weight.grad, expected + output, rtol=1e-10, atol=1e-14)
    assert "|gradient|" in str(trace) and "blocks.1.attention.weights" in str(trace)
    assert trace.to_dicts()[0]["name"] == "embeddings"
    assert repr(trace) == f"<Trace of tokens (2, 4): {len(trace)} tensors>"


def test_a_model_inside_another_module_has_the_same_names():
    class Outer(Module):
        def __init__(self):
            self.inner = small()

        def forward(self, tokens):
            return self.inner.trace(tokens)

    assert list(Outer()(TOKENS)) == list(small().trace(TOKENS))


def test_a_trace_says_what_it_lacks():
    with pytest.raises(KeyError, match="has no tensor 'embedding'; it has embeddings, "):
        small().trace(TOKENS)["embedding"]
    with no_grad(), pytest.raises(RuntimeError, match="nothing was recorded"):
        small().trace(TOKENS)


def test_parameters_by_part():
    model = small(tied=False)
    table = model.parameter_table()
    d, ff, V = 8, 16, 9
    assert table == {
        "token embedding": V * d,
        "position embedding": 6 * d,
        "attention": 2 * 4 * (d * d + d),
        "norms": 5 * 2 * d,
        "feed_forward": 2 * (2 * d * ff + ff + d),
        "output": V * d,
    }
    assert sum(table.values()) == sum(p.size for p in model.parameters())
    assert "output" not in small().parameter_table()
    assert repr(table) == f"<ParameterTable: {sum(table.values()):,} parameters in 6 parts>"


@pytest.fixture(scope="module")
def traced():
    pytest.importorskip("matplotlib", reason="plots: pip install -e '.[plots]'")
    trace = small().trace(TOKENS)
    cross_entropy(trace.logits, TOKENS).backward()
    return trace


def maps(figure):
    return [axes for axes in figure.axes if axes.images]


def test_the_picture_holds_weights_and_gradients(traced, tmp_path):
    figure = blocks.plot_attention(traced, tmp_path / "attention.png", labels=["a", "b", "<c>", "$d"], sample=1)
    assert (tmp_path / "attention.png").read_bytes().startswith(b"\x89PNG")
    arrays = [axes.images[0].get_array() for axes in maps(figure)]
    expected = []
    for i in range(2):
        weights = traced[f"blocks.{i}.attention.weights"]
        expected += [*weights.data[1], *weights.grad[1]]
    assert len(arrays) == len(expected) == 8
    for got, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(got, wanted)
    assert [label.get_text() for label in maps(figure)[0].get_yticklabels()] == ["a", "b", "<c>", "$d"]
    assert maps(figure)[3].get_title() == "blocks.0, head 1"


def test_one_block_without_gradients():
    pytest.importorskip("matplotlib", reason="plots: pip install -e '.[plots]'")
    figure = blocks.plot_attention(small().trace([1, 2, 3]), block=1)
    assert len(maps(figure)) == 2
    assert [label.get_text() for label in maps(figure)[0].get_xticklabels()] == ["1", "2", "3"]


def test_pictures_that_cannot_be_drawn(traced):
    with pytest.raises(IndexError, match="no attention in block 2"):
        blocks.plot_attention(traced, block=2)
    with pytest.raises(IndexError, match="there are 2 sequences; got sample=2"):
        blocks.plot_attention(traced, sample=2)
    with pytest.raises(ValueError, match="4 tokens need as many labels; got 3"):
        blocks.plot_attention(traced, labels="abc")
    with pytest.raises(TypeError, match=r"made from model.trace\(tokens\); got Tensor"):
        blocks.plot_attention(Tensor([1.0]))
