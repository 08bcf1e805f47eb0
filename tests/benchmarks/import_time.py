"""What an import costs, as a whole process beside `import numpy`."""

import os
import subprocess
import sys

from tests.benchmarks.measuring import interleaved, median, ratio


def main():
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


if __name__ == "__main__":
    main()
