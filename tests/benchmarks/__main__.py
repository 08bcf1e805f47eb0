"""Run the benchmarks: `python -m tests.benchmarks`."""

import os

from tests.benchmarks.alone import ENVIRONMENT

os.environ.clear()
os.environ.update(ENVIRONMENT)  # before NumPy comes

import importlib.util
import platform

import numpy as np

from tests.benchmarks import block_speed, growth, import_time, path_tools, unused_debugging, where_time_goes


def say_what_runs():
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    if importlib.util.find_spec("threadpoolctl"):
        import threadpoolctl

        for library in threadpoolctl.threadpool_info():
            kernel = library.get("architecture", "")
            print(
                f"  {library['internal_api']} {library.get('version', '')} {kernel}, {library['num_threads']} threads"
            )
    print()


if __name__ == "__main__":
    say_what_runs()
    block_speed.main()
    where_time_goes.main()
    growth.main()
    path_tools.main()
    import_time.main()
    unused_debugging.main()
