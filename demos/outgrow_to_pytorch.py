"""The way out for who outgrows NumPy: a model moves to PyTorch, and goes on training there on two processes.

The twin is made of PyTorch's own layers (`nn.Embedding`, `nn.TransformerEncoder`) and gets our weights as a state
dict. Each process reads half of every batch, and PyTorch's distributed data parallel averages their gradients. What to
look at: the first loss and all gradients are those that minigrad finds for the whole batch, and so is the loss after 20
steps of AdamW.

`python -m demos.outgrow_to_pytorch` starts both processes by itself, as `torchrun --nproc-per-node 2` does.
It needs `pip install torch`.
"""

import os
import subprocess
import sys

import numpy as np

from blocks import LanguageModel
from blocks.pretrained import torch_state
from blocks.transformer import Stack
from minigrad import cross_entropy
from minigrad.optim import AdamW

try:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel
except ImportError:
    raise SystemExit("outgrow_to_pytorch: pip install torch") from None

V, T, D_MODEL, N_HEADS, D_FF, N_BLOCKS, BATCH = 11, 12, 16, 2, 32, 2, 8
N_STEPS, N_PROCESSES, RATE, DECAY = 20, 2, 1e-2, 0.01
SAME = 1e-9  # float64, so only the order of sums differs


class Twin(nn.Module):
    """The same model of PyTorch's layers: its scores use the token embedding again."""

    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(V, D_MODEL)
        self.positions = nn.Embedding(T, D_MODEL)
        layer = nn.TransformerEncoderLayer(
            D_MODEL, N_HEADS, D_FF, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.stack = nn.TransformerEncoder(layer, N_BLOCKS, nn.LayerNorm(D_MODEL), enable_nested_tensor=False)

    def forward(self, tokens):
        n_tokens = tokens.shape[-1]
        future = nn.Transformer.generate_square_subsequent_mask(n_tokens, dtype=torch.float64)
        x = self.tokens(tokens) + self.positions(torch.arange(n_tokens))
        return self.stack(x, mask=future, is_causal=True) @ self.tokens.weight.T


def main():
    if "RANK" not in os.environ:
        sys.exit(launch())
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    first_loss, gradients, last_loss = train_twin(our_model())
    if torch.distributed.get_rank() == 0:
        report(first_loss, gradients, last_loss)
    torch.distributed.destroy_process_group()


def launch():
    """Start this script once for each process, as `torchrun` does."""
    arguments = ["--standalone", "--nproc-per-node", str(N_PROCESSES), "-m", "demos.outgrow_to_pytorch"]
    command = [sys.executable, "-m", "torch.distributed.run", *arguments]
    return subprocess.run(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, check=False).returncode


def our_model():
    return LanguageModel(V, T, N_BLOCKS, D_MODEL, N_HEADS, D_FF, activation="gelu_exact", rng=0)


def batches():
    """One batch again and again: sequences (BATCH, T + 1) whose tokens are each the sum of the two before, modulo V."""
    tokens = np.random.default_rng(1).integers(V, size=(BATCH, T + 1))
    for i in range(2, T + 1):
        tokens[:, i] = (tokens[:, i - 1] + tokens[:, i - 2]) % V
    return [tokens] * N_STEPS


def twin_state(weights):
    """The weights of our model, or their gradients, under the twin's names."""
    stack = Stack(N_BLOCKS, D_MODEL, N_HEADS, D_FF, norm="pre")
    stack.load_state_dict({name: weights[name] for name, _ in stack.named_parameters()})
    embeddings = {name: weights[name] for name in ("tokens.weight", "positions.weight")}
    return embeddings | {f"stack.{name}": array for name, array in torch_state(stack).items()}


def train_twin(model):
    """Train the twin on this process's share of each batch; the first loss, the first gradients and the last loss."""
    rank = torch.distributed.get_rank()
    twin = Twin()
    twin.load_state_dict({name: torch.from_numpy(array) for name, array in twin_state(model.state_dict()).items()})
    parallel = DistributedDataParallel(twin)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=RATE, weight_decay=DECAY)
    losses, gradients = [], {}
    for tokens in batches():
        share = torch.from_numpy(np.array_split(tokens, N_PROCESSES)[rank])
        loss = nn.functional.cross_entropy(parallel(share[:, :-1]).flatten(0, 1), share[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        if not losses:
            gradients = {name: parameter.grad.numpy().copy() for name, parameter in twin.named_parameters()}
        optimizer.step()
        mean = loss.detach().clone()
        torch.distributed.all_reduce(mean)
        losses.append(mean.item() / N_PROCESSES)
    return losses[0], gradients, losses[-1]


def train_ours(model):
    """The same in NumPy, on whole batches."""
    optimizer = AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    losses, gradients = [], {}
    for tokens in batches():
        loss = cross_entropy(model(tokens[:, :-1]).reshape(-1, V), tokens[:, 1:].ravel())
        optimizer.zero_grad()
        loss.backward(retain_grads=False)
        if not losses:
            gradients = twin_state({name: parameter.grad for name, parameter in model.named_parameters()})
        optimizer.step()
        losses.append(loss.item())
    return losses[0], gradients, losses[-1]


def report(first_loss, gradients, last_loss):
    """Print both side by side; a difference ends the demo with an error."""
    our_first, our_gradients, our_last = train_ours(our_model())
    worst = max(np.abs(our_gradients[name] - gradient).max() for name, gradient in gradients.items())
    print(f"{'':22} {'minigrad':>18} {f'PyTorch, {N_PROCESSES} processes':>22}")
    print(f"{'loss of the first step':22} {our_first:18.12f} {first_loss:22.12f}")
    print(f"{f'loss after {N_STEPS} steps':22} {our_last:18.12f} {last_loss:22.12f}")
    print(f"\n{len(gradients)} gradients of the first step differ by at most {worst:.1e}.")
    if max(worst, abs(our_first - first_loss), abs(our_last - last_loss)) > SAME:
        raise SystemExit("The two do not agree.")


if __name__ == "__main__":
    main()
