"""blocks: the Transformer, built on minigrad alone."""

from blocks.attention import MultiHeadAttention
from blocks.feed_forward import FeedForward, SwiGLU
from blocks.gradient_faults import gradient_faults
from blocks.gradient_paths import gradient_paths, residual_gradients
from blocks.language_model import LanguageModel
from blocks.layers import Dropout, Embedding, LayerNorm, Linear, RMSNorm
from blocks.lesson import lesson_block
from blocks.plots import plot_path_lengths, plot_residual_gradients
from blocks.residual_picture import draw_residual_gradients
from blocks.transformer import Stack, TransformerBlock
from minigrad.recording import add_library_folder

add_library_folder(__file__)

__all__ = [
    "Dropout",
    "Embedding",
    "FeedForward",
    "LanguageModel",
    "LayerNorm",
    "Linear",
    "MultiHeadAttention",
    "RMSNorm",
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
]
