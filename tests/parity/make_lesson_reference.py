"""Write tests/minigrad/residuals/lesson_reference.json: what PyTorch makes of the lesson's block.

Run it with `python -m tests.parity.make_lesson_reference`; the tests read the file and need no PyTorch.
"""

import itertools
import json
from pathlib import Path

import torch

from blocks import lesson_block
from tests.parity import torch_block

TARGET = Path(__file__).parents[1] / "minigrad" / "residuals" / "lesson_reference.json"


def reference(norm):
    block, x = lesson_block(norm)
    state = torch_block.tensors(block)
    weights = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 10

    def run(ways):
        leaf = torch.tensor(x.data, requires_grad=True)
        y = torch_block.block(leaf, state, norm=norm, n_heads=1, eps=1e-9, ways=ways)
        loss = (y * weights).sum()
        loss.backward()
        return y, loss, leaf.grad

    y, loss, grad = run((None, None))
    routes = {" ".join(ways): run(ways)[2].tolist() for ways in itertools.product(("skip", "branch"), repeat=2)}
    return {"output": y.tolist(), "loss": loss.item(), "grad": grad.tolist(), "routes": routes}


if __name__ == "__main__":
    TARGET.write_text(
        json.dumps({norm: reference(norm) for norm in ("post", "pre")}, indent=1) + "\n", encoding="utf-8"
    )
