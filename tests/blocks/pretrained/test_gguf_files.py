"""Small GGUF files, written by the gguf library: what is read, and what is refused."""

import numpy as np
import pytest

from blocks import LanguageModel
from blocks.pretrained import load_gguf
from blocks.pretrained.gguf_files import llama_layout
from blocks.pretrained.layout import stored

gguf = pytest.importorskip("gguf", reason="pretrained weights: pip install -e '.[weights]'")
pytest.importorskip("tokenizers", reason="pretrained weights: pip install -e '.[weights]'")

BYTES = ["<end>", *(chr(c) for c in range(ord("!"), ord("~") + 1)), "Ġ", "ab", "abc"]
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}assistant:"
SIZES = {"n_blocks": 2, "d_model": 64, "n_heads": 4, "d_ff": 96, "n_kv_heads": 2}
SETTINGS = {
    "llama.block_count": 2,
    "llama.context_length": 16,
    "llama.embedding_length": 64,
    "llama.feed_forward_length": 96,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 1000.0,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.eos_token_id": 0,
    "tokenizer.chat_template": TEMPLATE,
}


def small_model(tied=True):
    options = {"norm_type": "rms", "activation": "swiglu", "bias": False, "dtype": np.float32, "tied": tied}
    model = LanguageModel(len(BYTES), 16, **SIZES, positions="rotary", rotary_base=1000.0, **options, rng=0)
    for parameter in model.parameters():
        parameter.data = parameter.data + np.float32(0.125)  # gains other than 1
    return model


def write(path, arrays, *, architecture="llama", quantise=None, tokens=BYTES, **changes):
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in {**SETTINGS, **changes}.items():
        if isinstance(value, str):
            writer.add_string(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
        elif value is not None:
            writer.add_uint32(name, value)
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(["a b", "ab c"])
    for name, array in arrays.items():
        if quantise is not None and array.ndim == 2:
            writer.add_tensor(name, gguf.quantize(array, quantise), raw_dtype=quantise)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def arrays_of(model):
    return stored(model, llama_layout(model))


@pytest.mark.parametrize("tied", [True, False])
def test_the_file_gives_the_model(tied, tmp_path):
    model = small_model(tied)
    loaded, _ = load_gguf(write(tmp_path / "x.gguf", arrays_of(model)))
    for name, array in model.state_dict().items():
        np.testing.assert_array_equal(loaded.state_dict()[name], array, err_msg=name)
    np.testing.assert_array_equal(loaded([5, 3, 1]).data, model([5, 3, 1]).data)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_1", "Q5_0"])
def test_quantised_weights_are_dequantised(kind, tmp_path):
    model = small_model()
    arrays = arrays_of(model)
    quantise = gguf.GGMLQuantizationType[kind]
    loaded, _ = load_gguf(write(tmp_path / "x.gguf", arrays, quantise=quantise))
    for name, array in arrays_of(loaded).items():
        if array.ndim == 2:
            expected = gguf.dequantize(gguf.quantize(arrays[name], quantise), quantise)
            np.testing.assert_array_equal(array, expected, err_msg=name)
            np.testing.assert_allclose(array, arrays[name], atol=0.15)


def test_tokens_and_chat(tmp_path):
    _, tokenizer = load_gguf(write(tmp_path / "x.gguf", arrays_of(small_model())))
    assert tokenizer.vocab_size == len(BYTES)
    assert [BYTES[token] for token in tokenizer.encode("abc 12<end>")] == ["abc", "Ġ", "1", "2", "<end>"]
    assert tokenizer.decode(tokenizer.encode("abc 12<end>")) == "abc 12"
    assert tokenizer.decode(tokenizer.encode("a")[0]) == "a"
    assert tokenizer.chat("hi") == "user: hi<end>assistant:"
    assert tokenizer.chat([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]).count("<end>") == 2
    assert tokenizer.end == 0
    assert repr(tokenizer) == "<ChatTokenizer: 98 tokens>"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ raise_exception('only users speak') }}", "the chat template says: only users speak"),
        ("{{ messages[0]['content'].x.y }}", "does not take these messages: .* has no attribute 'x'"),
        ("{{ ''.__class__.__mro__ }}", "does not take these messages: access to attribute '__class__'"),
        ("{% for %}", "does not take these messages"),
    ],
)
def test_chat_templates_are_programs_in_a_sandbox(template, message, tmp_path):
    pytest.importorskip("jinja2", reason="chat templates: pip install -e '.[weights]'")
    path = write(tmp_path / "x.gguf", arrays_of(small_model()), **{"tokenizer.chat_template": template})
    _, tokenizer = load_gguf(path)
    with pytest.raises(ValueError, match=message):
        tokenizer.chat("hi")


