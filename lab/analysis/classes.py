"""What a lane achieved for each length bucket and for each priority. Pure functions of a record.

The same measures as for a whole lane (see lab.analysis.metrics), of a part of its requests. Units: seconds, tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lab.analysis.distribution import Summary, summarise
from lab.analysis.timeline import RequestTimes, request_times
from lab.run.record import LaneRecord
from lab.scheduling.order import bucket_name, bucket_of
from lab.workload.request import Request, Workload


@dataclass(frozen=True, slots=True)
class ClassMetrics:
    """One class of requests in one lane.

    name           the bucket's range of prompt tokens, or the priority
    requests, finished, useful_tokens    how many
    queue_delay, ttft, e2e               of its requests
    padding_waste  padding / computed prompt positions of its prompts; None before any was computed
    """

    name: str
    requests: int
    finished: int
    useful_tokens: int
    queue_delay: Summary
    ttft: Summary
    e2e: Summary
    padding_waste: float | None


def by_bucket(
    workload: Workload, lane: LaneRecord, boundaries: tuple[int, ...] | None = None
) -> tuple[ClassMetrics, ...]:
    """The buckets in which there are requests, shortest first; None = those of the lane's own order."""
    edges = lane.policy.order.boundaries if boundaries is None else boundaries
    return _by(
        workload, lane, lambda r: bucket_of(r.prompt_tokens, edges), lambda bucket: bucket_name(bucket, edges)
    )


def by_priority(workload: Workload, lane: LaneRecord) -> tuple[ClassMetrics, ...]:
    """The priorities that requests have, the most urgent first."""
    return _by(workload, lane, lambda r: r.priority, str)


def _by(
    workload: Workload, lane: LaneRecord, key: Callable[[Request], int], name: Callable[[int], str]
) -> tuple[ClassMetrics, ...]:
    times, prompts = request_times(workload, lane), _prompt_positions(lane)
    members: dict[int, list[RequestTimes]] = {}
    for r in workload.requests:
        members.setdefault(key(r), []).append(times[r.id])
    return tuple(_metrics(name(k), members[k], prompts) for k in sorted(members))


def _metrics(name: str, times: list[RequestTimes], prompts: dict[int, tuple[int, int]]) -> ClassMetrics:
    computed = [prompts[r.id] for r in times if r.id in prompts]
    positions = sum(padded_to for _, padded_to in computed)
    return ClassMetrics(
        name=name,
        requests=len(times),
        finished=sum(r.status == "finished" for r in times),
        useful_tokens=sum(r.tokens for r in times),
        queue_delay=_summary(r.queue_delay for r in times),
        ttft=_summary(r.ttft for r in times),
        e2e=_summary(r.e2e for r in times),
        padding_waste=1 - sum(fed for fed, _ in computed) / positions if positions else None,
    )


def _prompt_positions(lane: LaneRecord) -> dict[int, tuple[int, int]]:
    """By request whose prompt was computed: (tokens fed, positions that they cost)."""
    c = lane.columns
    rows = zip(c.request, c.fed, c.past, c.padded_to, strict=True)
    return {request: (fed, padded_to) for request, fed, past, padded_to in rows if past == 0}


def _summary(values: Iterable[float | None]) -> Summary:
    return summarise([v for v in values if v is not None])
