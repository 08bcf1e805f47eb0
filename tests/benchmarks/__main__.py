"""Run the benchmarks: `python -m tests.benchmarks`."""

import os

# A variable that pins an old kernel of OpenBLAS would measure that kernel; it must be gone before NumPy comes.
for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "2"

import importlib.util
import platform

import numpy as np

from tests.benchmarks import block_speed, growth, path_tools, processes, unused_debugging, where_time_goes


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
    processes.main()
    unused_debugging.main()
