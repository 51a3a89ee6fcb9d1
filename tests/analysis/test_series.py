import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lab.analysis.series import Series, lane_series


def test_a_padded_batch_holds_its_rectangle_to_the_end_and_uses_less(by_hand):
    workload = by_hand.workload([2, 4], arrivals=[0.0, 0.5])
    s = lane_series(workload, by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([2, 4], start=1.0)))
    assert s.queue == Series((0.0, 0.5, 1.0), (1, 2, 0))
    assert s.live == Series((1.0, 3.0, 5.0), (2, 1, 0))
    assert s.kv_reserved == Series((1.0, 5.0), (14, 0))
    assert s.kv_used == Series((2.0, 3.0, 4.0, 5.0), (6, 4, 5, 0))
    assert s.tokens == Series((2.0, 3.0, 4.0, 5.0), (2, 4, 5, 6))


def test_a_ragged_lane_gives_back_what_a_finished_request_held(by_hand):
    workload = by_hand.workload([1, 3], new=5)
    lane = by_hand.run(by_hand.mode("continuous", 2), workload, lambda step: 1.0)
    s = lane_series(workload, lane)
    assert s.kv_reserved == Series((0.0, 1.0, 3.0), (16, 8, 0))
    assert s.live == Series((0.0, 1.0, 3.0), (2, 1, 0))


def test_the_refused_never_queue_and_later_arrivals_are_not_shown_yet(by_hand):
    workload = by_hand.workload([1, 1, 1], arrivals=[0.0, 0.0, 9.0])
    lane = by_hand.lane(by_hand.mode("none"), by_hand.stream([1.0]), refused=[(1, "too long")])
    assert lane_series(workload, lane).queue == Series((), ())


def test_an_area_is_height_times_time():
    assert Series((1.0, 2.0, 4.0), (3, 1, 0)).area(10.0) == 5.0
    assert Series((1.0,), (3,)).area(3.0) == 6.0
    assert Series((), ()).area(3.0) == 0.0
    assert Series((), ()).peak == 0


@given(st.integers(1, 40), st.sampled_from(["none", "static", "dynamic", "continuous"]), st.booleans())
def test_whatever_happens_everything_ends_empty_and_used_stays_below_reserved(by_hand, seed, name, many):
    rng = np.random.default_rng(seed)
    n = 9
    workload = by_hand.workload(
        [int(x) for x in rng.integers(1, 8, n)],
        arrivals=[float(x) for x in np.cumsum(rng.exponential(0.5, n))],
        prompts=[int(x) for x in rng.integers(1, 12, n)],
    )
    lane = by_hand.run(by_hand.mode(name, 3), workload, lambda step: 0.25, many=many)
    s = lane_series(workload, lane)
    assert s.tokens.values[-1] == sum(r.output_tokens for r in workload.requests)
    for series in (s.queue, s.live, s.kv_reserved, s.kv_used):
        assert series.values[-1] == 0
        assert min(series.values) >= 0
    assert s.live.peak <= lane.policy.max_batch_size
    moments = sorted({*s.kv_used.times, *s.kv_reserved.times})
    assert all(_at(s.kv_used, t) <= _at(s.kv_reserved, t) for t in moments)


def _at(series: Series, t: float) -> int:
    return next((v for x, v in zip(series.times[::-1], series.values[::-1], strict=True) if x <= t), 0)
