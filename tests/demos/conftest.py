"""What several demos train is trained once."""

import sys

import pytest

from demos import _sorting


@pytest.fixture(scope="session")
def sorting_model():
    return _sorting.trained_model(n_steps=150)


@pytest.fixture
def in_an_empty_folder(monkeypatch, tmp_path):
    """For demos that train: they write files, and here they show in plain lines how far they are."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.chdir(tmp_path)
