"""A block gives back the shape that it got, so blocks can be stacked to any depth: 32 layers are 32 whole blocks.

The run builds 32 blocks, lets sequences of several shapes through, and looks at the shape behind every block. Then it
counts: 64 residuals in the graph, and 32 times the parameters of one block, since no two blocks share any.
"""

import numpy as np

from blocks import Stack, TransformerBlock
from demos.claims import holds
from minigrad import Graph, Tensor, no_grad

N_BLOCKS, D_MODEL = 32, 8


def run():
    stack = Stack(N_BLOCKS, D_MODEL, 2, 4 * D_MODEL, rng=0)
    shapes = ((1, D_MODEL), (3, D_MODEL), (2, 7, D_MODEL))
    for shape in shapes:
        y = x = Tensor(np.ones(shape))
        found = set()
        with no_grad():
            for block in stack.blocks:
                y = block(y)
                found.add(y.shape)
        holds(
            f"{shape} went in, and behind all of {len(stack.blocks)} blocks the shape is {y.shape}", found == {x.shape}
        )

    residuals = sum(node.is_residual for node in Graph(stack(x)).nodes)
    holds(f"one pass has {residuals} residuals, two for each block", residuals == 2 * N_BLOCKS)
    whole, one = size(stack), size(TransformerBlock(D_MODEL, 2, 4 * D_MODEL))
    holds(f"{whole:,} parameters are {N_BLOCKS} times the {one:,} of one block", whole == N_BLOCKS * one)


def size(module):
    """The number of parameters, each counted once if it is used twice."""
    return sum(parameter.size for parameter in {id(p): p for p in module.parameters()}.values())
