"""Forward and backward of one block beside its peers, and beside its matrix products alone."""

from tests.benchmarks.measuring import interleaved, median, ratio
from tests.benchmarks.peers import SIZES, peers

TARGETS = {"lesson": 0.7, "small": 0.7, "medium": 1.2, "large": 1.1}


def main(seconds=2.0):
    print("One post-norm block, forward and backward, float32, two threads. Medians; quartiles in brackets.\n")
    print(f"{'size':8} {'(B, T, d, H, d_ff)':22} {'ours':>10}   ours / peer")
    for size, shape in SIZES.items():
        found, missing = peers(size)
        times = interleaved(found, seconds)
        beside = []
        for name in found:
            if name != "minigrad":
                middle, low, high = ratio(times, "minigrad", name)
                beside.append(f"{name} {middle:.2f} [{low:.2f} {high:.2f}]")
        ours = f"{median(times['minigrad']) * 1e3:8.3f}ms"
        target = f"; target beside torch {TARGETS[size]}" if "torch" in found else ""
        print(f"{size:8} {shape!s:22} {ours}   {', '.join(beside)}{target}")
    if missing:
        print(f"\nNot installed, so not compared: {', '.join(missing)}. Install them with pip to see them here.")
