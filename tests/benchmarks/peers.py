"""One post-norm block, forward and backward, in each of the tools that are compared; float32.

Every peer computes the same: attention with H heads, feed-forward with relu, two residuals, two layer norms, and as the
loss the sum of the output times fixed random weights. A peer that is not installed is left out, and said to be.
"""

import importlib.util

import numpy as np

from blocks import TransformerBlock
from minigrad import Tensor

SIZES = {  # (B, T, d_model, heads, d_ff)
    "lesson": (1, 3, 4, 1, 8),
    "small": (1, 16, 32, 4, 128),
    "medium": (8, 64, 128, 4, 512),
    "large": (8, 128, 512, 8, 2048),
}
THREADS = 2


def peers(size):
    """For each tool a function that runs one forward and backward pass, and the names of those that are missing."""
    found = {name: make(*problem(size)) for name, make in MAKERS.items() if is_installed(name)}
    return found, [name for name in MAKERS if not is_installed(name)]


def is_installed(name):
    return name in ("minigrad", "matmuls") or importlib.util.find_spec(name) is not None


def problem(size):
    """A block with its weights, an input (B, T, d_model), the weights of the loss, and the number of heads."""
    n_batch, n_tokens, d_model, n_heads, d_ff = SIZES[size]
    block = TransformerBlock(d_model, n_heads, d_ff, dtype=np.float32, rng=0)
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=(2, n_batch, n_tokens, d_model)).astype(np.float32)
    return block, x, weights, n_heads


def minigrad(block, x, weights, n_heads):
    x = Tensor(x, requires_grad=True)
    weights = Tensor(weights)
    leaves = [x, *block.parameters()]

    def run():
        for leaf in leaves:
            leaf.grad = None
        (block(x) * weights).sum().backward(retain_grads=False)

    return run


def torch_eager(block, x, weights, n_heads):
    import torch

    from tests.parity import torch_block

    torch.set_num_threads(THREADS)
    state = {name: value.requires_grad_() for name, value in torch_block.tensors(block).items()}
    x, weights = torch.tensor(x, requires_grad=True), torch.tensor(weights)

    def run():
        for leaf in (x, *state.values()):
            leaf.grad = None
        (torch_block.block(x, state, norm="post", n_heads=n_heads) * weights).sum().backward()

    return run


def mygrad(block, x, weights, n_heads):
    import mygrad as mg

    state = {name: mg.tensor(value) for name, value in block.state_dict().items()}
    x = mg.tensor(x)

    def run():
        for leaf in (x, *state.values()):
            leaf.null_grad()
        y = numpy_block(x, state, n_heads, mg, mg.nnet.activations.softmax, mg.nnet.activations.relu)
        (y * weights).sum().backward()

    return run


def hips_autograd(block, x, weights, n_heads):
    import autograd
    import autograd.numpy as anp

    def softmax(scores, axis):
        e = anp.exp(scores - anp.max(scores, axis=axis, keepdims=True))
        return e / anp.sum(e, axis=axis, keepdims=True)

    def relu(x):
        return anp.maximum(x, 0)

    def loss(x, state):
        return anp.sum(numpy_block(x, state, n_heads, anp, softmax, relu) * weights)

    gradient = autograd.grad(loss, argnum=(0, 1))
    state = block.state_dict()

    def run():
        gradient(x, state)

    return run


def numpy_block(x, state, n_heads, np, softmax, relu):
    """The block in the words of NumPy, for a tool whose module `np` has them."""
    n_batch, n_tokens, d_model = x.shape
    d = d_model // n_heads

    def linear(x, name):
        return np.matmul(x, state[f"{name}.weight"]) + state[f"{name}.bias"]

    def norm(x, name):
        centered = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(centered * centered, axis=-1, keepdims=True)
        return centered / np.sqrt(variance + 1e-5) * state[f"{name}.gain"] + state[f"{name}.bias"]

    def heads(name):
        return np.swapaxes(np.reshape(linear(x, f"attention.{name}"), (n_batch, n_tokens, n_heads, d)), 1, 2)

    scores = np.matmul(heads("query"), np.swapaxes(heads("key"), -1, -2)) / d**0.5
    mixed = np.matmul(softmax(scores, axis=-1), heads("value"))
    merged = np.reshape(np.swapaxes(mixed, 1, 2), (n_batch, n_tokens, d_model))
    h = norm(x + linear(merged, "attention.output"), "attention_norm")
    return norm(h + linear(relu(linear(h, "feed_forward.up")), "feed_forward.down"), "feed_forward_norm")


def matmuls(block, x, weights, n_heads):
    """The matrix products of the pass alone: the floor under every tool. For each Z = X Y also X' Z and Z Y'."""
    n_batch, n_tokens, d_model = x.shape
    d_ff = block.feed_forward.up.weight.shape[1]
    rows, d, heads = n_batch * n_tokens, d_model // n_heads, (n_batch, n_heads)
    shapes = [((rows, d_model), (d_model, d_model))] * 4
    shapes += [((rows, d_model), (d_model, d_ff)), ((rows, d_ff), (d_ff, d_model))]
    shapes += [((*heads, n_tokens, d), (*heads, d, n_tokens)), ((*heads, n_tokens, n_tokens), (*heads, n_tokens, d))]
    rng = np.random.default_rng(0)
    pairs = [(rng.random(left, np.float32), rng.random(right, np.float32)) for left, right in shapes]

    def run():
        for left, right in pairs:
            product = left @ right
            product @ right.swapaxes(-1, -2)
            left.swapaxes(-1, -2) @ product

    return run


MAKERS = {"minigrad": minigrad, "torch": torch_eager, "mygrad": mygrad, "autograd": hips_autograd, "matmuls": matmuls}
