"""Lenses: what a language model would say at each depth of its stream, and what the gradient asks of it there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.language_model import LanguageModel
from minigrad import Tensor
from minigrad.backprop import topological_order
from minigrad.drawing.colors import BRANCH, LIGHT, SKIP, TEXT
from minigrad.graph import stream_start
from minigrad.residuals import residual_stream
from minigrad.residuals.plots import caption, new_figure, saved
from minigrad.residuals.split import Between
from minigrad.residuals.tables import Printed, Table, percent, short, signed
from minigrad.types import TensorLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Words = Sequence[str] | Callable[[int], str] | None
DEPTHS = 26  # a table shows so many at first
POSITIONS = 12  # and so many positions, the last ones


def logit_lens(model: LanguageModel, tokens: TensorLike, words: Words = None) -> LogitLens:
    """What the model would say if it ended after each residual: the stream there, read as the model reads its end.

    All that the model does behind its last residual (the final norm, and the map to one score for each token) is done
    to the stream at every depth, so the norm is computed anew from what is there; the last depth gives the model's own
    logits bit for bit. The depths are the start of the stream, and each residual, those in the middle of a block too.
    (nostalgebraist 2020, "interpreting GPT: the logit lens")

    Dropout is off while it looks. No `grad` is changed.

    Args:
        model: a language model with parameters that require a gradient, since it is read from the recorded graph.
        tokens: integers, (..., T).
        words: how tokens are written in tables and plots: a text for each, or a function from a token to a text, as
            the `decode` of a tokenizer is.

    Returns:
        A `LogitLens`: `print()` of it is a table of the last position; `.logits` is (n_depths, ..., T, V).

    Raises:
        ValueError: nothing was recorded, or the model has no residual.

    >>> model = LanguageModel(vocab_size=10, max_length=8, n_blocks=2, d_model=4, n_heads=2, d_ff=8, rng=0)
    >>> lens = logit_lens(model, [1, 2, 3])
    >>> lens.logits.shape
    (5, 3, 10)
    >>> bool((lens.logits[-1] == model([1, 2, 3]).data).all())
    True
    """
    logits = recorded_logits(model, tokens)
    names, streams = depths_of(logits)
    behind = made_behind(streams[-1], logits)
    read = [read_like_the_end(stream.data, streams[-1], behind) for stream in streams]
    return LogitLens(names, np.stack(read), np.asarray(tokens.data if isinstance(tokens, Tensor) else tokens), words)


def gradient_lens(
    model: LanguageModel, tokens: TensorLike, loss: Callable[[Tensor], Tensor], words: Words = None
) -> GradientLens:
    """The backward twin: the gradient at each depth of the stream, read in the vocabulary.

    A step of the stream h down the gradient, -dL/dh, is compared with the direction of each token in the matrix U that
    makes scores of the stream:  reading = -dL/dh U.  It says how fast the loss falls if the stream moves along that
    token's direction: what the layers before are asked to write. The norm at the end is left out, as a gradient is a
    direction, which has no place to be normalized at.   (Katz, Belinkov, Geva and Wolf 2024, "Backward Lens")

    Args:
        model, tokens, words: as in `logit_lens`.
        loss: the loss as a function of the logits, such as ``lambda logits: cross_entropy(logits, following)``.

    Returns:
        A `GradientLens`; `.readings` is (n_depths, ..., T, V).

    Raises:
        ValueError: as `logit_lens`.

    >>> from minigrad import cross_entropy
    >>> model = LanguageModel(vocab_size=10, max_length=8, n_blocks=2, d_model=4, n_heads=2, d_ff=8, rng=0)
    >>> lens = gradient_lens(model, [1, 2, 3], lambda logits: cross_entropy(logits, [2, 3, 4]))
    >>> lens.readings.shape
    (5, 3, 10)
    """
    logits = recorded_logits(model, tokens)
    names, _ = depths_of(logits)
    stream = residual_stream(loss(logits), stream_start(logits))
    writes = {write.name: write for write in (stream.start, *stream)}
    gradients = [writes[stream.start.name].gradient, *(writes[name].gradient for name in names[1:])]
    unembedding = model.tokens.weight.data.T if model.output is None else model.output.weight.data  # (d_model, V)
    readings = np.stack([-gradient @ unembedding for gradient in gradients])
    return GradientLens(names, readings, np.asarray(tokens.data if isinstance(tokens, Tensor) else tokens), words)


def recorded_logits(model, tokens):
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        logits = model(tokens)
    finally:
        for module, mode in modes:
            module.training = mode
    if not logits.requires_grad:
        raise ValueError(
            "a lens reads the recorded graph, and nothing was recorded: call it outside of no_grad(), on a model whose "
            "parameters require a gradient"
        )
    return logits


def depths_of(logits):
    """The names and tensors of the stream: where it begins, and behind each residual that is as wide as that."""
    start = stream_start(logits)
    between = Between(logits, start)
    results = {tensor.op: tensor for tensor in between.order if tensor.op is not None}
    residuals = {name: results[op] for op, name in between.residuals.items() if results[op].shape == start.shape}
    return ["embeddings", *residuals], [start, *residuals.values()]


def made_behind(tensor, output):
    """What was made from a tensor on the way to `output`, oldest first."""
    found = {tensor: None}
    for other in reversed(topological_order(output)):
        if other.op is not None and not found.keys().isdisjoint(other.op.inputs):
            found[other] = None
    return list(found)[1:]


def read_like_the_end(stream, end, behind):
    """The logits that `stream` gives in the place of `end`: the ops behind that, run once more on copies."""
    values = {end: stream}
    for tensor in behind:
        op = copy.copy(tensor.op)
        values[tensor] = np.asarray(op.forward(*(values.get(x, x.data) for x in op.inputs)))
    return values[behind[-1]] if behind else stream


class Lens(Printed):
    """A score for each token of the vocabulary, at each depth and position.

    Attributes:
        names: of the depths, from the start of the stream to its end.
        scores: (n_depths, ..., T, V)
        tokens: (..., T), what the model read.
        words: how tokens are written.
    """

    title = ""
    note = ""
    color = SKIP

    def __init__(self, names: list[str], scores: np.ndarray, tokens: np.ndarray, words: Words = None):
        self.names, self.scores, self.tokens, self.words = names, scores, tokens, words

    @property
    def sizes(self) -> np.ndarray:
        """What a table or plot shows of each score."""
        return self.scores

    def size_text(self, size: float) -> str:
        return signed(size)

    def word(self, token: int) -> str:
        """A token as it is written; what does not print is made visible."""
        if self.words is None:
            return str(token)
        word = self.words(int(token)) if callable(self.words) else self.words[int(token)]
        return word if word.isprintable() and word.strip() else repr(word)

    def top(self, k: int = 5, position: int | tuple[int, ...] = -1) -> list[list[tuple[int, float]]]:
        """At each depth the k tokens with the largest score at a position, with what the table shows of it."""
        scores = self.at(self.scores, position)  # (n_depths, V)
        sizes = self.at(self.sizes, position)
        order = np.argsort(-scores, axis=-1, kind="stable")[:, :k]
        return [[(int(v), float(sizes[i, v])) for v in row] for i, row in enumerate(order)]

    def at(self, array, position):
        """The part of an array at a position: its number in the (first) sequence, or an index (sequence, ..., T)."""
        index = position if isinstance(position, tuple) else (*((0,) * (self.tokens.ndim - 1)), position)
        where = (slice(None), *index)
        return array[where]

    def table(self, rows: int | None = DEPTHS, position: int | tuple[int, ...] | None = -1, k: int = 5) -> Table:
        """The k first tokens at each depth, at one position; or with position=None the first one at every position.

        If there are more than `rows` depths, evenly spaced ones are shown, the last one among them.
        """
        n = len(self.names)
        shown = list(range(n)) if rows is None or n <= rows else sorted({round(i) for i in np.linspace(0, n - 1, rows)})
        if position is None:
            T = self.tokens.shape[-1]
            places = range(max(0, T - POSITIONS), T)
            best = [[self.word(self.top(1, place)[i][0][0]) for place in places] for i in shown]
            header = tuple(self.word(token) for token in self.tokens.reshape(-1, T)[0, places.start :])
            what = "the first token at each position; the header is what the model read there"
        else:
            top = self.top(k, position)
            best = [[f"{self.word(v)} {self.size_text(size)}" for v, size in top[i]] for i in shown]
            header = tuple(str(i) for i in range(1, len(top[0]) + 1))
            what = f"the {len(top[0])} first tokens at position {position}"
        cells = [(short(self.names[i]), *row) for i, row in zip(shown, best, strict=True)]
        hidden = "" if len(shown) == n else f"\n{len(shown)} of {n} depths; .table(rows=None) shows all."
        return Table(f"{self.title}: {what}", ("behind", *header), cells, self.note + hidden)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One for each depth: name, scores (..., T, V), and what the tables show of them."""
        return [
            {"name": name, "scores": scores, "sizes": sizes}
            for name, scores, sizes in zip(self.names, self.scores, self.sizes, strict=True)
        ]

    def plot(self, path: str | Path | None = None, sequence: int | tuple[int, ...] = 0) -> Figure:
        """A heat map, depth by position: in each place the first token, coloured by what the table shows of it.

        Args:
            path: a file to write; the suffix decides the format (png, svg, pdf). None writes nothing.
            sequence: which one, if there are several.

        Raises:
            ImportError: matplotlib is not installed.
        """
        every: tuple[Any, ...] = (slice(None),)
        index: tuple[int, ...] = (
            () if self.tokens.ndim == 1 else sequence if isinstance(sequence, tuple) else (sequence,)
        )
        scores, sizes = (array[every + index] for array in (self.scores, self.sizes))  # (n_depths, T, V)
        first = scores.argmax(axis=-1)
        shown = np.take_along_axis(sizes, first[..., None], -1)[..., 0]
        n, T = first.shape
        figure, (axes,) = new_figure(1)
        from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415  as optional as matplotlib is

        figure.set_size_inches(max(6, 2.6 + 0.75 * T), max(3.2, 1.8 + 0.32 * n))
        colors = LinearSegmentedColormap.from_list("lens", [LIGHT["paper"], self.color])
        image = axes.imshow(shown, cmap=colors, vmin=0, vmax=max(shown.max(), 1e-300), aspect="auto")
        for i in range(n):
            for t in range(T):
                ink = LIGHT["paper"] if shown[i, t] > 0.6 * shown.max() else TEXT
                axes.text(t, i, self.word(first[i, t]), ha="center", va="center", fontsize=8, color=ink)
        axes.grid(visible=False)
        axes.set_xticks(range(T), [self.word(token) for token in self.tokens[index]])
        axes.set_yticks(range(n), [short(name) for name in self.names], fontsize=8)
        axes.set_xlabel("what the model read at each position")
        axes.set_ylabel("behind (the input is on top)")
        axes.set_title(self.title)
        figure.colorbar(image, label=self.colorbar, pad=0.02)
        caption(figure, self.note.replace("\n", " "))
        return saved(figure, path)

    colorbar = "score"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.names)} depths, tokens {self.tokens.shape}>"


class LogitLens(Lens):
    """What the model would say behind each residual; see `logit_lens`."""

    title = "Logit lens"
    note = "The stream behind each residual, read by what the model does at its end, with the norm computed anew there."
    colorbar = "probability of that token"

    @property
    def logits(self) -> np.ndarray:
        """(n_depths, ..., T, V); the last ones are the model's own."""
        return self.scores

    @property
    def probabilities(self) -> np.ndarray:
        """softmax of the logits, (n_depths, ..., T, V)."""
        e = np.exp(self.scores - self.scores.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    @property
    def sizes(self) -> np.ndarray:
        return self.probabilities

    def size_text(self, size: float) -> str:
        return percent(size)


class GradientLens(Lens):
    """The gradient behind each residual, read in the vocabulary; see `gradient_lens`."""

    title = "Gradient lens"
    note = (
        "How fast the loss falls if the stream moves along a token's output direction: what the layers before that\n"
        "place are asked to write there."
    )
    color = BRANCH
    colorbar = "fall of the loss along that token"

    @property
    def readings(self) -> np.ndarray:
        """-dL/dh U, (n_depths, ..., T, V)."""
        return self.scores
