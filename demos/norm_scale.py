"""The norm's trap: taken with the true gradient, all that was written sums to nothing, whatever the answer is.

A norm at the end divides by the size of the stream, so a stream that is longer as a whole changes no score. The
gradient knows that: written . gradient, summed over the start and all residuals, is 0. Whoever reads these numbers as
"the parts of the answer" is misled. With the scale of the norm held, the way to the scores is linear, and the parts sum
to the answer exactly.

What to look at: the two sums, beside the answer. Then the table: the two numbers of a row answer different questions,
and can differ in sign. "true" says what a small change of this write does; "held", how much of this answer it is.
"""

import argparse

from blocks import residual_stream
from demos import _sorting
from demos.residual_stream import answer_of


def main(arguments=None):
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    answer, right, wrong = answer_of(_sorting.trained_model())
    true, held = (residual_stream(answer, norm_scale=scale) for scale in ("true", "held"))
    print(f"The score of {right} minus that of {wrong}: {answer.item():.4f}\n")
    print(f'Direct effects of all that was written, norm_scale="true": {written(true):+.1e}')
    print(f'Direct effects of all that was written, norm_scale="held": {written(held):+.4f}')
    print(f"                         and with the biases, {held.direct_sum:+.4f}: the answer")
    print(f"                         (they are {abs(held.direct_sum - answer.item()):.1e} apart)\n")
    print(f"{'direct effect of':32} {'true':>9} {'held':>9}")
    for one, other in zip([true.start, *true], [held.start, *held], strict=True):
        print(f"{one.name:32} {one.direct:+9.4f} {other.direct:+9.4f}")


def written(stream):
    return stream.start.direct + sum(write.direct for write in stream)


if __name__ == "__main__":
    main()
