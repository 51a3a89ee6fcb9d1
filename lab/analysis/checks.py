"""Identities that every lane's record must fulfil exactly, whatever the load: a lane that breaks one is wrong.

No statistics: these hold on every path. Float sums are compared to a part in 10^9. An AssertionError
carries the numbers. Works on a run in progress.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from lab.analysis.order_checks import check_order
from lab.analysis.row_checks import check_rows
from lab.analysis.seat_checks import check_no_seat_idles
from lab.analysis.series import batches, end_of, queue_depth
from lab.analysis.timeline import RequestTimes, request_times
from lab.analysis.work import work_done
from lab.run.record import LaneRecord, Run
from lab.scheduling.memory import padded_reservation, ragged_reservation
from lab.workload.request import Workload


def check_lane(workload: Workload, lane: LaneRecord, *, gapless: bool = True, complete: bool = False) -> None:
    """Raises AssertionError where the record contradicts itself.

    gapless   False for a lane on the wall clock, where deciding takes time between two steps; nor is a lane
              gapless whose groups wait for each other, having scattered a batch
    complete  the run is over, so nothing may be unfinished
    """
    runs = tuple(lane.runs())
    times = request_times(workload, lane)
    gapless = gapless and not lane.scattered
    check_rows(workload, lane, runs)
    _check_clocks(runs, times, gapless)
    _check_conservation(lane, times, complete)
    _check_steps(lane, times)
    _check_memory(workload, lane, runs)
    _check_little(lane, times, gapless)
    if lane.scattered:
        _check_barriers(lane, runs)
    elif lane.policy.refill:
        check_no_seat_idles(workload, lane, runs, times)
    if gapless:  # on the wall clock somebody may arrive between a decision and its step
        check_order(workload, lane, runs, times)


def _check_clocks(runs: Sequence[Run], times: Sequence[RequestTimes], gapless: bool) -> None:
    """The steps of a group follow each other; nobody is computed before arriving; a batch runs through."""
    last: dict[int, Run] = {}
    for run in runs:
        assert all(s >= 0 and math.isfinite(s) for s in run.seconds), f"a step of {min(run.seconds)} s"
        early = [r for r in (times[row.request] for row in run.rows) if r.arrival is None or r.arrival > run.start]
        assert not early, f"request {early[0].id} computed at {run.start} s, it arrived at {early[0].arrival} s"
        before = last.get(run.group)
        if before is not None:
            end = before.ends[-1]
            assert run.start >= end or math.isclose(run.start, end), (
                f"group {run.group}: a step starts at {run.start} s, the one before ended at {end} s"
            )
            goes_on = {row.request for row in before.rows} & {row.request for row in run.rows}
            assert not (gapless and goes_on) or math.isclose(run.start, end, abs_tol=1e-12), (
                f"group {run.group} stood still from {end} to {run.start} s with requests {sorted(goes_on)} at work"
            )
        last[run.group] = run


def _check_barriers(lane: LaneRecord, runs: Sequence[Run]) -> None:
    """Parts of a scattered step begin together, one a group and all rows at most a batch, when the slowest part
    of the step before has ended."""
    end = 0.0
    for start, together in groupby(runs, key=lambda run: run.start):
        parts = list(together)
        assert start >= end or math.isclose(start, end), f"a step at {start} s, the slowest part ended at {end} s"
        assert len({run.group for run in parts}) == len(parts), f"a group twice in the step at {start} s"
        rows = sum(len(run.rows) for run in parts)
        assert rows <= lane.policy.max_batch_size, f"{rows} rows at {start} s in a batch"
        end = max(run.ends[-1] for run in parts)


def _check_conservation(lane: LaneRecord, times: Sequence[RequestTimes], complete: bool) -> None:
    """Arrived = refused + waiting + at work + finished; each token given once (row-steps of the live)."""
    refused = [number for number, _ in lane.refused]
    assert len(set(refused)) == len(refused), f"refused twice: {refused}"
    served = [r.id for r in times if r.status == "refused" and r.tokens]
    assert not served, f"refused and yet computed: {served}"
    work = work_done(lane)
    given = sum(r.tokens for r in times)
    live = work.row_steps - work.dead_row_steps
    assert live == given, f"{live} live row-steps gave {given} tokens"
    assert lane.policy.padded or work.dead_row_steps == 0, f"{work.dead_row_steps} dead rows in a ragged lane"
    emitted = len(lane.columns.token)
    assert emitted in (0, work.row_steps), f"{emitted} tokens recorded for {work.row_steps} row-steps"
    unfinished = [r.id for r in times if r.status == "unfinished"]
    assert not (complete and unfinished), f"the run is over and requests {unfinished} are not"


def _check_steps(lane: LaneRecord, times: Sequence[RequestTimes]) -> None:
    """Without refill a batch takes as many steps as its longest answer; with refill seats bound the steps."""
    work = work_done(lane)
    given = [r.tokens for r in times]
    if lane.policy.refill:
        fewest = max(-(-sum(given) // lane.policy.max_batch_size), max(given))
        assert work.steps >= fewest, f"{work.steps} steps gave {sum(given)} tokens; it takes at least {fewest}"
        return
    expected = sum(max(times[i].tokens for i in batch) for batch in batches(lane))
    assert work.steps == expected, f"{work.steps} steps; the longest answers of the batches make {expected}"


def _check_memory(workload: Workload, lane: LaneRecord, runs: Sequence[Run]) -> None:
    """What was reserved is what the rows at work need, and no group exceeds its budget."""
    for run in runs:
        rows = [workload.requests[row.request] for row in run.rows]
        needed = padded_reservation(rows) if lane.policy.padded else sum(map(ragged_reservation, rows))
        assert run.kv_reserved == needed, (
            f"{run.kv_reserved} tokens reserved at {run.start} s; the rows need {needed}"
        )
        assert needed <= lane.kv_budget, f"group {run.group} holds {needed} tokens, its budget is {lane.kv_budget}"


def _check_little(lane: LaneRecord, times: Sequence[RequestTimes], gapless: bool) -> None:
    """Little's law on this path, for the queue and for the seats: the requests' times and the area under
    the number present are one quantity, counted two ways."""
    now = end_of(lane)
    waited = sum(
        min(now, r.first_scheduled if r.first_scheduled is not None else now) - r.arrival
        for r in times
        if r.status != "refused" and r.arrival is not None and r.arrival <= now
    )
    area = queue_depth(lane, times).area(now)
    assert math.isclose(waited, area, rel_tol=1e-9, abs_tol=1e-9), f"waited {waited} s, queue's area {area} s"
    seated = sum(r.token_times[-1] - r.first_scheduled for r in times if r.first_scheduled is not None)
    computed = work_done(lane).live_row_s
    assert not gapless or math.isclose(seated, computed, rel_tol=1e-9, abs_tol=1e-9), (
        f"requests sat for {seated} s, live rows were computed for {computed} s"
    )
