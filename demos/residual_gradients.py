"""The main job: how the gradient gets back to the block's input, and how much of it through each residual.

What to look at: in the first table, |skip| and |branch| at each residual, and whether the two help or cancel. In the
second, which of the four routes brought most. In the picture, follow the gradient from the loss down to x, and read at
each residual how much of it came over the skip. `--norm pre` shows the other order of norm and residual.
"""

import argparse

import numpy as np

from blocks import draw_residual_gradients, gradient_paths, lesson_block, residual_gradients
from minigrad import Tensor, mse_loss


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The gradient of the lesson's block, split by residual.")
    parser.add_argument("--norm", choices=("post", "pre"), default="post", help="norm after or before each residual")
    parser.add_argument("--picture", default="residual_gradients.svg", help="the file to draw (svg, png, pdf, dot)")
    options = parser.parse_args(arguments)

    block, x = lesson_block(options.norm)
    next_token = Tensor(np.roll(x.data, -1, axis=0), name="next token")  # each token is to become the one after it
    loss = mse_loss(block(x), next_token)
    loss.name = "loss"
    loss.backward()

    print(residual_gradients(loss, x), end="\n\n\n")
    routes = gradient_paths(loss, x, by="route")
    print(routes, end="\n\n")
    print(f"The routes sum to x.grad: the largest difference is {np.abs(sum(routes.values()) - x.grad).max():.1e}.")
    print(f"The picture is in {draw_residual_gradients(loss, x, options.picture).path}.")


if __name__ == "__main__":
    main()
