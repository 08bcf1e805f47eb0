"""The hint to the allocator: harmless everywhere, and where glibc is, freed memory stays."""

import ctypes
import subprocess
import sys

import pytest

from minigrad import memory

FAULTS = """
import resource, sys
import numpy as np
from minigrad.memory import keep_freed_memory

def faults_of_a_pass():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(1 << 20)                  # 8 MB, made and freed
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

assert keep_freed_memory()
faults_of_a_pass()
print(faults_of_a_pass())
"""


def test_where_there_is_no_glibc_nothing_happens(monkeypatch):
    def no_library(name):
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", no_library)
    assert memory.keep_freed_memory() is False
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())  # a C library without mallopt, as musl is
    assert memory.keep_freed_memory() is False
    monkeypatch.setattr(sys, "platform", "darwin")
    assert memory.keep_freed_memory() is False


def test_freed_pages_are_used_again():
    if not sys.platform.startswith("linux") or not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        pytest.skip("the hint is for glibc: run this on a Linux system with glibc")
    result = subprocess.run(
        [sys.executable, "-c", FAULTS], check=True, capture_output=True, text=True, encoding="utf-8"
    )
    assert int(result.stdout) < 1000  # 20 arrays have 40,960 pages of 4 kB