def test_a_file_without_a_chat_template(tmp_path):
    path = write(tmp_path / "x.gguf", arrays_of(small_model()), **{"tokenizer.chat_template": None})
    with pytest.raises(ValueError, match="this file has no chat template"):
        load_gguf(path)[1].chat("hi")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "gptj"}, "general.architecture is 'gptj'; read here is 'llama'"),
        ({"llama.block_count": 3}, r"missing: blk\.2\.attn_norm\.weight \(64,\)"),
        ({"llama.block_count": 1}, r"not of this model: blk\.1\.attn_norm\.weight"),
        ({"llama.feed_forward_length": 80}, r"blk\.0\.ffn_gate\.weight is \(96, 64\), should be \(80, 64\)"),
        ({"llama.context_length": None}, r"llama\.context_length is missing"),
        ({"llama.rope.scaling.type": "yarn"}, r"llama\.rope\.scaling\.type is 'yarn'; read here is 'none'"),
        ({"llama.rope.dimension_count": 8}, r"llama\.rope\.dimension_count is 8; read here is 16"),
        ({"tokenizer.ggml.model": "llama"}, r"tokenizer\.ggml\.model is 'llama'; read here is 'gpt2'"),
        ({"tokenizer.ggml.pre": "other"}, r"tokenizer\.ggml\.pre is 'other'; read here is 'smollm' or 'gpt-2'"),
        ({"tokens": BYTES[:-2]}, "its merges do not belong to its tokens"),
        ({"tokens": [*BYTES, "zz"]}, r"token_embd\.weight is \(98, 64\), should be \(99, 64\)"),
        ({"llama.vocab_size": 97}, "this tokenizer does not belong to the model: it has 98 tokens, .* 97 rows"),
    ],
)
def test_files_that_are_not_what_they_say(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_gguf(write(tmp_path / "x.gguf", arrays_of(small_model()), **changes))


def test_truncated_anywhere(tmp_path):
    content = write(tmp_path / "x.gguf", arrays_of(small_model())).read_bytes()
    for length in [0, 3, 10, 30, 500, 5000, len(content) // 2, len(content) - 100]:
        (tmp_path / "x.gguf").write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"x\.gguf: truncated, not a GGUF file"):
            load_gguf(tmp_path / "x.gguf")


def test_a_quantisation_that_is_unknown(tmp_path):
    path = write(tmp_path / "x.gguf", arrays_of(small_model()))
    name = b"output_norm.weight"
    content = bytearray(path.read_bytes())
    kind = content.index(name) + len(name) + 4 + 8  # behind the name: the number of axes, one length, the type
    content[kind : kind + 4] = (77).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"quantised in an unknown way: .*77.* is not a valid GGMLQuantizationType"):
        load_gguf(path)
    content[kind : kind + 4] = int(gguf.GGMLQuantizationType.I32).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"output_norm\.weight is quantised as I32, which gguf cannot read back"):
        load_gguf(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x\.gguf: there is no such file"):
        load_gguf(tmp_path / "x.gguf")
