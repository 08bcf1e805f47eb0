"""blocks: the Transformer, built on minigrad alone, with minigrad's tools for the gradient through its residuals."""

from typing import TYPE_CHECKING

from blocks.attention import MultiHeadAttention
from blocks.feed_forward import FeedForward, SwiGLU
from blocks.language_model import LanguageModel
from blocks.layers import Dropout, Embedding, LayerNorm, Linear, RMSNorm
from blocks.lesson import lesson_block
from blocks.transformer import Stack, TransformerBlock
from minigrad import residuals
from minigrad.recording import add_library_folder

if TYPE_CHECKING:
    from minigrad.residuals import (
        GradientFault,
        GradientFaults,
        GradientPaths,
        ResidualGradient,
        ResidualGradients,
        ResidualStream,
        ResidualWrite,
        draw_residual_gradients,
        gradient_faults,
        gradient_paths,
        plot_path_lengths,
        plot_residual_gradients,
        residual_gradients,
        residual_stream,
    )
else:  # hidden from type checkers, which would otherwise accept any name

    def __getattr__(name):
        if name in residuals.__all__:
            return getattr(residuals, name)
        raise AttributeError(f"module 'blocks' has no attribute {name!r}")

    def __dir__():  # for Tab and help(), which would not see what is loaded on demand
        return __all__


add_library_folder(__file__)

__all__ = [
    "Dropout",
    "Embedding",
    "FeedForward",
    "GradientFault",
    "GradientFaults",
    "GradientPaths",
    "LanguageModel",
    "LayerNorm",
    "Linear",
    "MultiHeadAttention",
    "RMSNorm",
    "ResidualGradient",
    "ResidualGradients",
    "ResidualStream",
    "ResidualWrite",
    "Stack",
    "SwiGLU",
    "TransformerBlock",
    "draw_residual_gradients",
    "gradient_faults",
    "gradient_paths",
    "lesson_block",
    "plot_path_lengths",
    "plot_residual_gradients",
    "residual_gradients",
    "residual_stream",
]
