"""What every test and doctest can use."""

import numpy as np
import pytest

import minigrad
from minigrad import Tensor


@pytest.fixture(autouse=True)
def names_for_doctests(doctest_namespace):
    doctest_namespace.update(np=np, Tensor=Tensor, transpose=minigrad.transpose)


@pytest.fixture(autouse=True)
def numbers_are_printed_as_ever():
    with np.printoptions():  # a demo that sets its own does so for itself alone
        yield
