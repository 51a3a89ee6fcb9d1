import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.workload import arrivals
from lab.workload.request import Request, Workload

counts = st.integers(1, 300)
rates = st.floats(0.01, 1000)
seeds = st.integers(0, 2**32 - 1)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ordered_from_zero(times: tuple[float, ...]) -> bool:
    return times[0] == 0 and all(a <= b for a, b in pairwise(times)) and all(map(math.isfinite, times))


@given(counts, rates, seeds)
def test_every_kind_of_arrival_starts_at_zero_and_is_in_order(count, rate, seed):
    for times in (
        arrivals.all_at_once(count),
        arrivals.steady(count, rate),
        arrivals.poisson(count, rate, rng(seed)),
    ):
        assert len(times) == count
        assert ordered_from_zero(times)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=12), st.floats(0, 1), st.floats(0, 10), seeds)
def test_clusters_keep_within_their_span_and_apart_by_the_gap(sizes, span, gap, seed):
    times = arrivals.bursty(sizes, span, gap, rng(seed))
    assert len(times) == sum(sizes)
    assert ordered_from_zero(times)
    at = 0
    for i, size in enumerate(sizes):
        cluster = times[at : at + size]
        assert cluster[0] == pytest.approx(i * (span + gap))
        assert cluster[-1] - cluster[0] <= span + 1e-9
        at += size


@given(counts, rates, seeds)
def test_the_same_seed_gives_the_same_times(count, rate, seed):
    assert arrivals.poisson(count, rate, rng(seed)) == arrivals.poisson(count, rate, rng(seed))


def test_steady_arrivals_are_evenly_spaced():
    assert arrivals.steady(4, 10) == pytest.approx((0, 0.1, 0.2, 0.3))


def test_poisson_gaps_have_the_stated_mean_and_spread():
    gaps = np.diff(arrivals.poisson(20_000, 5.0, rng(3)))
    assert gaps.mean() == pytest.approx(0.2, rel=0.02)
    assert gaps.std() == pytest.approx(0.2, rel=0.03)


def test_another_rate_stretches_the_same_poisson_times():
    slow, fast = arrivals.poisson(50, 1.0, rng(1)), arrivals.poisson(50, 4.0, rng(1))
    assert slow == pytest.approx([4 * t for t in fast])


@pytest.mark.parametrize("rate", [0, -1, math.nan, math.inf, -math.inf])
def test_a_rate_that_is_no_rate_is_refused_with_its_value(rate):
    for make in (lambda: arrivals.steady(3, rate), lambda: arrivals.poisson(3, rate, rng())):
        with pytest.raises(ValueError, match=f"rate is {rate} .*above 0"):
            make()


@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf])
def test_a_span_or_gap_that_is_no_duration_is_refused(bad):
    with pytest.raises(ValueError, match="span is"):
        arrivals.bursty([2], bad, 1, rng())
    with pytest.raises(ValueError, match="gap is"):
        arrivals.bursty([2], 1, bad, rng())


def test_no_requests_are_refused():
    for make in (
        lambda: arrivals.all_at_once(0),
        lambda: arrivals.steady(0, 1),
        lambda: arrivals.bursty([2, 0], 1, 1, rng()),
    ):
        with pytest.raises(ValueError, match="count is 0"):
            make()
    with pytest.raises(ValueError, match="at least one cluster"):
        arrivals.bursty([], 1, 1, rng())


def workload_at(*times):
    return Workload("test", tuple(Request(i, t, 4, output_tokens=3) for i, t in enumerate(times)), seed=7)


def test_another_rate_stretches_the_times_and_changes_nothing_else():
    slow = workload_at(0.0, 1.0, 5.0, 6.0)
    fast = slow.at_rate(2.0)
    assert [r.arrival for r in fast.requests] == pytest.approx([0.0, 0.25, 1.25, 1.5])  # 3 gaps in 1.5 s
    assert fast.at_rate(0.5) == slow
    assert fast.seed == 7


def test_an_infinite_rate_puts_all_requests_at_the_start():
    assert [r.arrival for r in workload_at(2.0, 3.0, 9.0).at_rate(math.inf).requests] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan])
def test_a_rate_that_is_none_is_refused_with_its_value(rate):
    with pytest.raises(ValueError, match=f"rate is {rate}"):
        workload_at(0.0, 1.0).at_rate(rate)


def test_requests_at_one_time_and_closed_loops_have_no_rate_to_change():
    with pytest.raises(ValueError, match="all its requests at one time"):
        workload_at(1.0, 1.0).at_rate(2.0)
    with pytest.raises(ValueError, match="closed loop"):
        Workload("loop", (Request(0, 0.0, 1), Request(1, 0.5, 1, follows=0))).at_rate(2.0)
