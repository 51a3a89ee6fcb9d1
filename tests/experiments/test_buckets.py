"""Buckets against one queue on a device whose steps cost their positions: every figure can be reckoned by hand."""

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.experiments.buckets import _against, measure_buckets
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance
from lab.scheduling.order import Order
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload

ORIGIN = Provenance("measured", "m", "1", "fp32", "cpu", 1, (), "", "2026-01-01T00:00:00+00:00", 1, 1)
SHORT_AND_LONG = Workload(
    "alternating",
    tuple(Request(i, 0.0, 1, prompt_ids=(1,) * (100 if i % 2 else 10), output_tokens=1) for i in range(8)),
)


def side_by_side(policies):
    lanes = [
        Lane(p, SHORT_AND_LONG, ScriptedExecutor(milliseconds), kv_budget=10_000, context=1000) for p in policies
    ]
    to_the_end(lanes)
    return [lane.record() for lane in lanes]


def milliseconds(step) -> float:
    """One for each position."""
    return sum(row.padded_to for row in step.rows) / 1000


def effects(*names, order=Order((50,)), seats=4):  # noqa: B008 (a frozen value)
    policies = [mode(name, seats, 0.05, order) for name in names]
    return measure_buckets(policies, SHORT_AND_LONG, side_by_side, ORIGIN, 5, lambda *progress: None)


def test_in_static_mode_buckets_save_the_padding_and_nothing_else():
    [static] = effects("static")
    assert static.one_queue.throughput == pytest.approx(8 / 0.8)  # two batches of 4 × 100 positions
    assert static.buckets.throughput == pytest.approx(8 / 0.44)  # one of 4 × 10, one of 4 × 100
    assert static.one_queue.padding_waste == pytest.approx(0.45)
    assert static.buckets.padding_waste == 0
    assert static.buckets.buckets["< 50"] == pytest.approx((0.04, 0.04))
    assert static.buckets.buckets["≥ 50"] == pytest.approx((0.44, 0.44))
    assert static.changed["throughput"].difference == pytest.approx(0.8 / 0.44 - 1)
    assert (static.one_queue.batches, static.buckets.batches, static.buckets.merged) == (2, 2, 0)


def test_more_than_is_quoted_is_not_what_is_quoted():
    [static] = effects("static")
    assert static.claims == {"throughput": "differs", "e2e_p99": "differs"}  # +82 %, -45 %


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [(0.2, "differs"), (0.31, "agrees"), (0.49, "agrees"), (0.6, "differs"), (0.93, "differs")],
)
def test_a_claimed_ratio_is_judged_in_parts_of_the_one_queue(ratio, verdict):
    """Noise of 3 % stays 3 %, though it is 7 % of what the claim of 0.4 would leave: enough to say no."""
    noise = (-0.06, -0.03, 0.0, 0.03, 0.06)
    assert _against([ratio + n for n in noise], [1.0] * 5, 0.4, 0.1) == verdict


def test_in_continuous_mode_buckets_change_the_order_and_no_throughput():
    [continuous] = effects("continuous")
    assert continuous.changed["throughput"].verdict == "agrees"
    assert continuous.changed["throughput"].difference == pytest.approx(0, abs=1e-9)


def test_a_bucket_that_leaves_late_with_others_counts_as_merged():
    [dynamic] = effects("dynamic", seats=6)  # four of a bucket do not fill it
    assert dynamic.buckets.merged == 1
    assert dynamic.buckets.batches == 2


def test_modes_without_boundaries_are_refused():
    with pytest.raises(ValueError, match="static has no bucket boundaries"):
        effects("static", order=Order())
