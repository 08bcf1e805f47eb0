"""The types on the public names: a strict checker accepts a user's program, and the values are what it says."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import blocks
import minigrad
from minigrad import optim
from tests import typing_usage

ROOT = Path(__file__).parents[1]
USES = [use for name, use in vars(typing_usage).items() if name.startswith(("use_", "misuse"))]
PUBLIC = [
    *(getattr(minigrad, name) for name in minigrad.__all__),
    *(getattr(blocks, name) for name in blocks.__all__),
    optim.SGD,
    optim.AdamW,
]


def test_a_strict_checker_accepts_a_users_program(tmp_path):
    pytest.importorskip("mypy", reason="the types are checked by mypy: pip install mypy")
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--no-error-summary", f"--cache-dir={tmp_path}"]
    options += ["--allow-any-generics"]  # a bare np.ndarray, which the stubs of NumPy complete from 2.3 on
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, typing_usage.__file__],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # an editable install hides the packages from mypy
        check=False,
    )
    assert checked.stdout + checked.stderr == ""


@pytest.mark.parametrize("use", USES)
def test_values_are_what_the_checker_says(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    use()


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_public_functions_and_constructors_have_types(public):
    signature = inspect.signature(public)
    assert [p for p in signature.parameters.values() if p.annotation is p.empty] == []
    assert inspect.isclass(public) or signature.return_annotation is not signature.empty
