"""Safetensors and configurations: what is read, and what is refused."""

import json
import pickle

import numpy as np
import pytest

from blocks import LanguageModel, Linear, TransformerBlock
from blocks.pretrained import load_gpt2, read_safetensors, save_gpt2, save_safetensors
from blocks.pretrained.files import read_config
from blocks.pretrained.torch_layers import load_torch_state, torch_state
from minigrad import Module, Parameter

pytest.importorskip("safetensors", reason="pretrained weights: pip install -e '.[weights]'")


def test_arrays_come_back_as_they_were(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "turned": np.arange(6, dtype=np.float32).reshape(2, 3).T}
    arrays |= {"numbers": np.array([1, 2]), "empty": np.zeros((0, 3)), "one": np.array(2.5)}
    save_safetensors(arrays, tmp_path / "x.safetensors")
    back = read_safetensors(tmp_path / "x.safetensors")
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


def write_by_hand(path, header, data):
    """The format: the header's length in 8 bytes, the header as JSON, the arrays' bytes."""
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_half_precision_is_widened(tmp_path):
    values = np.array([1.0, -2.5, 65504.0, 2.0**-24, np.inf], np.float32)
    upper_halves = (np.array([1.0, -2.5, 3e38, 1e-40], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    header = {
        "half": {"dtype": "F16", "shape": [5], "data_offsets": [0, 10]},
        "brain": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [10, 18]},
    }
    write_by_hand(tmp_path / "x.safetensors", header, values.astype(np.float16).tobytes() + upper_halves.tobytes())
    back = read_safetensors(tmp_path / "x.safetensors")
    assert back["half"].dtype == back["brain"].dtype == np.float32
    np.testing.assert_array_equal(back["half"], values)
    assert back["brain"].shape == (2, 2)
    np.testing.assert_allclose(back["brain"].ravel()[:3], [1.0, -2.5, 3e38], rtol=2**-7)


def test_a_module_saves_its_parameters_and_takes_them_back(tmp_path):
    block = TransformerBlock(4, 2, 8, rng=0)
    save_safetensors(block, tmp_path / "block.safetensors")
    twin = TransformerBlock(4, 2, 8, rng=1)
    twin.load_state_dict(read_safetensors(tmp_path / "block.safetensors"))
    for name, array in block.state_dict().items():
        np.testing.assert_array_equal(twin.state_dict()[name], array)


def test_a_dtype_that_numpy_lacks(tmp_path):
    header = {"tiny": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}
    write_by_hand(tmp_path / "x.safetensors", header, bytes(2))
    with pytest.raises(ValueError, match="tiny is stored as F8_E4M3; read here are BF16, F64"):
        read_safetensors(tmp_path / "x.safetensors")


@pytest.mark.parametrize("content", [b"", b"no weights", b"\x08" + bytes(20)])
def test_what_is_no_safetensors_file(content, tmp_path):
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.safetensors: truncated, or not a safetensors file"):
        read_safetensors(tmp_path / "x.safetensors")


def test_a_truncated_file(tmp_path):
    save_safetensors({"a": np.ones(100)}, tmp_path / "x.safetensors")
    content = (tmp_path / "x.safetensors").read_bytes()
    for length in (4, 12, len(content) - 1):
        (tmp_path / "x.safetensors").write_bytes(content[:length])
        with pytest.raises(ValueError, match="truncated"):
            read_safetensors(tmp_path / "x.safetensors")


def test_a_pickle_is_never_read(tmp_path):
    class Trap:
        def __reduce__(self):
            return pytest.fail, ("it was unpickled",)

    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    for name in ("model.safetensors", "pytorch_model.bin"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap(), protocol=2))
    with pytest.raises(ValueError, match="looks like a pickle"):
        load_gpt2(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"pytorch_model\.bin is a pickle, which is never read"):
        load_gpt2(tmp_path)


