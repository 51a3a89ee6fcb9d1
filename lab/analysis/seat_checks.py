"""Work conservation with refill: no seat is empty while somebody waits who could take it."""

from __future__ import annotations

from collections.abc import Sequence

from lab.analysis.timeline import RequestTimes
from lab.run.record import LaneRecord, Run
from lab.scheduling.memory import ragged_reservation
from lab.workload.request import Workload


def check_no_seat_idles(
    workload: Workload, lane: LaneRecord, runs: Sequence[Run], times: Sequence[RequestTimes]
) -> None:
    """At the start of each step with a free seat, whoever waits lacks KV room or room in the step's tokens.

    One excuse: a request that lacks KV room has waited longer than `overtake_limit`; seats are held for it.
    """
    for run in runs:
        if len(run.rows) == lane.policy.max_batch_size:
            continue
        waiting = [r for r in times if _waits(r, run.start)]
        room = lane.kv_budget - sum(ragged_reservation(workload.requests[row.request]) for row in run.rows)
        lacking = {r.id for r in waiting if ragged_reservation(workload.requests[r.id]) > room}
        if any(run.start - (times[i].arrival or 0.0) > lane.policy.overtake_limit for i in lacking):
            continue
        tokens_left = lane.policy.max_num_batched_tokens - sum(row.fed for row in run.rows)
        for r in waiting:
            fits = workload.requests[r.id].prompt_tokens <= tokens_left or not run.prefill
            assert r.id in lacking or not fits, (
                f"group {run.group} had {lane.policy.max_batch_size - len(run.rows)} free seats at {run.start} s "
                f"and request {r.id}, there since {r.arrival} s, was left waiting"
            )


def _waits(r: RequestTimes, now: float) -> bool:
    if r.status == "refused" or r.arrival is None or r.arrival > now:
        return False
    return r.first_scheduled is None or r.first_scheduled > now
