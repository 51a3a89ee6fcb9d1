"""Did those leave whose turn it was? What a record must show of a queue's order. Used by lab.analysis.checks."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.analysis.fairness import passed_over
from lab.analysis.timeline import RequestTimes
from lab.run.record import LaneRecord, Run
from lab.scheduling.decide import Reason
from lab.scheduling.order import Waiting, bucket_of, nearest_first, ranked
from lab.scheduling.three_lists import turn
from lab.workload.request import Workload


def check_order(workload: Workload, lane: LaneRecord, runs: Sequence[Run], times: Sequence[RequestTimes]) -> None:
    """Nobody is passed over beyond the promised limit; without refill, whoever leaves is the front of the line."""
    limit = lane.policy.passing_limit
    if not math.isinf(limit):
        passed = passed_over(lane, times, limit)
        assert not passed, f"requests {list(passed)} were passed over after waiting longer than {limit} s"
    if lane.policy.refill:
        return  # some of the line may lack KV room; seat_checks see to them
    gone: set[int] = set()
    for run in runs:
        if run.prefill:
            left = [row.request for row in run.rows if row.prefill]
            line = _waiting(workload, times, run.start, gone)
            check = _check_three_lists if lane.policy.three_lists else _check_dispatch
            check(lane, run, [w for w in line if w.id in left], line)
            gone.update(left)


def _waiting(workload: Workload, times: Sequence[RequestTimes], now: float, gone: set[int]) -> list[Waiting]:
    """The queue at that moment, those who leave included, in order of arrival."""
    here = [
        Waiting(r.id, r.arrival, q.prompt_tokens, q.max_new_tokens, q.priority)
        for r, q in zip(times, workload.requests, strict=True)
        if r.status != "refused" and r.arrival is not None and r.arrival <= now and r.id not in gone
    ]
    return sorted(here, key=lambda w: (w.arrival, w.id))


def _check_dispatch(lane: LaneRecord, run: Run, left: list[Waiting], line: list[Waiting]) -> None:
    """The most urgent of those who left has its bucket's turn: the line is that bucket, then the nearest ones."""
    order = lane.policy.order
    lead = next(iter(ranked(order, left, run.start)))
    bucket = bucket_of(lead.prompt_tokens, order.boundaries)
    front = list(nearest_first(order, ranked(order, line, run.start), bucket))[: len(left)]
    gone, due = sorted(w.id for w in left), sorted(w.id for w in front)
    assert gone == due, f"requests {gone} left at {run.start} s; it was the turn of {due}"
    mixed = len({bucket_of(w.prompt_tokens, order.boundaries) for w in left}) > 1
    assert mixed == (run.reason == Reason.BUCKET_MERGED), (
        f"requests {gone} left at {run.start} s, of {'several buckets' if mixed else 'one bucket'}: {run.reason}"
    )


def _check_three_lists(lane: LaneRecord, run: Run, left: list[Waiting], line: list[Waiting]) -> None:
    """The first of the three lists that was full or late has left, as far as it fitted."""
    policy = lane.policy
    found = turn(policy.order.boundaries, policy.max_batch_size, policy.max_queue_delay, line, run.start)
    gone, due = [w.id for w in left], [w.id for w in found.requests][: len(left)]
    assert gone == due, f"requests {gone} left at {run.start} s; of the three lists it was the turn of {due}"
