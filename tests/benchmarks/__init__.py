"""Benchmarks: ratios beside peers, measured in turn in one run. `python -m tests.benchmarks` runs them all."""
