"""The work that is timed, in each of the tools that are compared; float32.

`block`: forward and backward of one post-norm block: attention with H heads, feed-forward with relu, two residuals, two
layer norms, and as the loss the sum of the output times fixed random weights. `causal`: the same, but a token sees only
those before it. `training`: a step of a small language model (embeddings, pre-norm causal blocks, cross-entropy,
backward, AdamW). Every tool computes the same.
"""

import importlib.util

import numpy as np

from blocks import LanguageModel, TransformerBlock
from minigrad import Tensor, cross_entropy
from minigrad.memory import keep_freed_memory
from minigrad.optim import AdamW

SIZES = {  # (B, T, d_model, heads, d_ff)
    "lesson": (1, 3, 4, 1, 8),
    "small": (1, 16, 32, 4, 128),
    "medium": (8, 64, 128, 4, 512),
    "large": (8, 128, 512, 8, 2048),
}
TRAINING = {"vocab_size": 100, "max_length": 64, "n_blocks": 4, "d_model": 128, "n_heads": 4, "d_ff": 512}
BATCH = 16
THREADS = 2


def is_installed(tool):
    return tool in ("minigrad", "matmuls") or importlib.util.find_spec(tool) is not None


def work(tool, task):
    """A function that does the task once with the tool: `block small`, `causal large`, `training`."""
    if tool == "minigrad":
        keep_freed_memory()  # as a training loop does
    kind, _, size = task.partition(" ")
    if kind == "training":
        return TRAINERS[tool]()
    return MAKERS[tool](*problem(size, causal=kind == "causal"))


def problem(size, causal=False):
    """A block with its weights, an input (B, T, d_model), and the weights of the loss."""
    n_batch, n_tokens, d_model, n_heads, d_ff = SIZES[size]
    block = TransformerBlock(d_model, n_heads, d_ff, causal=causal, dtype=np.float32, rng=0)
    rng = np.random.default_rng(1)
    x, weights = rng.normal(size=(2, n_batch, n_tokens, d_model)).astype(np.float32)
    return block, x, weights


def minigrad(block, x, weights):
    x = Tensor(x, requires_grad=True)
    weights = Tensor(weights)
    leaves = [x, *block.parameters()]

    def run():
        for leaf in leaves:
            leaf.grad = None
        (block(x) * weights).sum().backward(retain_grads=False)

    return run


def torch_eager(block, x, weights):
    import torch

    from tests.parity import torch_block

    torch.set_num_threads(THREADS)
    state = {name: value.requires_grad_() for name, value in torch_block.tensors(block).items()}
    x, weights, attention = torch.tensor(x, requires_grad=True), torch.tensor(weights), block.attention

    def run():
        for leaf in (x, *state.values()):
            leaf.grad = None
        y = torch_block.block(x, state, norm="post", n_heads=attention.n_heads, causal=attention.causal)
        (y * weights).sum().backward()

    return run


def mygrad(block, x, weights):
    import mygrad as mg

    state = {name: mg.tensor(value) for name, value in block.state_dict().items()}
    x = mg.tensor(x)

    def run():
        for leaf in (x, *state.values()):
            leaf.null_grad()
        y = numpy_block(x, state, block.attention, mg, mg.nnet.activations.softmax, mg.nnet.activations.relu)
        (y * weights).sum().backward()

    return run


def hips_autograd(block, x, weights):
    import autograd
    import autograd.numpy as anp

    def softmax(scores, axis):
        e = anp.exp(scores - anp.max(scores, axis=axis, keepdims=True))
        return e / anp.sum(e, axis=axis, keepdims=True)

    def relu(x):
        return anp.maximum(x, 0)

    def loss(x, state):
        return anp.sum(numpy_block(x, state, block.attention, anp, softmax, relu) * weights)

    gradient = autograd.grad(loss, argnum=(0, 1))
    state = block.state_dict()

    def run():
        gradient(x, state)

    return run


# What is added to the scores of a causal block: -1e9 where the key is later than the query.
FUTURE = {shape[1]: np.triu(np.full((shape[1], shape[1]), -1e9, np.float32), 1) for shape in SIZES.values()}


def numpy_block(x, state, attention, np, softmax, relu):
    """The block in the words of NumPy, for a tool whose module `np` has them."""
    n_batch, n_tokens, d_model = x.shape
    n_heads, d = attention.n_heads, d_model // attention.n_heads

    def linear(x, name):
        return np.matmul(x, state[f"{name}.weight"]) + state[f"{name}.bias"]

    def norm(x, name):
        centered = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(centered * centered, axis=-1, keepdims=True)
        return centered / np.sqrt(variance + 1e-5) * state[f"{name}.gain"] + state[f"{name}.bias"]

    def heads(name):
        return np.swapaxes(np.reshape(linear(x, f"attention.{name}"), (n_batch, n_tokens, n_heads, d)), 1, 2)

    scores = np.matmul(heads("query"), np.swapaxes(heads("key"), -1, -2)) / d**0.5
    if attention.causal:
        scores = scores + FUTURE[n_tokens]
    mixed = np.matmul(softmax(scores, axis=-1), heads("value"))
    merged = np.reshape(np.swapaxes(mixed, 1, 2), (n_batch, n_tokens, d_model))
    h = norm(x + linear(merged, "attention.output"), "attention_norm")
    return norm(h + linear(relu(linear(h, "feed_forward.up")), "feed_forward.down"), "feed_forward_norm")


def matmuls(block, x, weights):
    """The matrix products of the pass alone: the floor under every tool. For each Z = X Y also X' Z and Z Y'."""
    n_batch, n_tokens, d_model = x.shape
    n_heads, d_ff = block.attention.n_heads, block.feed_forward.up.weight.shape[1]
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


def training_data():
    """A model, and (B, T) tokens with those that follow them."""
    model = LanguageModel(**TRAINING, dtype=np.float32, rng=0)
    tokens = np.random.default_rng(0).integers(TRAINING["vocab_size"], size=(BATCH, TRAINING["max_length"] + 1))
    return model, tokens[:, :-1], tokens[:, 1:]


def train_minigrad():
    model, tokens, targets = training_data()
    optimizer = AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)

    def step():
        loss = cross_entropy(model(tokens), targets)
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        optimizer.step()

    return step


def train_torch():
    import torch

    from tests.parity import torch_block

    torch.set_num_threads(THREADS)
    model, tokens, targets = training_data()
    state = {name: value.requires_grad_() for name, value in torch_block.tensors(model).items()}
    tokens, targets = torch.tensor(tokens), torch.tensor(targets)
    options = {"norm": "pre", "n_heads": TRAINING["n_heads"], "causal": True}
    optimizer = torch.optim.AdamW(state.values(), lr=1e-3, weight_decay=0.01)

    def step():
        x = state["tokens.weight"][tokens] + state["positions.weight"][: tokens.shape[1]]
        x = torch_block.stack(x, state, TRAINING["n_blocks"], **options)
        logits = x @ state["tokens.weight"].T
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


TRAINERS = {"minigrad": train_minigrad, "torch": train_torch}
