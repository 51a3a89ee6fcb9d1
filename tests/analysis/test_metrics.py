import json
import math

import pytest

from lab.analysis.metrics import Slo, as_json, lane_metrics, token_rate
from lab.analysis.timeline import request_times


def metrics(by_hand, workload, lane, slo=None, **known):
    return lane_metrics(by_hand.record(workload, lane, **known), lane, slo)


def test_padding_after_the_end_of_an_answer_is_not_output(by_hand):
    lane = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([4, 40]))
    m = metrics(by_hand, by_hand.workload([4, 40]), lane)
    assert m.useful_tokens == 44
    assert m.straggler_waste == pytest.approx(36 / 80)  # 45 %
    assert m.throughput == pytest.approx(44 / 40)
    assert (m.steps, m.batches, m.makespan) == (40, 1, 40.0)


def test_requests_that_fail_are_left_out_of_the_percentiles_and_counted(by_hand):
    steps = [s for i in range(4) for s in by_hand.stream([i + 1.0], request=i, start=float(i))]
    lane = by_hand.lane(by_hand.mode("none"), steps, refused=[(i, "too long") for i in range(4, 10)])
    m = metrics(by_hand, by_hand.workload([1] * 10), lane)
    assert (m.requests, m.finished, m.refused) == (10, 4, 6)
    assert (m.ttft.n, m.ttft.p50, m.ttft.max) == (4, 2.0, 4.0)
    assert min(m.ttft.p50, m.e2e.p50) > 0


def test_a_lane_without_a_token_has_no_rates_and_divides_by_nothing(by_hand):
    m = metrics(by_hand, by_hand.workload([1]), by_hand.lane(by_hand.mode("none"), []), Slo(ttft=1))
    undefined = (m.makespan, m.throughput, m.user_speed, m.goodput, m.slot_occupancy, m.busy_fraction)
    assert undefined == (None,) * 6
    assert (m.padding_waste, m.straggler_waste, m.mbu, m.ttft.n, m.steps) == (None, None, None, 0, 0)


def test_one_token_answers_have_no_tpot_and_leave_the_mean_alone(by_hand):
    steps = by_hand.stream([1.0]) + by_hand.stream([2, 2.5, 3, 3.5, 4], request=1, start=1.0)
    m = metrics(by_hand, by_hand.workload([1, 5]), by_hand.lane(by_hand.mode("none"), steps))
    assert (m.tpot.n, m.tpot.mean) == (1, 0.5)
    assert m.user_speed == 2.0


def test_the_export_is_strict_json_with_null_for_what_is_undefined(by_hand):
    m = metrics(by_hand, by_hand.workload([1]), by_hand.lane(by_hand.mode("none"), by_hand.stream([1.0])))
    made = json.loads(json.dumps(as_json(m), allow_nan=False))
    assert made["tpot"] == {
        "p50": None, "p90": None, "p99": None, "mean": None, "max": None, "n": 0, "p99_is_max": True
    }  # fmt: skip
    assert made["goodput"] is made["mbu"] is made["user_speed"] is None
    assert made["ttft"]["p50"] == 1.0


def test_latency_counts_from_the_scheduled_arrival(by_hand):
    workload = by_hand.workload([1] * 10, arrivals=[0.1 * i for i in range(10)])
    lane = by_hand.run(by_hand.mode("none"), workload, lambda step: 1.0)
    times = request_times(workload, lane)
    assert times[9].e2e == pytest.approx(9.1)
    assert times[0].e2e == pytest.approx(1.0)


def test_eight_streams_at_100_ms_are_80_tokens_per_second_and_10_for_each_user(by_hand):
    workload = by_hand.workload([100] * 8)
    lane = by_hand.run(by_hand.mode("continuous", 8), workload, lambda step: 0.1)
    m = metrics(by_hand, workload, lane)
    assert m.throughput == pytest.approx(80)
    assert m.user_speed == pytest.approx(10)
    assert m.tpot.mean == pytest.approx(0.1)
    assert (m.slot_occupancy, m.busy_fraction, m.straggler_waste) == (pytest.approx(1), pytest.approx(1), 0)


def test_a_token_rate_counts_the_tokens_in_its_window_and_no_others(by_hand):
    """Warm-up ends at 10 s, measured until 20 s; one request runs from 8 to 12 s, one is unfinished at 20 s."""
    early = by_hand.stream([9.0, 10.0, 11.0, 12.0], start=8.0)
    late = by_hand.stream([15.0, 18.0, 19.9, 20.0, 21.0], request=1, start=12.0)
    times = request_times(by_hand.workload([4, 6]), by_hand.lane(by_hand.mode("none"), early + late))
    assert token_rate(times, 10, 20) == pytest.approx(6 / 10)
    with pytest.raises(ValueError, match="from 20 to 10 s"):
        token_rate(times, 20, 10)


def test_throughput_ends_with_the_last_token_and_begins_with_the_first_arrival(by_hand):
    workload = by_hand.workload([2, 2], arrivals=[1.0, 2.0])
    steps = by_hand.stream([3.0, 4.0], start=2.0) + by_hand.stream([5.0, 6.0], request=1, start=4.0)
    m = metrics(by_hand, workload, by_hand.lane(by_hand.mode("none"), steps))
    assert (m.makespan, m.throughput) == (5.0, 4 / 5)
    assert m.busy_fraction == pytest.approx(4 / 5)


