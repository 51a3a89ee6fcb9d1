import pytest

from lab.analysis.acceptance import compare


def verdict(differences, bound=0.05):
    return compare([100 * (1 + d) for d in differences], [100] * len(differences), bound).verdict


def test_five_close_pairs_agree():
    assert verdict([0.01, -0.02, 0.03, 0.0, 0.02]) == "agrees"


def test_a_clear_difference_differs():
    assert verdict([0.10, 0.11, 0.10, 0.09, 0.10]) == "differs"


def test_a_difference_within_twice_the_noise_agrees_while_the_noise_is_small():
    assert verdict([0.02, 0.03, 0.06, 0.09, 0.10], bound=0.05) == "agrees"  # median 0.06, MAD 0.03


def test_noise_excuses_no_difference_beyond_the_bound():
    assert verdict([-0.3, 0.2, 0.06, 0.25, -0.2]) == "inconclusive"
    assert verdict([-0.3, 0.2, 0.04, 0.25, -0.2]) == "agrees"


def test_fewer_than_five_pairs_are_refused():
    with pytest.raises(ValueError, match="at least 5 pairs"):
        compare([1, 1, 1, 1], [1, 1, 1, 1], 0.05)
    with pytest.raises(ValueError, match="a reference of 0"):
        compare([1] * 5, [0] * 5, 0.05)
