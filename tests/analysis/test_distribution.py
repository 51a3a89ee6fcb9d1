import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.analysis.distribution import percentile, summarise

samples = st.lists(st.floats(0, 1e6), min_size=1, max_size=300)


def test_three_samples_have_the_largest_as_p99():
    s = summarise([30, 10, 20])
    assert (s.p50, s.p90, s.p99, s.mean, s.max, s.n) == (20, 30, 30, 20, 30, 3)
    assert s.p99_is_max


def test_a_hundred_samples_have_exact_ranks():
    ordered = list(range(1, 101))
    assert [percentile(ordered, p) for p in (1, 50, 90, 95, 99, 100)] == [1, 50, 90, 95, 99, 100]
    assert not summarise(ordered).p99_is_max
    assert summarise(ordered[:99]).p99_is_max


def test_exact_ranks_are_not_overshot_by_rounding():
    for n in range(1, 400):
        ordered = list(range(1, n + 1))
        for p in (7, 29, 50, 57, 90, 99, 100):
            assert percentile(ordered, p) == next(k for k in ordered if 100 * k >= p * n)


@given(samples, st.integers(1, 100))
def test_a_percentile_is_a_sample_that_enough_do_not_exceed(values, p):
    ordered = sorted(values)
    found = percentile(ordered, p)
    assert found in ordered
    assert sum(v <= found for v in ordered) * 100 >= p * len(ordered)
    assert sum(v < found for v in ordered) * 100 < p * len(ordered)


@given(samples)
def test_a_summary_is_in_order_and_within_its_samples(values):
    s = summarise(values)
    assert min(values) <= s.p50 <= s.p90 <= s.p99 <= s.max == max(values)
    assert s.mean == pytest.approx(math.fsum(values) / len(values))
    assert s == summarise(values[::-1])


def test_no_samples_give_nothing_rather_than_zero():
    s = summarise([])
    assert (s.p50, s.p90, s.p99, s.mean, s.max, s.n) == (None, None, None, None, None, 0)