def test_goodput_counts_requests_that_keep_every_promise(by_hand):
    """TTFT 1, 2 and 4 s; TPOT undefined, 0.5 and 0.25 s."""
    workload = by_hand.workload([1, 3, 5])
    steps = (
        by_hand.stream([1.0])
        + by_hand.stream([2.0, 2.5, 3.0], request=1, start=1.0)
        + by_hand.stream([4.0, 4.25, 4.5, 4.75, 5.0], request=2, start=3.0)
    )
    lane = by_hand.lane(by_hand.mode("none"), steps)

    def met(**slo):
        return metrics(by_hand, workload, lane, Slo(**slo)).goodput * 5.0

    assert met() == pytest.approx(3)
    assert met(ttft=2.0) == pytest.approx(2)
    assert met(tpot=0.3) == pytest.approx(2)  # one token: judged by its TTFT alone
    assert met(ttft=1.5, tpot=0.3) == pytest.approx(1)
    assert metrics(by_hand, workload, lane).goodput is None


@pytest.mark.parametrize("limit", [0, -1, math.nan, math.inf])
def test_a_promise_that_is_no_duration_is_refused(limit):
    with pytest.raises(ValueError, match="the tpot promised is"):
        Slo(tpot=limit)


def test_occupancy_weighs_steps_by_their_seconds(by_hand):
    """Two of four seats for 3 s, one of four for 1 s, then an idle second before the last step."""
    row, step = by_hand.row, by_hand.step
    steps = [
        step(0.0, (3.0,), (row(0, 0, fed=3), row(1, 0, fed=3))),
        step(3.0, (1.0,), (row(1, 3),)),
        step(5.0, (4.0,), (row(2, 0, fed=3),)),
    ]
    workload = by_hand.workload([1, 2, 1], arrivals=[0, 0, 5])
    m = metrics(by_hand, workload, by_hand.lane(by_hand.mode("continuous", 4), steps))
    assert m.slot_occupancy == pytest.approx((2 * 3 + 1 * 1 + 1 * 4) / (4 * 8))
    assert m.busy_fraction == pytest.approx(8 / 9)
    assert m.batches == 2


def test_groups_share_busy_time_and_slots(by_hand):
    """Two groups of two seats: one works 4 s with both seats, the other 2 s with one."""
    row, step = by_hand.row, by_hand.step
    steps = [
        step(0.0, (4.0,), (row(0, 0, fed=3), row(1, 0, fed=3)), group=0),
        step(0.0, (2.0,), (row(2, 0, fed=3),), group=1),
    ]
    lane = by_hand.lane(by_hand.mode("static", 2), steps, groups=2)
    m = metrics(by_hand, by_hand.workload([1, 1, 1]), lane)
    assert m.busy_fraction == pytest.approx(6 / 8)
    assert m.slot_occupancy == pytest.approx(10 / 12)


def test_padding_waste_is_the_padded_share_of_prompt_positions(by_hand):
    rows = (by_hand.row(0, 0, fed=2, padded_to=10), by_hand.row(1, 0, fed=10))
    lane = by_hand.lane(by_hand.mode("static", 2), [by_hand.step(0.0, (1.0,), rows, kernel_padding=7, cold=True)])
    m = metrics(by_hand, by_hand.workload([1, 1], prompts=[2, 10]), lane)
    assert m.padding_waste == pytest.approx(8 / 20)
    assert (m.kernel_padding, m.cold_steps) == (7, 1)


def test_kv_peaks_count_what_is_reserved_and_what_is_cached_of_the_unfinished(by_hand):
    """Prompts of 3, answers of 2 and 4: at the end of step 1 both hold 3, then only the second, 4 and 5."""
    lane = by_hand.lane(by_hand.mode("static", 2), by_hand.padded_batch([2, 4]))
    m = metrics(by_hand, by_hand.workload([2, 4]), lane)
    assert (m.kv_peak_reserved, m.kv_peak_used) == (2 * (3 + 4), 6)
    assert (m.kv_peak_reserved_bytes, m.kv_peak_used_bytes) == (1400, 600)


def test_mbu_is_the_bytes_that_decode_steps_must_read_over_the_measured_bandwidth(by_hand):
    """Decode steps read 1 MB of weights and 100 bytes for each of 4, 5 and 6 tokens, in 1.5 s at 10 MB/s."""
    steps = [
        by_hand.step(0.0, (2.0,), (by_hand.row(0, 0, fed=3),)),
        by_hand.step(2.0, (0.5, 0.5, 0.5), (by_hand.row(0, 3),)),
    ]
    lane, workload = by_hand.lane(by_hand.mode("none"), steps), by_hand.workload([4])
    assert metrics(by_hand, workload, lane).mbu is None
    m = metrics(by_hand, workload, lane, read_bytes_per_s=10e6)
    assert m.mbu == pytest.approx((3e6 + 100 * (4 + 5 + 6)) / 1.5 / 10e6)


def test_a_run_of_many_steps_gives_the_metrics_of_single_steps(by_hand):
    workload = by_hand.workload([3, 9, 5, 7], arrivals=[0, 0.25, 0.5, 3], prompts=[3, 5, 2, 8])
    for name in ("none", "static", "dynamic", "continuous"):
        one, many = (
            by_hand.run(by_hand.mode(name, 2), workload, lambda step: 0.125, many=m) for m in (False, True)
        )
        assert len(many.columns.repeat) < len(one.columns.repeat)
        assert metrics(by_hand, workload, one) == metrics(by_hand, workload, many)
