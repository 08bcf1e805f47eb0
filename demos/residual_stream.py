"""What each sublayer of a trained model wrote into the stream, and which of that made the answer.

A small model has learned to sort digits. Its answer for one sequence is taken apart: the score of the right digit minus
that of the best wrong one, by residual, and each residual's effect by how it came about: read at the end as it is
(direct), or through what a later sublayer made of it (indirect).

What to look at: a write can be large and do little, and one can help directly and hurt through later branches, or the
other way round. The last one, behind which there is nothing, works only directly. In the picture, an orange border is a
write that helps the answer. The effects are slopes: each is checked by making that write a thousandth larger or
smaller, and running the rest of the model again.
"""

import argparse

import numpy as np

from blocks import draw_residual_stream, plot_residual_stream, residual_stream
from demos import _sorting
from demos._charts import save_plot
from minigrad import no_grad

TOKENS = [3, 1, 5, 0, _sorting.SEPARATOR, 0]  # the next digit is 1


def main(arguments=None):
    parser = argparse.ArgumentParser(description="What each residual wrote, and its effect on the answer.")
    parser.add_argument("--plot", default="residual_stream.png", help="the file to plot the effects to")
    parser.add_argument("--picture", default="residual_stream.svg", help="the file to draw the model to")
    options = parser.parse_args(arguments)

    model = _sorting.trained_model()
    print(f"The model sorts {_sorting.accuracy(model):.0%} of 200 new sequences. After {in_words(TOKENS)} comes 1:\n")
    answer, right, wrong = answer_of(model)
    stream = residual_stream(answer, norm_scale="held")
    print(stream)
    largest = max(stream, key=lambda write: abs(write.effect))
    print(f"\nThe score of {right} is {answer.item():.2f} above that of {wrong}. The largest effect on that has")
    print(f"{largest.name}: {largest.effect:+.2f}, of which {largest.direct:+.2f} directly.")
    print(f"All direct parts and the difference itself are {abs(stream.direct_sum - answer.item()):.1e} apart.")
    print(f"Effects and measured slopes differ by at most {largest_gap(model):.1e}.")
    save_plot(plot_residual_stream, options.plot, stream)
    draw_residual_stream(answer, path=options.picture, norm_scale="held")
    print(f"Picture: {options.picture}")


def in_words(tokens):
    return " ".join(_sorting.WORDS[token] for token in tokens)


def answer_of(model):
    """The score of the likeliest digit minus that of the second, and the two digits."""
    scores = model(TOKENS)[-1]
    wrong, right = np.argsort(scores.data)[-2:]
    return scores[int(right)] - scores[int(wrong)], right, wrong


def largest_gap(model, step=1e-3):
    """The largest difference of an effect (norm_scale="true") and a slope that was measured by growing the write."""
    effects = [write.effect for write in residual_stream(answer_of(model)[0])]
    slopes = []
    with no_grad():
        for n in range(len(effects)):
            up, down = (answer_with(model, n, 1 + sign * step).item() for sign in (1, -1))
            slopes.append((up - down) / (2 * step))
    return max(abs(effect - slope) for effect, slope in zip(effects, slopes, strict=True))


def answer_with(model, n, factor):
    """The same answer, with the n-th write made larger by a factor."""
    h = model.embed(TOKENS)
    for i, block in enumerate(model.blocks):
        h = h + block.attention(block.attention_norm(h)) * (factor if n == 2 * i else 1.0)
        h = h + block.feed_forward(block.feed_forward_norm(h)) * (factor if n == 2 * i + 1 else 1.0)
    scores = model.output(model.final_norm(h))[-1]
    _, right, wrong = answer_of(model)
    return scores[int(right)] - scores[int(wrong)]


if __name__ == "__main__":
    main()
