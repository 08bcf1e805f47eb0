"""The computation graph of the lesson's block, drawn from far and from near, before and after backward.

What to look at: with depth 1 the pre-norm block is the lesson's flowchart. Each further depth opens the boxes one
level more, until every op is there with its arrays. The skips are the boldest lines. Before `backward()` no node has a
gradient, and the picture says so.
"""

import argparse
from pathlib import Path

import numpy as np

from blocks import lesson_block
from minigrad import draw, mse_loss


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Pictures of the lesson's block.")
    parser.add_argument("--folder", type=Path, default=Path("."), help="where to write them; it must exist")
    parser.add_argument("--format", default="svg", choices=("svg", "png", "pdf", "dot"))
    options = parser.parse_args(arguments)

    block, x = lesson_block("pre")
    y = block(x)
    loss = mse_loss(y, np.roll(x.data, -1, axis=0))
    pictures = [
        draw(y, options.folder / f"{name}.{options.format}", depth=depth)
        for name, depth in (("flowchart", 1), ("sublayers", 2), ("every_op", None))
    ]
    loss.backward()
    pictures.append(draw(loss, options.folder / f"after_backward.{options.format}", depth=2))
    for picture in pictures:
        print(f"{picture.path}: {picture}")


if __name__ == "__main__":
    main()
