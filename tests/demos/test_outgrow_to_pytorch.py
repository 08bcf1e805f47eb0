"""Two processes of PyTorch go on where minigrad began: same loss, same gradients, same loss after 20 steps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the way out to PyTorch: pip install torch==2.13.0")


def test_both_agree():
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "demos.outgrow_to_pytorch"]
    options = {"capture_output": True, "text": True, "encoding": "utf-8", "env": environment}
    result = subprocess.run(command, **options, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    first, last = (line.split()[-2:] for line in result.stdout.splitlines() if line.startswith("loss"))
    assert float(first[0]) == pytest.approx(float(first[1]), abs=1e-9)
    assert float(last[0]) == pytest.approx(float(last[1]), abs=1e-9)
    assert float(last[0]) < float(first[0])
