"""all-MiniLM-L6-v2 beside `transformers`: embeddings, all gradients, in float32."""

import numpy as np
import pytest

from blocks.pretrained.encoder import bert_layout
from minigrad import find
from tests.real_models import minilm, minilm_folder

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
transformers = pytest.importorskip("transformers", reason="parity with transformers: pip install transformers")
pytestmark = pytest.mark.filterwarnings("ignore::EncodingWarning")  # transformers reads a file without naming it

TEXTS = ["A dog runs in the park.", "Interest rates rose by 0.25 % in May", "naïve", "The chain rule, again. " * 5]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def theirs():
    folder = minilm_folder()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return transformers.BertModel.from_pretrained(folder, attn_implementation="eager").eval(), tokenizer


def mean_of_tokens(model, inputs):
    mask = inputs["attention_mask"][..., None]
    return (model(**inputs).last_hidden_state * mask).sum(1) / mask.sum(1)


def test_embeddings(theirs):
    model, tokenizer = theirs
    with torch.no_grad():
        expected = mean_of_tokens(model, tokenizer(TEXTS, padding=True, return_tensors="pt")).numpy()
    np.testing.assert_allclose(minilm().encode(TEXTS).data, expected, **CLOSE)
    for text, embedding in zip(TEXTS, expected, strict=True):
        assert minilm().tokenize(text).tolist() == tokenizer(text).input_ids
        np.testing.assert_allclose(minilm().encode(text).data, embedding, **CLOSE)


def test_gradients(theirs):
    model, tokenizer = theirs
    weights = np.random.default_rng(0).normal(size=384).astype(np.float32)
    encoder = minilm()
    encoder.zero_grad()
    loss = (encoder.encode(TEXTS[0]) * weights).sum()
    loss.backward()

    model.zero_grad()
    kept = []
    hook = model.embeddings.register_forward_hook(lambda module, inputs, output: kept.append(output))
    embedding = mean_of_tokens(model, tokenizer(TEXTS[0], return_tensors="pt"))[0]
    hook.remove()
    [embedded] = kept
    embedded.retain_grad()
    (embedding * torch.tensor(weights)).sum().backward()

    np.testing.assert_allclose(find(loss, "embedded").grad, embedded.grad.numpy()[0], **CLOSE)
    gradients = {name: parameter.grad for name, parameter in encoder.named_parameters()}
    expected = dict(model.named_parameters())
    for name, place in bert_layout(len(encoder.blocks)).items():
        gradient = gradients[place.ours[0]].T if place.turned else gradients[place.ours[0]]
        np.testing.assert_allclose(gradient, expected[name].grad.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)
