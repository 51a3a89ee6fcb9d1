"""Errors of a prediction, by hand, and what counts as having met the goal."""

import pytest

from lab.analysis.accuracy import MAIN, METRICS, Cell, cells, goal_met, median_abs_error, readings
from lab.scheduling.policy import mode


def test_readings_of_two_answers_by_hand(by_hand):
    """Both at 0 s, each prompt and token a second: request 0 has tokens at 1, 2, 3 and request 1 at 4, 5."""
    workload = by_hand.workload([3, 2])
    steps = [*by_hand.stream([1, 2, 3]), *by_hand.stream([4, 5], request=1, start=3)]
    found = readings(workload, by_hand.lane(mode("none"), steps))
    assert tuple(found) == METRICS
    assert found["throughput"] == 1.0
    assert (found["ttft_mean"], found["ttft_p50"], found["ttft_p95"]) == (2.5, 1.0, 4.0)
    assert (found["tpot_mean"], found["e2e_mean"], found["mean_batch"]) == (1.0, 4.0, 1.0)


def test_a_mean_batch_counts_rows_a_step_dead_ones_too(by_hand):
    workload = by_hand.workload([3, 2])
    found = readings(workload, by_hand.lane(mode("static", 2), by_hand.padded_batch([3, 2])))
    assert found["mean_batch"] == 2.0


def test_a_lane_without_a_second_token_has_no_time_per_token(by_hand):
    lane = by_hand.lane(mode("none"), by_hand.stream([1]))
    with pytest.raises(ValueError, match="has a tpot"):
        readings(by_hand.workload([1]), lane)


def test_an_error_is_signed_and_stands_beside_the_noise_of_the_repeats():
    predicted = dict.fromkeys(METRICS, 110.0)
    measured = [dict.fromkeys(METRICS, value) for value in (100.0, 98.0, 102.0, 100.0, 101.0)]
    first = cells("static", 0.5, predicted, measured)[0]
    assert (first.mode, first.load, first.metric) == ("static", 0.5, "throughput")
    assert (first.measured, first.predicted) == (100.0, 110.0)
    assert first.error == pytest.approx(0.10)
    assert first.spread == pytest.approx(0.011, abs=0.002)
    assert first.verdict in ("agrees", "differs")  # just at the bound
    low = cells("static", 0.5, dict.fromkeys(METRICS, 80.0), measured)[0]
    assert low.error == pytest.approx(-0.2)
    assert low.verdict == "differs"


def _cells(errors, metric="throughput", verdict="agrees"):
    return [Cell("none", i, metric, 1.0, 1.0 + e, e, 0.0, verdict) for i, e in enumerate(errors)]


def _goal(**changed):
    return [c for metric in MAIN for c in changed.get(metric, _cells([0.05, -0.04, 0.06], metric))]


def test_the_median_is_of_absolute_errors_and_for_each_metric_alone():
    found = median_abs_error(_cells([0.3, -0.02, -0.08]) + _cells([0.5], "e2e_mean"))
    assert found == pytest.approx({"throughput": 0.08, "e2e_mean": 0.5})


def test_the_goal_is_met_where_each_median_is_within_the_bound():
    assert goal_met(_goal())
    assert not goal_met(_goal(tpot_mean=_cells([0.12, -0.2, 0.01], "tpot_mean")))


def test_noise_never_passes_as_agreement():
    open_cells = _cells([0.01, 0.01], "ttft_mean", "inconclusive")
    assert not goal_met(_goal(ttft_mean=[*open_cells, *_cells([0.01], "ttft_mean")]))
    assert goal_met(_goal(ttft_mean=[*open_cells[:1], *_cells([0.01, 0.02], "ttft_mean")]))
