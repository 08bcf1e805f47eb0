"""Other people's weights, in and out: sentence encoders, GPT-2's layout, GGUF files, PyTorch's layers, safetensors."""

from blocks.pretrained.encoder import SentenceEncoder, load_sentence_encoder
from blocks.pretrained.files import read_safetensors, save_safetensors
from blocks.pretrained.gguf_files import ChatTokenizer, load_gguf
from blocks.pretrained.gpt2 import load_gpt2, save_gpt2
from blocks.pretrained.torch_layers import load_torch_state, torch_state

__all__ = [
    "ChatTokenizer",
    "SentenceEncoder",
    "load_gguf",
    "load_gpt2",
    "load_sentence_encoder",
    "load_torch_state",
    "read_safetensors",
    "save_gpt2",
    "save_safetensors",
    "torch_state",
]
