"""The task of the demos."""

import numpy as np

from demos._pair_sums import all_sequences, random_sequences


def test_each_token_is_the_sum_of_the_two_before_it():
    tokens, following = all_sequences()
    assert tokens.shape == following.shape == (25, 8)
    assert len(np.unique(tokens[:, :2], axis=0)) == 25
    np.testing.assert_array_equal(tokens[:, 1:], following[:, :-1])
    np.testing.assert_array_equal(following[:, 1:], (tokens[:, 1:] + tokens[:, :-1]) % 5)
    assert random_sequences(7, np.random.default_rng(0))[0].shape == (7, 8)
