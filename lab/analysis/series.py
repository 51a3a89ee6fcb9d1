"""What a lane held at each moment, as step functions of time, for charts and peaks.

Derived from the columns. Refuses to know colours, units other than tokens and seconds, and averages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from lab.analysis.timeline import RequestTimes, request_times
from lab.run.record import LaneRecord
from lab.scheduling.memory import padded_reservation, ragged_reservation
from lab.workload.request import Workload

Event = tuple[float, int]  # a time, and by how much the value changes there


class Series(NamedTuple):
    """A step function: from times[i] on the value is values[i]; 0 before the first. Times increase."""

    times: tuple[float, ...]
    values: tuple[int, ...]

    @property
    def peak(self) -> int:
        return max(self.values, default=0)

    def area(self, until: float) -> float:
        """The integral from the beginning to `until`, which no time exceeds (value × seconds)."""
        ends = (*self.times[1:], until)
        return sum(v * (b - a) for a, b, v in zip(self.times, ends, self.values, strict=False))


class LaneSeries(NamedTuple):
    """Requests waiting, requests computed, KV tokens reserved and used, useful tokens given out so far."""

    queue: Series
    live: Series
    kv_reserved: Series
    kv_used: Series
    tokens: Series


def lane_series(workload: Workload, lane: LaneRecord) -> LaneSeries:
    times = request_times(workload, lane)
    return LaneSeries(
        queue=queue_depth(lane, times),
        live=live_rows(lane),
        kv_reserved=kv_reserved(workload, lane, times),
        kv_used=kv_used(workload, times),
        tokens=_series((t, 1) for r in times for t in r.token_times),
    )


def queue_depth(lane: LaneRecord, times: Sequence[RequestTimes]) -> Series:
    """Requests that have arrived and whose prompt is not yet being computed; the refused never queue."""
    now = end_of(lane)
    return _series(_waiting(times, now))


def _waiting(times: Iterable[RequestTimes], now: float) -> Iterator[Event]:
    for r in times:
        if r.status != "refused" and r.arrival is not None and r.arrival <= now:
            yield r.arrival, 1
            if r.first_scheduled is not None:
                yield r.first_scheduled, -1


def live_rows(lane: LaneRecord) -> Series:
    """Rows that a device computes for unfinished requests, over all groups; 0 while nothing runs."""
    events: list[Event] = []
    for run in lane.runs():
        live = sum(row.live for row in run.rows)
        events += [(run.start, live), (run.ends[-1], -live)]
    return _series(events)


def kv_used(workload: Workload, times: Iterable[RequestTimes]) -> Series:
    """Tokens cached for unfinished requests, counted at the ends of steps (the newest token is not cached yet)."""
    return _series(e for r in times for e in _cached(workload.requests[r.id].prompt_tokens, r))


def _cached(prompt_tokens: int, r: RequestTimes) -> Iterator[Event]:
    unfinished_at = r.token_times[:-1] if r.status == "finished" else r.token_times
    for i, t in enumerate(unfinished_at):
        yield t, 1 if i else prompt_tokens
    if r.status == "finished" and unfinished_at:
        yield r.token_times[-1], -(prompt_tokens + len(unfinished_at) - 1)


def kv_reserved(workload: Workload, lane: LaneRecord, times: Sequence[RequestTimes]) -> Series:
    """Tokens reserved, over all groups: a request's own from its admission to its end; a padded batch's
    rectangle until the last of the batch has ended."""
    events: list[Event] = []
    for batch in batches(lane):
        requests = [workload.requests[i] for i in batch]
        if lane.policy.padded:
            _hold(events, padded_reservation(requests), [times[i] for i in batch])
        else:
            for request in requests:
                _hold(events, ragged_reservation(request), [times[request.id]])
    return _series(events)


def batches(lane: LaneRecord) -> Iterator[tuple[int, ...]]:
    """The requests of each dispatch (a step that computes prompts), in the order of the dispatches."""
    for run in lane.runs():
        if run.prefill:
            yield tuple(row.request for row in run.rows if row.prefill)


def end_of(lane: LaneRecord) -> float:
    """When the last step so far ended; 0 if there was none."""
    return max((run.ends[-1] for run in lane.runs()), default=0.0)


def _hold(events: list[Event], tokens: int, holders: Sequence[RequestTimes]) -> None:
    start = holders[0].first_scheduled
    assert start is not None, f"request {holders[0].id} was dispatched and never scheduled"
    events.append((start, tokens))
    if all(r.status == "finished" for r in holders):
        events.append((max(r.token_times[-1] for r in holders), -tokens))


def _series(events: Iterable[Event]) -> Series:
    """Sum up changes in order of time; moments at which nothing changes on balance are left out."""
    times: list[float] = []
    values: list[int] = []
    value = 0
    for time, together in groupby(sorted(events), key=itemgetter(0)):
        change = sum(delta for _, delta in together)
        if change:
            value += change
            times.append(time)
            values.append(value)
    return Series(tuple(times), tuple(values))
