"""A sample of the random programs on small dtypes; `python -m tests.parity.small_dtypes` runs 10,000."""

import pytest

pytest.importorskip("torch", reason="parity with PyTorch: pip install torch==2.13.0")
from tests.parity import small_dtypes


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("block", range(4))
def test_random_programs_on_small_dtypes(block):
    wrong = [words for seed in range(100 * block, 100 * block + 100) for words in small_dtypes.run(seed)[1]]
    assert not wrong