def test_configurations(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"holds config\.json"):
        read_config(tmp_path, "gpt2")
    for content, message in [
        ('{"model_type": "gp', "not whole JSON"),
        ('{"model_type": "t5"}', "another architecture: model_type is 't5', not 'gpt2'"),
        ("[1]", "another architecture"),
    ]:
        (tmp_path / "config.json").write_text(content, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            read_config(tmp_path, "gpt2")


@pytest.fixture
def folder(tmp_path):
    save_gpt2(LanguageModel(7, 4, 2, 6, 2, 8, activation="gelu", rng=0), tmp_path)
    return tmp_path


def change_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def test_a_folder_of_ours_comes_back(folder):
    model = load_gpt2(folder, dtype=np.float64)
    again = folder / "again"
    save_gpt2(model, again)
    assert (again / "config.json").read_bytes() == (folder / "config.json").read_bytes()
    assert (again / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activation_function": "mish"}, "activation_function is 'mish'; read here is 'gelu_new' or"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is True; read here is False"),
        ({"n_layer": 1}, r"not of this model: transformer\.|not of this model: h\.1"),
        ({"n_layer": 3}, r"missing: h\.2\.ln_1\.weight \(6,\)"),
        ({"n_positions": 5}, r"of another shape: wpe\.weight is \(4, 6\), should be \(5, 6\)"),
    ],
)
def test_a_folder_that_is_not_what_it_says(change, message, folder):
    change_config(folder, **change)
    with pytest.raises(ValueError, match=message):
        load_gpt2(folder)


def test_a_setting_that_is_missing(folder):
    (folder / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    with pytest.raises(ValueError, match="n_embd is missing"):
        load_gpt2(folder)


def test_all_differences_are_listed_at_once_and_nothing_is_changed():
    block = TransformerBlock(4, 2, 8, rng=0)
    before = block.state_dict()
    state = torch_state(TransformerBlock(4, 2, 8, rng=1))
    del state["norm1.bias"]
    state["extra"] = np.zeros(3)
    state["linear1.weight"] = np.zeros((4, 8))
    state["linear2.bias"] = np.zeros(4, dtype=int)
    with pytest.raises(ValueError) as raised:
        load_torch_state(block, state)
    assert str(raised.value).splitlines() == [
        "load_torch_state: these weights do not fit the TransformerBlock:",
        "  missing: norm1.bias (4,)",
        "  not of this model: extra",
        "  of another shape: linear1.weight is (4, 8), should be (8, 4)",
        "  not floating-point numbers: linear2.bias is int64",
    ]
    for name, array in block.state_dict().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_long_list_is_cut():
    with pytest.raises(ValueError, match=r"missing: self_attn\.in_proj_weight \(12, 4\), .*, norm2\.bias \(4,\)$"):
        load_torch_state(TransformerBlock(4, 2, 8), {})
    with pytest.raises(ValueError, match="x11, and 8 more"):
        load_torch_state(Linear(1, 1), {f"x{i}": np.zeros(1) for i in range(20)})


def test_models_that_have_no_counterpart(tmp_path):
    class Scale(Module):
        def __init__(self):
            self.scale = Parameter([1.0])

    with pytest.raises(TypeError, match="Scale has no counterpart in PyTorch"):
        torch_state(Scale())
    model = LanguageModel(7, 4, 2, 6, 2, 8, rng=0)
    with pytest.raises(ValueError, match=r"LanguageModel: there is no place in this layout for tokens\.weight"):
        load_torch_state(model, {})
    with pytest.raises(ValueError, match=r"no place in this layout for feed_forward\.gate\.weight"):
        torch_state(TransformerBlock(4, 2, 8, activation="swiglu", bias=False))
    for options in ({"causal": False}, {"norm": "post", "final_norm": True}, {"activation": "tanh"}):
        with pytest.raises(ValueError, match="GPT-2 has causal pre-norm blocks"):
            save_gpt2(LanguageModel(7, 4, 2, 6, 2, 8, **options), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_missing_package_is_named_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "safetensors", None)
    (tmp_path / "x.safetensors").touch()
    with pytest.raises(ImportError, match=r"this needs safetensors: pip install 'minigrad-blocks\[weights\]'$"):
        read_safetensors(tmp_path / "x.safetensors")
