"""A Transformer is more than attention: a block is attention and a feed-forward network, each with residual and norm.

The run records a block and reads off the graph which part computed when. Only the place of the norms differs between
the two orders; the second one is that of GPT-2 and of most models since.

Source: Vaswani et al. 2017, section 3.1; Xiong et al. 2020, table 1.
"""

from itertools import groupby

from blocks import lesson_block
from demos.claims import holds
from minigrad import Graph

ORDERS = {
    "post": "attention, attention_residual, attention_norm, feed_forward, feed_forward_residual, feed_forward_norm",
    "pre": "attention_norm, attention, attention_residual, feed_forward_norm, feed_forward, feed_forward_residual",
}


def run():
    for norm, order in ORDERS.items():
        block, x = lesson_block(norm)
        graph = Graph(block(x))
        parts = parts_in_order(graph)
        holds(f"{norm}-norm computes {', '.join(parts)}", ", ".join(parts) == order)
        n_residuals = sum(node.is_residual for node in graph.nodes)
        n_attention = sum("attention." in node.path for node in graph.nodes if node.op)
        n_ops = sum(node.op is not None for node in graph.nodes)
        holds(f"  {n_ops} ops, {n_attention} of them attention's; {n_residuals} residuals", n_residuals == 2)


def parts_in_order(graph):
    """The parts of the block, in the order in which they computed: `block.attention.softmax` belongs to attention."""
    parts = (node.path.split(".")[1] for node in graph.nodes if node.op)
    return [part for part, _ in groupby(parts)]
