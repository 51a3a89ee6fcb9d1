"""What each bucket and each priority got, who starved, and that a queue out of order is noticed."""

from dataclasses import replace

import pytest

from lab.analysis.checks import check_lane
from lab.analysis.classes import by_bucket, by_priority
from lab.analysis.fairness import passed_over, starved
from lab.analysis.tables import metrics_table, requests_table
from lab.analysis.timeline import request_times
from lab.scheduling.order import Order
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload

USUAL = (128, 512)


def workload(*rows: tuple[float, int, int], new: int = 2) -> Workload:
    """Requests of (arrival, prompt tokens, priority)."""
    made = (
        Request(i, t, new, prompt_ids=(1,) * prompt, output_tokens=new, priority=priority)
        for i, (t, prompt, priority) in enumerate(rows)
    )
    return Workload("classes", tuple(made))


@pytest.fixture
def merged(by_hand):
    """A long prompt that waits, and two short ones that take its empty seats after half a second."""
    work = workload((0.0, 600, 1), (0.25, 100, 0), (0.25, 50, 0))
    order = Order(USUAL, by_priority=True, bucket_wait_limit=0.5)
    lane = by_hand.run(mode("dynamic", 4, 8.0, order), work, lambda step: 1.0, kv_budget=100_000)
    return work, lane


def test_each_bucket_has_its_own_waits_and_its_own_padding(merged):
    short, long = by_bucket(*merged)
    assert (short.name, long.name) == ("< 128", "> 512")
    assert (short.requests, short.finished, short.useful_tokens) == (2, 2, 4)
    assert (short.queue_delay.p50, long.queue_delay.p50) == (0.25, 0.5)
    assert (short.ttft.max, long.e2e.max) == (1.25, 2.5)
    assert short.padding_waste == pytest.approx(1 - 150 / 1200)  # both padded to 600
    assert long.padding_waste == 0.0


def test_buckets_of_ones_own_choice_part_any_lane(merged):
    assert [c.name for c in by_bucket(*merged, (64,))] == ["< 64", "≥ 64"]
    assert [(c.name, c.requests) for c in by_bucket(*merged, ())] == [("all", 3)]


def test_each_priority_has_its_own_waits(merged):
    urgent, other = by_priority(*merged)
    assert (urgent.name, urgent.requests, urgent.queue_delay.max) == ("0", 2, 0.25)
    assert (other.name, other.requests, other.queue_delay.max) == ("1", 1, 0.5)


def test_a_request_that_was_not_computed_has_no_padding(by_hand):
    work = workload((0.0, 10, 0), (0.0, 900, 0))
    lane = by_hand.run(mode("none"), work, lambda step: 1.0, kv_budget=100)
    assert by_bucket(work, lane, USUAL)[1].padding_waste is None


def one_after_the_other(by_hand, order: list[int], policy) -> tuple[Workload, object]:
    """Five requests, all there at the start, computed alone in this order, two seconds each."""
    work = workload(*[(0.0, 3, 0)] * 5)
    steps = [
        s
        for k, i in enumerate(order)
        for s in by_hand.stream([2 * k + 1.0, 2 * k + 2.0], request=i, start=2.0 * k, reserved=5)
    ]
    return work, by_hand.lane(policy, steps)


def test_a_queue_that_jumps_the_line_is_noticed(by_hand):
    check_lane(*one_after_the_other(by_hand, [0, 1, 2, 3, 4], mode("none")), complete=True)
    with pytest.raises(AssertionError, match=r"requests \[0\] were passed over after waiting longer than 0.0 s"):
        check_lane(*one_after_the_other(by_hand, [1, 2, 0, 3, 4], mode("none")), complete=True)


def test_a_less_urgent_one_that_leaves_first_is_noticed(by_hand):
    work, lane = one_after_the_other(by_hand, [0, 1, 2, 3, 4], mode("none", order=Order(by_priority=True)))
    urgent = replace(work, requests=tuple(replace(r, priority=5 - r.id) for r in work.requests))
    with pytest.raises(AssertionError, match=r"requests \[0\] left at 0.0 s; it was the turn of \[4\]"):
        check_lane(urgent, lane, complete=True)


def test_a_merge_that_is_not_called_one_is_noticed(merged):
    work, lane = merged
    check_lane(work, lane, complete=True)
    assert lane.columns.reason[0] == "bucket_merged"
    quiet = replace(lane, columns=replace(lane.columns, reason=("window_over", *lane.columns.reason[1:])))
    with pytest.raises(AssertionError, match="of several buckets: window_over"):
        check_lane(work, quiet, complete=True)


def test_a_request_is_starved_when_all_who_leave_came_later_and_it_has_waited_past_the_limit(by_hand):
    never = mode("none", order=Order(by_priority=True, ageing=None))
    work, lane = one_after_the_other(by_hand, [1, 2, 3, 4, 0], never)
    times = request_times(work, lane)
    assert [passed_over(lane, times, limit) for limit in (1.0, 5.0, 6.0)] == [(0,), (0,), ()]
    assert starved(lane, times) == (0,)  # the usual limit is 5 s, and at 6 s another left


def test_the_tables_say_the_knobs_the_bucket_and_who_starved(by_hand, merged):
    record = by_hand.record(*merged)
    [row] = metrics_table(record)
    assert (row["buckets"], row["by_priority"], row["ageing_s"], row["bucket_wait_limit_s"], row["starved"]) == (
        "128,512", True, 5.0, 0.5, 0,
    )  # fmt: skip
    assert [(r["bucket"], r["priority"], r["starved"]) for r in requests_table(record)] == [
        ("> 512", 1, False), ("< 128", 0, False), ("< 128", 0, False),
    ]  # fmt: skip
