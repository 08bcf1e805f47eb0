"""One block, and a step of training, beside other tools, each alone in a process of its own.

`python -m tests.benchmarks.block_speed`; `--quick` leaves out all peers but PyTorch and the matrix products.
"""

import os
import sys

from tests.benchmarks.alone import in_turn
from tests.benchmarks.peers import SIZES, is_installed

TOOLS = ("minigrad", "torch", "mygrad", "autograd", "matmuls")
TARGETS = {  # times PyTorch eager
    "block lesson": 0.8,
    "block small": 0.6,
    "block medium": 1.0,
    "block large": 1.0,
    "causal lesson": 0.8,
    "causal small": 0.6,
    "causal medium": 1.0,
    "causal large": 1.0,
    "training": 1.2,
}
LOADED = 0.5  # other work that keeps this many cores busy makes the figures doubtful


def main(rounds=3):
    print("Forward and backward of one post-norm block, and a training step of a language model; float32, two threads.")
    print(f"Each tool is alone in its process, in turn, {rounds} rounds: the best median of each, their ratio, and in")
    print("brackets the smallest and the largest ratio of a round.\n")
    say_load()
    tools = [tool for tool in TOOLS if is_installed(tool)]
    print(f"\n{'task':15} {'(B, T, d, H, d_ff)':24} {'ours':>10}   ours / peer")
    for task, target in TARGETS.items():
        kind, _, size = task.partition(" ")
        here = [tool for tool in tools if tool in ("minigrad", "torch") or kind != "training"]
        results = in_turn(here, task, rounds)
        ours, memory = results["minigrad"]
        beside = [f"{tool} {ratio(ours, results[tool][0])}" for tool in here if tool != "minigrad"]
        line = f"{task:15} {SIZES.get(size, '')!s:24} {min(ours) * 1e3:8.3f}ms   {', '.join(beside)}; target {target}"
        if "torch" in here and size in ("large", ""):
            line += f"; peak memory {min(memory):.0f} MB, torch {min(results['torch'][1]):.0f} MB"
        print(line, flush=True)
    if missing := [tool for tool in TOOLS if not is_installed(tool)]:
        print(f"\nNot installed, so not compared: {', '.join(missing)}. Install them with pip to see them here.")


def ratio(ours, others):
    rounds = [a / b for a, b in zip(ours, others, strict=True)]
    return f"{min(ours) / min(others):.2f} [{min(rounds):.2f} {max(rounds):.2f}]"


def say_load():
    """The load of the last minute; a machine that others use too is said to be one."""
    if not hasattr(os, "getloadavg"):
        print("The machine's load is not known here.")
        return
    load = os.getloadavg()[0]
    verdict = "" if load < LOADED else ": THE MACHINE IS LOADED, so these figures are not to be quoted"
    print(f"Load of the last minute: {load:.2f}, {os.cpu_count()} cores{verdict}")


if __name__ == "__main__":
    if "--quick" in sys.argv:
        TOOLS = ("minigrad", "torch", "matmuls")
    main()
