"""SmolLM2-135M-Instruct beside `transformers`, which reads the same file: greedy answers token for token, gradients."""

import numpy as np
import pytest

from minigrad import no_grad
from minigrad.graph import Graph
from tests.real_models import smollm2, smollm2_file

torch = pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
transformers = pytest.importorskip("transformers", reason="parity with transformers: pip install transformers")
pytest.importorskip("accelerate", reason="transformers reads GGUF files with it: pip install accelerate")
pytestmark = pytest.mark.filterwarnings("ignore::EncodingWarning")  # transformers reads a file without naming it

QUESTIONS = [
    "What is the capital of France?",
    "Name three colours.",
    "What is 12 + 30?",
    "Write a haiku about rain.",
    "Translate to German: good morning",
]
N_NEW = 10


@pytest.fixture(scope="module")
def theirs():
    file = smollm2_file()
    model = transformers.AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


def test_tokens_and_chat(theirs):
    _, their_tokenizer = theirs
    _, tokenizer = smollm2()
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "It's 1984, né?  日本\n\tx"}]
    text = tokenizer.chat(messages)
    assert text == their_tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert tokenizer.encode(text).tolist() == their_tokenizer(text).input_ids
    assert tokenizer.decode(tokenizer.encode(messages[1]["content"])) == messages[1]["content"]
    assert tokenizer.decode([tokenizer.end]) == ""


@pytest.mark.parametrize("question", QUESTIONS)
def test_greedy_answers_token_for_token(question, theirs):
    model, tokenizer = smollm2()
    prompt = tokenizer.encode(tokenizer.chat(question))
    answer = [int(token) for token in model.generate(prompt, N_NEW, temperature=0, stop=tokenizer.end)]
    their_model, _ = theirs
    inputs = torch.tensor(prompt)[None]
    options = {"do_sample": False, "max_new_tokens": N_NEW, "attention_mask": torch.ones_like(inputs)}
    expected = their_model.generate(inputs, **options, eos_token_id=tokenizer.end, pad_token_id=tokenizer.end)
    expected = expected[0, len(prompt) :].tolist()
    assert [token for token in answer if token != tokenizer.end] == [t for t in expected if t != tokenizer.end]


def test_logits_and_the_gradient_at_the_embeddings(theirs):
    model, tokenizer = smollm2()
    tokens = tokenizer.encode("The capital of France is")
    chosen = tokenizer.encode(" Paris")[0]
    logits = model(tokens)
    loss = logits.log_softmax()[-1, chosen]
    loss.backward()
    model.zero_grad()  # 540 MB that no test looks at
    first = next(node.op for node in Graph(loss).nodes if node.is_residual)
    gradient = first.inputs[0].grad

    their_model, _ = theirs
    their_model.requires_grad_(False)
    x = their_model.get_input_embeddings()(torch.tensor(tokens)[None]).requires_grad_()
    their_logits = their_model(inputs_embeds=x).logits
    torch.log_softmax(their_logits, -1)[0, -1, chosen].backward()

    np.testing.assert_allclose(logits.data, their_logits.detach().numpy()[0], rtol=1e-4, atol=1e-3)
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(gradient, x.grad.numpy()[0], rtol=1e-3, atol=1e-4 * scale)


def test_without_the_cache_the_answer_is_the_same():
    model, tokenizer = smollm2()
    prompt = tokenizer.encode("One, two, three,")
    with no_grad():
        answers = [[int(t) for t in model.generate(prompt, 4, temperature=0, cache=cache)] for cache in (True, False)]
    assert answers[0] == answers[1]
