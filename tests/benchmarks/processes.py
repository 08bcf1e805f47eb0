"""What needs a process of its own: the time of an import, and the peak memory of a training step."""

import os
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.measuring import interleaved, median, ratio
from tests.benchmarks.peers import MAKERS, is_installed, problem


def main():
    import_time()
    peak_memory()


def import_time():
    commands = {module: [sys.executable, "-c", f"import {module}"] for module in ("numpy", "minigrad", "blocks")}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = {
        module: lambda command=command: subprocess.run(command, check=True, env=environment)
        for module, command in commands.items()
    }
    times = interleaved(runs, seconds=2.5, least=15)
    print("\nImport, whole process beside `import numpy`\n")
    for module in ("minigrad", "blocks"):
        middle, low, high = ratio(times, module, "numpy")
        print(f"  {module:10} {median(times[module]) * 1e3:6.1f} ms, {middle:.2f} [{low:.2f} {high:.2f}] times")


def peak_memory():
    print("\nPeak memory of a training step over what was there before it, large size, MB\n")
    if not Path("/proc/self/status").exists():
        print("  not measured: it takes Linux's /proc")
        return
    for peer in ("minigrad", "torch"):
        if not is_installed(peer):
            print(f"  {peer:10} not installed")
            continue
        command = [sys.executable, "-m", "tests.benchmarks.processes", peer]
        result = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"  {peer:10} {float(result.stdout):7.1f}")


def one_step(peer):
    """Print by how much the peak of the process's memory rises in one step of training, in MB."""
    run = MAKERS[peer](*problem("large"))
    MAKERS[peer](*problem("lesson"))()  # what a first pass loads once is not the step's
    before = peak()
    run()
    print(peak() - before)


def peak():
    """The largest resident memory of this process so far, in MB. (Linux's ru_maxrss would count the parent's too.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    one_step(sys.argv[1])
