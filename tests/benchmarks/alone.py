"""One tool in a process of its own: two pools of threads in one process slow each other up to three times.

`python -m tests.benchmarks.alone torch block medium` prints the median time of one run of that task, in seconds, and by
how much the process's peak memory rose, in MB (nan where the system does not tell).
"""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# A variable that pins an old kernel of OpenBLAS would measure that kernel; it must be gone before NumPy comes.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
ENVIRONMENT |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "2")


def in_turn(tools, task, rounds=3):
    """Run the tools in turn, A B C A B C ..., each in a new process; for each its medians and its rises of memory."""
    found = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            found[tool].append(run_alone(tool, task))
    return {tool: tuple(zip(*results, strict=True)) for tool, results in found.items()}


def run_alone(tool, task):
    command = [sys.executable, "-m", "tests.benchmarks.alone", tool, *task.split()]
    result = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8", env=ENVIRONMENT)
    seconds, megabytes = map(float, result.stdout.split())
    return seconds, megabytes


def measure(run, seconds=1.5, least=5):
    """The median time of `run`, after three runs to warm up, and the rise of peak memory during the first."""
    before = peak_memory()
    run()
    rise = peak_memory() - before
    run(), run()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < least:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times), rise


def peak_memory():
    """The largest resident memory of this process so far, in MB. (Linux's ru_maxrss would count the parent's too.)"""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    return (
        next(
            int(line.split()[1]) for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
        )
        / 1024
    )


def main(tool, *task):
    from tests.benchmarks.peers import is_installed, work

    if not is_installed(tool):
        raise SystemExit(f"{tool} is not installed")
    if tool != "matmuls":
        work(tool, "block lesson")()  # what a first pass loads once is not the task's
    seconds, megabytes = measure(work(tool, " ".join(task)))
    print(seconds, megabytes)


if __name__ == "__main__":
    main(*sys.argv[1:])
