"""What several demos train is trained once."""

import pytest

from demos import _sorting


@pytest.fixture(scope="session")
def sorting_model():
    return _sorting.trained_model(n_steps=150)
