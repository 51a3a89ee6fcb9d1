"""What a lesson may ask of a run: a closed set of named numbers, each a pure function of a record.

Three kinds: of a lane, of the list of requests, of the machine. Every number that a lesson says about a run, grades
a prediction with or rests a claim on is one of these or a few of them reckoned together (lab.lesson.expression).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import mean, median
from typing import Literal, NamedTuple

from lab.analysis.metrics import LaneMetrics, lane_metrics
from lab.analysis.timeline import RequestTimes, request_times
from lab.analysis.work import work_done
from lab.run.record import LaneRecord, RunRecord

Unit = Literal["s", "ms", "tok/s", "req/s", "n", "%", "B", "B/s", "x"]
Number = float | None


class Seen(NamedTuple):
    """A lane of a record, looked at once."""

    record: RunRecord
    lane: LaneRecord
    metrics: LaneMetrics
    times: tuple[RequestTimes, ...]


class Measure(NamedTuple):
    unit: Unit
    of: Callable[[Seen], Number]


def see(record: RunRecord, lane_name: str) -> Seen:
    """ValueError where the record has no such lane."""
    lane = record.lane(lane_name)
    return Seen(record, lane, lane_metrics(record, lane), request_times(record.workload, lane))


def _most(values: Sequence[Number]) -> Number:
    return max((v for v in values if v is not None), default=None)


def _mean(values: Sequence[Number]) -> Number:
    known = [v for v in values if v is not None]
    return mean(known) if known else None


def _waits(seen: Seen, priority: int) -> list[Number]:
    requests = seen.record.workload.requests
    return [t.queue_delay for t, r in zip(seen.times, requests, strict=True) if r.priority == priority]


def _longest_prompt(seen: Seen) -> RequestTimes:
    requests = seen.record.workload.requests
    return seen.times[max(requests, key=lambda r: (r.prompt_tokens, -r.id)).id]


def _over_window(seen: Seen) -> Number:
    """Requests that had waited longer than the window when their batch left."""
    window = seen.lane.policy.max_queue_delay
    return sum(t.queue_delay is not None and t.queue_delay > window + 1e-9 for t in seen.times)


def _in_system(seen: Seen) -> Number:
    """Mean number of requests that had come and were not done, counted over time."""
    moves = sorted(
        [(t.arrival, 1) for t in seen.times if t.arrival is not None]
        + [(t.last_token, -1) for t in seen.times if t.last_token is not None]
    )
    area, present = 0.0, 0
    for (start, change), (end, _) in pairwise(moves):
        present += change
        area += present * (end - start)
    return area / seen.metrics.makespan if seen.metrics.makespan else None


def _steps(seen: Seen, *, prompts: bool, rows: int | None = None) -> list[float]:
    """Seconds of the steps that compute prompts, or of those that do not, warm ones, with so many rows."""
    return [
        seconds
        for run in seen.lane.runs()
        for seconds in run.seconds
        if run.prefill is prompts and not run.cold and rows in (None, len(run.rows))
    ]


def _median(values: Sequence[float]) -> Number:
    return median(values) if values else None


def _requests_per_s(seen: Seen) -> Number:
    m = seen.metrics
    return m.finished / m.makespan if m.makespan else None


def _most_rows(seen: Seen) -> Number:
    return max(seen.lane.columns.rows, default=None)


def _row_steps(seen: Seen) -> Number:
    return work_done(seen.lane).row_steps


LANE: Mapping[str, Measure] = {
    "throughput": Measure("tok/s", lambda s: s.metrics.throughput),
    "answered": Measure("req/s", _requests_per_s),
    "makespan": Measure("s", lambda s: s.metrics.makespan),
    "ttft_first": Measure("s", lambda s: s.times[0].ttft),
    "ttft_p50": Measure("s", lambda s: s.metrics.ttft.p50),
    "ttft_mean": Measure("s", lambda s: s.metrics.ttft.mean),
    "ttft_max": Measure("s", lambda s: s.metrics.ttft.max),
    "tpot": Measure("s", lambda s: s.metrics.tpot.mean),
    "gap_max": Measure("s", lambda s: s.metrics.itl.max),
    "gap_p50": Measure("s", lambda s: s.metrics.itl.p50),
    "e2e_first": Measure("s", lambda s: s.times[0].e2e),
    "e2e_p50": Measure("s", lambda s: s.metrics.e2e.p50),
    "e2e_mean": Measure("s", lambda s: s.metrics.e2e.mean),
    "e2e_max": Measure("s", lambda s: s.metrics.e2e.max),
    "queue_first": Measure("s", lambda s: s.times[0].queue_delay),
    "queue_mean": Measure("s", lambda s: s.metrics.queue_delay.mean),
    "queue_max": Measure("s", lambda s: s.metrics.queue_delay.max),
    "queue_urgent": Measure("s", lambda s: _mean(_waits(s, 0))),
    "queue_others": Measure("s", lambda s: _mean(_waits(s, 1))),
    "queue_longest": Measure("s", lambda s: _longest_prompt(s).queue_delay),
    "over_window": Measure("n", _over_window),
    "steps": Measure("n", lambda s: s.metrics.steps),
    "batches": Measure("n", lambda s: s.metrics.batches),
    "row_steps": Measure("n", _row_steps),
    "dead": Measure("n", lambda s: work_done(s.lane).dead_row_steps),
    "straggler": Measure("%", lambda s: s.metrics.straggler_waste),
    "padding": Measure("%", lambda s: s.metrics.padding_waste),
    "occupancy": Measure("%", lambda s: s.metrics.slot_occupancy),
    "busy": Measure("%", lambda s: s.metrics.busy_fraction),
    "mbu": Measure("%", lambda s: s.metrics.mbu),
    "kv_reserved": Measure("B", lambda s: s.metrics.kv_peak_reserved_bytes),
    "kv_used": Measure("B", lambda s: s.metrics.kv_peak_used_bytes),
    "in_system": Measure("n", _in_system),
    "first_batch": Measure("n", lambda s: next(iter(s.lane.columns.rows), None)),
    "aboard": Measure("n", _most_rows),
    "seats": Measure("n", lambda s: s.lane.policy.max_batch_size),
    "window": Measure("s", lambda s: s.lane.policy.max_queue_delay),
    "decode_step": Measure("s", lambda s: _median(_steps(s, prompts=False))),
    "full_step": Measure("s", lambda s: _median(_steps(s, prompts=False, rows=int(_most_rows(s) or 0)))),
    "prompt_step": Measure("s", lambda s: _most(_steps(s, prompts=True))),
}

LIST: Mapping[str, tuple[Unit, Callable[[RunRecord], Number]]] = {
    "requests": ("n", lambda r: len(r.workload.requests)),
    "output_tokens": ("n", lambda r: sum(_outputs(r))),
    "longest_answer": ("n", lambda r: max(_outputs(r))),
    "shortest_answer": ("n", lambda r: min(_outputs(r))),
    "mean_answer": ("n", lambda r: mean(_outputs(r))),
    "shortest_prompt": ("n", lambda r: min(q.prompt_tokens for q in r.workload.requests)),
    "longest_prompt": ("n", lambda r: max(q.prompt_tokens for q in r.workload.requests)),
    "mean_prompt": ("n", lambda r: mean(q.prompt_tokens for q in r.workload.requests)),
    "span": ("s", lambda r: max(q.arrival for q in r.workload.requests)),
    "rate": ("req/s", lambda r: _rate(r)),
    "number_longest": ("n", lambda r: max(r.workload.requests, key=lambda q: (q.prompt_tokens, -q.id)).id),
    "number_ordinary": ("n", lambda r: max(r.workload.requests, key=lambda q: (q.priority, -q.id)).id),
    "first_prompt": ("n", lambda r: r.workload.requests[0].prompt_tokens),
    "first_answer": ("n", lambda r: r.workload.requests[0].output_tokens),
    "first_may_have": ("n", lambda r: r.workload.requests[0].max_new_tokens),
}

MACHINE: Mapping[str, tuple[Unit, Callable[[RunRecord], Number]]] = {
    "weights": ("B", lambda r: r.provenance.weight_bytes),
    "bandwidth": ("B/s", lambda r: r.provenance.read_bytes_per_s),
    "kv_token": ("B", lambda r: r.provenance.kv_bytes_per_token),
    "reference_step": ("s", lambda r: _median(r.provenance.reference_step_s)),
    "kv_budget": ("B", lambda r: r.lanes[0].kv_budget * r.provenance.kv_bytes_per_token),
}


def _outputs(record: RunRecord) -> list[int]:
    """Tokens of each answer; as many as allowed where the run has not found them."""
    return [r.output_tokens or r.max_new_tokens for r in record.workload.requests]


def _rate(record: RunRecord) -> Number:
    arrivals = [q.arrival for q in record.workload.requests]
    return (len(arrivals) - 1) / max(arrivals) if max(arrivals) else None
