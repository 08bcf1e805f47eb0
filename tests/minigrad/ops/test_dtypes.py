"""Which dtype comes out: the table in minigrad/ops/README.md, row by row, on every op and every small type."""

import re
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad import Tensor

README = Path(__file__).parents[3] / "minigrad" / "ops" / "README.md"
COLUMNS = {
    "bool": [np.bool_],
    "integers": [np.uint8, np.int8, np.int16, np.int32, np.uint32, np.int64],
    "float16": [np.float16],
    "float32": [np.float32],
    "float64": [np.float64],
}
TWO_INPUTS = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "matmul",
    "mse_loss",
    "residual_add",
}
CALLS = {
    **{name: getattr(mg, name) for name in mg.__all__ if getattr(mg, name).__module__.startswith("minigrad.ops.")},
    **{name: lambda x, name=name: getattr(mg, name)(x, x) for name in TWO_INPUTS},
    "where": lambda x: mg.where([True, False], x, x),
    "clip": lambda x: mg.clip(x, 0, 1),
    "einsum": lambda x: mg.einsum("i,i->", x, x),
    "linear": lambda x: mg.linear(x, x[:, None], x[:1]),
    "reshape": lambda x: mg.reshape(x, (1, 2)),
    "squeeze": lambda x: mg.squeeze(x[:, None]),
    "expand_dims": lambda x: mg.expand_dims(x, 0),
    "swapaxes": lambda x: mg.swapaxes(x, 0, 0),
    "broadcast_to": lambda x: mg.broadcast_to(x, (3, 2)),
    "getitem": lambda x: mg.getitem(x, 0),
    "split": lambda x: mg.split(x, 2)[0],
    "concatenate": lambda x: mg.concatenate([x, x]),
    "stack": lambda x: mg.stack([x, x]),
    "embedding": lambda x: mg.embedding(x[:, None], [0, 1]),
    "cross_entropy": lambda x: mg.cross_entropy(x, 0),
    "dropout": lambda x: mg.dropout(x, 0.5, rng=0),
}


def rows():
    """Each row of the table: the names of its ops, and what its columns say."""
    table = README.read_text(encoding="utf-8").partition("## Which dtype comes out")[2].partition("\n## ")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    assert lines[0][1:] == list(COLUMNS)
    return [(re.findall(r"`(\w+)`", ops), cells) for ops, *cells in lines[2:]]


ROWS = [(op, column, said) for ops, cells in rows() for op in ops for column, said in zip(COLUMNS, cells, strict=True)]


def test_every_op_has_its_row():
    ops = [op for op, column, _ in ROWS if column == "bool"]
    assert sorted(ops) == sorted(CALLS)


@pytest.mark.parametrize(("op", "column", "said"), ROWS, ids=lambda value: value)
def test_the_table_says_what_comes_out(op, column, said):
    for dtype in COLUMNS[column]:
        x = Tensor(np.array([1, 0 if op != "log" else 1]).astype(dtype))
        if said == "refused":
            with pytest.raises(TypeError):
                CALLS[op](x)
            continue
        with np.errstate(all="ignore"):
            got = CALLS[op](x).dtype
        assert got == {"same": x.dtype}.get(said, said) or (said == "64-bit" and got.kind in "iu" and got.itemsize == 8)


@pytest.mark.parametrize("op", [op for op, column, said in ROWS if column == "float16" and said == "same"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gradients_have_the_type_of_their_tensor(op, dtype):
    x = Tensor(np.array([1, 0.5], dtype), requires_grad=True)
    with np.errstate(all="ignore"):
        y = CALLS[op](x)
        y.backward(np.ones(y.shape, dtype))
    assert x.grad.dtype == y.grad.dtype == dtype
