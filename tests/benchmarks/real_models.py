"""Forward and backward of 32 tokens through the two real models, beside PyTorch eager.

`python -m tests.benchmarks.real_models`. Each tool is alone in its process, in turn. In both, all weights get their
gradients. The peak memory is the process's, reading the model included, less what it had before.
"""

import subprocess
import sys

import numpy as np

from demos._models import minilm_folder, smollm2_file
from tests.benchmarks.alone import ENVIRONMENT, measure, peak_memory
from tests.benchmarks.block_speed import say_load

TARGETS = {"minilm": (1.7, None), "smollm2": (2.0, 1.6)}  # times PyTorch: seconds, memory
TOKENS = np.arange(1000, 1032)


def main(rounds=3):
    say_load()
    for model, (time_target, memory_target) in TARGETS.items():
        found = {"minigrad": [], "torch": []}
        for _ in range(rounds):
            for tool, results in found.items():
                results.append(run_alone(tool, model))
        (ours, our_memory), (theirs, their_memory) = (np.array(found[tool]).T for tool in found)
        ratios = ours / theirs
        time_ratio, memory_ratio = ours.min() / theirs.min(), our_memory.min() / their_memory.min()
        print(
            f"{model}: {ours.min() * 1e3:.1f} ms, PyTorch {theirs.min() * 1e3:.1f} ms, ratio {time_ratio:.2f}", end=" "
        )
        print(
            f"[{ratios.min():.2f} {ratios.max():.2f}], target {time_target}; peak memory {our_memory.min():.0f} MB,",
            end=" ",
        )
        print(f"PyTorch {their_memory.min():.0f} MB, ratio {memory_ratio:.2f}, target {memory_target}", flush=True)


def run_alone(tool, model):
    command = [sys.executable, "-m", "tests.benchmarks.real_models", tool, model]
    result = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8", env=ENVIRONMENT)
    return tuple(map(float, result.stdout.split()[-2:]))


def alone(tool, model):
    before = peak_memory()
    run = {"minigrad": ours, "torch": theirs}[tool](model)
    seconds, _ = measure(run)
    print(seconds, peak_memory() - before)


def ours(name):
    from blocks.pretrained import load_gguf, load_sentence_encoder

    model = load_sentence_encoder(minilm_folder()) if name == "minilm" else load_gguf(smollm2_file())[0]

    def run():
        model.zero_grad()
        model(TOKENS).mean().backward(retain_grads=False)

    return run


def theirs(name):
    import torch
    import transformers

    torch.set_num_threads(2)
    tokens = torch.from_numpy(TOKENS)[None]
    if name == "minilm":
        model = transformers.BertModel.from_pretrained(minilm_folder(), add_pooling_layer=False)
    else:
        file = smollm2_file()
        options = {"gguf_file": file.name, "dtype": torch.float32}
        model = transformers.AutoModelForCausalLM.from_pretrained(file.parent, **options)
    model.eval()

    def run():
        model.zero_grad()
        model(tokens)[0].mean().backward()

    return run


if __name__ == "__main__":
    alone(*sys.argv[1:]) if len(sys.argv) > 1 else main()
