"""blocks: the Transformer, built on minigrad alone, with minigrad's tools for the gradient through its residuals."""

import importlib
from typing import TYPE_CHECKING

from blocks.attention import KeyValueCache, MultiHeadAttention
from blocks.feed_forward import FeedForward, GeGLU, SwiGLU
from blocks.language_model import LanguageModel
from blocks.layers import Dropout, Embedding, LayerNorm, Linear, RMSNorm
from blocks.lesson import lesson_block
from blocks.positions import Rotary, Sinusoidal
from blocks.trace import ParameterTable, Trace
from blocks.transformer import Stack, TransformerBlock
from minigrad import residuals
from minigrad.recording import add_library_folder

LENSES = ("GradientLens", "LogitLens", "gradient_lens", "logit_lens")  # loaded when they are first asked for

if TYPE_CHECKING:
    from blocks.lens import GradientLens, LogitLens, gradient_lens, logit_lens
    from blocks.plots import plot_attention
    from minigrad.residuals import (
        Comparison,
        Difference,
        GradientFault,
        GradientFaults,
        GradientPaths,
        ResidualGradient,
        ResidualGradients,
        ResidualStream,
        ResidualWrite,
        compare,
        draw_residual_gradients,
        draw_residual_stream,
        gradient_faults,
        gradient_paths,
        plot_path_lengths,
        plot_residual_gradients,
        plot_residual_stream,
        residual_gradients,
        residual_stream,
    )
else:  # hidden from type checkers, which would otherwise accept any name

    def __getattr__(name):
        if name in residuals.__all__:
            return getattr(residuals, name)
        if name in LENSES:
            return getattr(importlib.import_module("blocks.lens"), name)
        if name == "plot_attention":
            return importlib.import_module("blocks.plots").plot_attention
        raise AttributeError(f"module 'blocks' has no attribute {name!r}")

    def __dir__():  # for Tab and help(), which would not see what is loaded on demand
        return __all__


add_library_folder(__file__)

__all__ = [
    "Comparison",
    "Difference",
    "Dropout",
    "Embedding",
    "FeedForward",
    "GeGLU",
    "GradientFault",
    "GradientFaults",
    "GradientLens",
    "GradientPaths",
    "KeyValueCache",
    "LanguageModel",
    "LayerNorm",
    "Linear",
    "LogitLens",
    "MultiHeadAttention",
    "ParameterTable",
    "RMSNorm",
    "ResidualGradient",
    "ResidualGradients",
    "ResidualStream",
    "ResidualWrite",
    "Rotary",
    "Sinusoidal",
    "Stack",
    "SwiGLU",
    "Trace",
    "TransformerBlock",
    "compare",
    "draw_residual_gradients",
    "draw_residual_stream",
    "gradient_faults",
    "gradient_lens",
    "gradient_paths",
    "lesson_block",
    "logit_lens",
    "plot_attention",
    "plot_path_lengths",
    "plot_residual_gradients",
    "plot_residual_stream",
    "residual_gradients",
    "residual_stream",
]
