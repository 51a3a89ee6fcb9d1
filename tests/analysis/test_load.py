"""One lane under load, against hand-written records and the theory of queues."""

import math

import numpy as np
import pytest

from lab.analysis.distribution import summarise
from lab.analysis.load import Cell, Curve, Little, Point, knee, never_fills, point
from lab.scheduling.policy import mode
from lab.workload import arrivals


def md1(rho):
    """Throughput and mean latency, service 1 s."""
    return rho, 1 + rho / (2 * (1 - rho))


def test_the_knee_of_an_md1_queue_is_at_59_percent_of_its_capacity():
    loads = np.arange(0.02, 0.999, 0.002)
    found = loads[knee([md1(rho) for rho in loads])]
    assert found == pytest.approx(2 - math.sqrt(2), abs=0.002)


@pytest.mark.parametrize("variation", [0.0, 1.0, 1.7])
def test_the_knee_of_an_mg1_queue_lies_the_lower_the_more_work_varies(variation):
    loads, half = np.arange(0.02, 0.999, 0.002), (1 + variation**2) / 2
    found = loads[knee([(rho, 1 + half * rho / (1 - rho)) for rho in loads])]
    assert found == pytest.approx(1 / (1 + math.sqrt(half)), abs=0.002)


def test_a_curve_that_falls_first_has_its_knee_behind_the_valley():
    """A batch of 8 waits 7 / (2 λ) to fill, then queues."""
    loads = np.arange(0.02, 0.999, 0.002)
    latency = [1 + 7 / (2 * 8 * rho) + rho / (2 * (1 - rho)) for rho in loads]
    found = knee(list(zip(loads, latency, strict=True)))
    assert int(np.argmin(latency)) < found
    assert 0.5 < loads[found] < 0.9


def test_points_past_saturation_are_no_knee():
    assert knee([(0.3, 1.2), (0.6, 1.7), (1.0, 12.0), (1.0, 30.0)]) == 1


def one_by_one(by_hand, count=6, service=1.0, gap=2.0):
    """A request every `gap` seconds, each alone on the device for `service` seconds and two tokens."""
    workload = by_hand.workload([2] * count, arrivals=[i * gap for i in range(count)])
    lane = by_hand.run(mode("none"), workload, lambda step: service / 2)
    return workload, lane


def test_little_counts_its_two_sides_apart_and_they_are_equal(by_hand):
    workload, lane = one_by_one(by_hand)
    found = point(workload, lane, 1).little
    assert found.present == pytest.approx(6 * 1.0 / 11)  # six stays of one second in eleven
    assert found.rate == pytest.approx(6 / 11)
    assert found.wait == pytest.approx(1.0)
    assert found.error < 1e-12


def test_little_tells_when_the_sides_differ():
    assert Little(present=2.0, rate=1.0, wait=1.5).error == pytest.approx(0.25)


def test_throughput_is_that_of_the_time_between_the_cuts(by_hand):
    """One answer of two tokens every two seconds: the run's beginning and end, which are not idle, do not count."""
    workload, lane = one_by_one(by_hand)
    assert point(workload, lane, 1).throughput == pytest.approx(1.0)


def test_when_all_are_there_at_once_throughput_is_the_capacity_without_the_draining_end(by_hand):
    workload = by_hand.workload([4, 8] * 16)
    lane = by_hand.run(mode("continuous", 8), workload, lambda step: 0.5)
    found = point(workload, lane, 8)
    assert found.throughput == pytest.approx(8 / 0.5, rel=0.03)
    whole = 32 * 6 / max(run.ends[-1] for run in lane.runs())
    assert whole < 0.95 * found.throughput


def test_latencies_are_those_of_the_requests_between_the_cuts(by_hand):
    workload, lane = one_by_one(by_hand, gap=0.5)  # twice as many as can be served: each waits half a second more
    found = point(workload, lane, 2)
    assert found.e2e.n == 2
    assert (found.e2e.p50, found.e2e.p99) == pytest.approx((2.0, 2.5))
    assert found.queue_delay.p50 == pytest.approx(1.0)
    assert found.batch == 1


@pytest.mark.parametrize("name", ["none", "static", "dynamic", "continuous"])
@pytest.mark.parametrize("rate", [0.5, 2.0, 50.0])
def test_littles_law_holds_in_every_mode_at_every_rate(by_hand, name, rate):
    rng = np.random.default_rng(3)
    lengths = [int(n) for n in rng.integers(1, 30, 60)]
    workload = by_hand.workload(lengths, arrivals=list(arrivals.poisson(60, rate, rng)))
    lane = by_hand.run(mode(name, 4, 0.1), workload, lambda step: 0.02 + 0.003 * len(step.rows))
    assert point(workload, lane, 4).little.error < 1e-9


def test_a_run_that_was_not_served_whole_gives_no_point(by_hand):
    workload = by_hand.workload([2, 2, 20_000])
    lane = by_hand.run(mode("none"), workload, lambda step: 1.0)
    with pytest.raises(ValueError, match="1 of 3 requests were not finished"):
        point(workload, lane, 1)


@pytest.mark.parametrize("cut", [0, 3, 4])
def test_a_cut_leaves_something_between(by_hand, cut):
    workload, lane = one_by_one(by_hand)
    with pytest.raises(ValueError, match=f"{cut} requests cut at either end of 6"):
        point(workload, lane, cut)


def cell(load, throughput, latency):
    spread = summarise([latency])
    return Cell(load, (Point(throughput, spread, spread, spread, Little(1, 1, 1), 1.0, 1.0),))


def test_a_knee_at_the_end_of_what_was_measured_is_said_to_be_there():
    rising = Curve(mode("none"), tuple(cell(r, r, 1.0) for r in (1.0, 2.0, 3.0)))
    assert (rising.knee, rising.knee_is_inside) == (2, False)
    bent = Curve(mode("none"), (cell(1, 1, 1.0), cell(2, 2, 1.1), cell(3, 2.1, 9.0)))
    assert (bent.knee, bent.knee_is_inside) == (1, True)


def test_a_cell_is_the_median_of_its_repeats():
    three = Cell(1.0, tuple(p for x in (5.0, 1.0, 2.0) for p in cell(1.0, x, 10 * x).points))
    assert (three.throughput, three.mean_e2e) == (2.0, 20.0)


@pytest.mark.parametrize(
    ("policy", "users", "delays"),
    [
        (mode("dynamic", 8, 0.2), 1, True),
        (mode("dynamic", 8, 0.2), 7, True),
        (mode("dynamic", 8, 0.2), 8, False),
        (mode("dynamic", 8, 0.0), 1, False),
        (mode("static", 8), 1, False),  # it leaves when nobody more can come
        (mode("continuous", 8), 1, False),
        (mode("none"), 1, False),
    ],
    ids=lambda value: value.name if hasattr(value, "name") else str(value),
)
def test_a_window_that_too_few_users_can_never_cut_short_is_pure_delay(policy, users, delays):
    assert never_fills(policy, users) is delays
