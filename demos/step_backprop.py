"""Backprop of the lesson's block, one node at a time: the rule, what comes in, what is delivered.

What to look at: at a residual addition the incoming gradient is delivered twice, unchanged. Further down, where the
skip and the branch meet again, the two add up.

    python -m demos.step_backprop                          prints every node
    python -m demos.step_backprop --pdb '*softmax'         stops in the debugger just before the rule of that node

At the stop, `s` enters the rule (from Python 3.13 on: `n`, then `s`), `p grad_y` shows what comes in, and
`p vars(self)` what the op has saved.
"""

import argparse

import numpy as np

from blocks import lesson_block
from minigrad import break_at, mse_loss


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Backprop of the lesson's block, one node at a time.")
    parser.add_argument("--norm", choices=("post", "pre"), default="post", help="norm after or before each residual")
    parser.add_argument("--pdb", metavar="NAME", help="the node to stop at, such as block.attention.softmax")
    options = parser.parse_args(arguments)

    block, x = lesson_block(options.norm)
    loss = mse_loss(block(x), np.roll(x.data, -1, axis=0))
    if options.pdb:
        with break_at(options.pdb):
            loss.backward()
        return

    np.set_printoptions(precision=4, suppress=True)
    for number, step in enumerate(loss.backprop(), start=1):
        show(number, step)
    print(f"\nNow every gradient is there. dL/dx =\n{x.grad}")


def show(number, step):
    rule = type(step.op).__doc__.splitlines()[0]
    print(f"\n{number}. {step.op.path}\n   {rule}")
    print(f"   comes in, {step.grad_output.shape}:\n{indented(step.grad_output)}")
    for tensor, grad in zip(step.op.inputs, step.grad_inputs, strict=True):
        name = tensor.name or (tensor.op.path if tensor.op else "a constant")
        if grad is None:
            print(f"   to {name}: nothing, it asks for no gradient")
        else:
            print(f"   to {name}, {grad.shape}:\n{indented(grad)}")


def indented(array):
    return "\n".join(f"      {line}" for line in str(array).splitlines())


if __name__ == "__main__":
    main()
