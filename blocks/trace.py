"""What a model computed on the way from tokens to scores, by name; and where its parameters are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from minigrad import Module, Tensor
from minigrad.backprop import topological_order
from minigrad.ops.residual import ResidualAdd
from minigrad.ops.softmax import Softmax
from minigrad.precision import norm
from minigrad.residuals.tables import Printed, Table


class Trace(Printed, Mapping[str, Tensor]):
    """The tensors of one pass through a model by name, in the order in which they were computed.

    They are those of the graph, so after a backward pass each has its gradient in `grad`. `print()` gives a table.

    embeddings                      (..., T, d_model)   what goes into the first block
    blocks.0.attention.weights      (..., H, T, T)      each row a query, whose weights add up to 1
    blocks.0.attention_residual     (..., T, d_model)   the stream behind attention
    blocks.0.feed_forward_residual  (..., T, d_model)   the stream behind the feed-forward network
    final_norm                      (..., T, d_model)   if there is one
    logits                          (..., T, V)

    Attributes:
        tokens: what the model read.
        logits: the scores, to compute a loss from.
    """

    def __init__(self, tokens: np.ndarray, logits: Tensor, scope: tuple[str, ...] = ()):
        if logits.op is None:
            raise RuntimeError(
                "trace: nothing was recorded, so there is nothing to look at. Call it outside of no_grad(), and with "
                "parameters that require a gradient"
            )
        self.tokens, self.logits = tokens, logits
        self.tensors: dict[str, Tensor] = {}
        for tensor in reversed(topological_order(logits)):
            if tensor.op is None:
                continue
            place = ".".join(tensor.op.scope[len(scope) :])
            if not place.startswith("blocks.") and not self.tensors.keys() - {"embeddings"}:
                self.tensors["embeddings"] = tensor  # the last one before the first block
            elif isinstance(tensor.op, ResidualAdd):
                self.tensors[tensor.op.path[len(".".join((*scope, ""))) :]] = tensor
            elif isinstance(tensor.op, Softmax):
                self.tensors[f"{place}.weights"] = tensor
            elif place == "final_norm":
                self.tensors["final_norm"] = tensor
        self.tensors["logits"] = logits

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise KeyError(f"the trace has no tensor {name!r}; it has {', '.join(self.tensors)}")
        return self.tensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def __repr__(self) -> str:
        return f"<Trace of tokens {self.tokens.shape}: {len(self)} tensors>"

    def table(self, rows: int | None = None) -> Table:
        shown = [
            (
                name,
                str(tensor.shape),
                f"{norm(tensor.data):.4g}",
                "-" if tensor.grad is None else f"{norm(tensor.grad):.4g}",
            )
            for name, tensor in self.items()
        ]
        title = f"What was computed from tokens of shape {self.tokens.shape}"
        return Table(
            title, ("tensor", "shape", "|value|", "|gradient|"), shown[:rows], "|.| is the norm over all elements."
        )

    def to_dicts(self) -> list[dict[str, Any]]:
        return [{"name": name, "value": tensor.data, "gradient": tensor.grad} for name, tensor in self.items()]


class ParameterTable(Printed, dict[str, int]):
    """The number of parameters by part of a model; `print()` gives a table."""

    def __init__(self, counts: Mapping[str, int] | None = None):
        super().__init__(counts or {})

    def __repr__(self) -> str:
        return f"<ParameterTable: {sum(self.values()):,} parameters in {len(self)} parts>"

    def table(self, rows: int | None = None) -> Table:
        whole = sum(self.values())
        shown = [(part, f"{count:,}", f"{count / whole:.1%}") for part, count in self.items()]
        shown = [*shown[:rows], ("sum", f"{whole:,}", "100.0%")]
        return Table("Parameters by part", ("part", "parameters", "share"), shown, total=True)

    def to_dicts(self) -> list[dict[str, Any]]:
        return [{"part": part, "parameters": count} for part, count in self.items()]


def count_parameters(model: Module) -> ParameterTable:
    """See `LanguageModel.parameter_table`."""
    parts = ParameterTable()
    for name, parameter in model.named_parameters():
        part = part_of(name.split(".")[:-1])
        parts[part] = parts.get(part, 0) + parameter.size
    return parts


def part_of(words):
    """The part that a parameter belongs to, from the names of the modules around it."""
    for word in words:
        if word.endswith("norm"):
            return "norms"
        if word in ("attention", "feed_forward"):
            return word
    return {"tokens": "token embedding", "positions": "position embedding"}.get(words[0], words[0])
