"""A small random GPT-2 of `transformers`: logits and all gradients, and a folder of ours opened there."""

import json

import numpy as np
import pytest

from blocks import LanguageModel
from blocks.pretrained import load_gpt2, save_gpt2
from blocks.pretrained.gpt2 import gpt2_layout
from blocks.pretrained.layout import stored
from minigrad import cross_entropy

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
transformers = pytest.importorskip("transformers", reason="parity with transformers: pip install transformers")
pytest.importorskip("safetensors", reason="pretrained weights: pip install -e '.[weights]'")
pytestmark = pytest.mark.filterwarnings("ignore::EncodingWarning")  # transformers reads a file without naming it

TOKENS = np.array([[5, 1, 4, 1, 5, 9, 2, 6], [3, 5, 8, 9, 7, 9, 3, 2]])


def gpt2(**changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 11, "n_positions": 8, "n_embd": 12, "n_layer": 2, "n_head": 3}
    dropouts = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = transformers.GPT2Config(**sizes, **dropouts, bos_token_id=0, eos_token_id=0, **changes)
    model = transformers.GPT2LMHeadModel(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model


@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False, "n_inner": 20}])
def test_logits_and_all_gradients(changes, tmp_path):
    theirs = gpt2(**changes)
    theirs.save_pretrained(tmp_path)
    ours = load_gpt2(tmp_path, dtype=np.float64)

    logits = ours(TOKENS)
    cross_entropy(logits[:, :-1].reshape(-1, 11), TOKENS[:, 1:].ravel()).backward()
    their_logits = theirs(torch.tensor(TOKENS)).logits  # its own loss would round to float32
    following = torch.tensor(TOKENS[:, 1:].ravel())
    torch.nn.functional.cross_entropy(their_logits[:, :-1].reshape(-1, 11), following).backward()

    np.testing.assert_allclose(logits.data, their_logits.detach().numpy(), rtol=1e-10, atol=1e-10)
    for parameter in ours.parameters():
        parameter.data = parameter.grad
    gradients = stored(ours, gpt2_layout(2, tied=ours.output is None))
    expected = {name.removeprefix("transformer."): p.grad.numpy() for name, p in theirs.named_parameters()}
    assert gradients.keys() == expected.keys()
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-9, atol=1e-10, err_msg=name)


def test_in_several_files_and_half_precision(tmp_path):
    theirs = gpt2()
    theirs.save_pretrained(tmp_path / "parts", max_shard_size="5KB")
    assert len(list((tmp_path / "parts").glob("*.safetensors"))) > 1
    np.testing.assert_allclose(
        load_gpt2(tmp_path / "parts", dtype=np.float64)(TOKENS).data,
        theirs(torch.tensor(TOKENS)).logits.detach().numpy(),
        rtol=1e-10,
        atol=1e-10,
    )
    for dtype in (torch.float16, torch.bfloat16):
        theirs.to(dtype).save_pretrained(tmp_path / "half")
        weight = load_gpt2(tmp_path / "half").blocks[1].feed_forward.up.weight
        assert weight.dtype == np.float32
        np.testing.assert_array_equal(weight.data, theirs.transformer.h[1].mlp.c_fc.weight.detach().float().numpy())


def test_a_model_of_ours_opens_there(tmp_path):
    ours = LanguageModel(11, 8, 2, 12, 3, 24, activation="gelu", rng=0)
    save_gpt2(ours, tmp_path / "mine")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "mine", dtype=torch.float64).eval()
    expected = theirs(torch.tensor(TOKENS)).logits.detach().numpy()
    np.testing.assert_allclose(ours(TOKENS).data, expected, rtol=1e-10, atol=1e-10)
    assert json.loads((tmp_path / "mine" / "config.json").read_text(encoding="utf-8"))["n_inner"] == 24
