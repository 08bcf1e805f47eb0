"""What every test and doctest can use."""

import numpy as np
import pytest

import minigrad
from minigrad import Tensor


@pytest.fixture(autouse=True)
def names_for_doctests(doctest_namespace):
    doctest_namespace.update(np=np, Tensor=Tensor, transpose=minigrad.transpose)
