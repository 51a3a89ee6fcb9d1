"""What a lane achieved, in numbers. Every definition stands beside its field; the words are the field's own.

A pure function of a record, finished or in progress. Refuses to know how numbers are drawn or worded.
Units: seconds, tokens, bytes, requests per second; a share is between 0 and 1; what is undefined is None.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lab.analysis.distribution import Summary, summarise
from lab.analysis.series import kv_reserved, kv_used
from lab.analysis.timeline import RequestTimes, request_times
from lab.analysis.work import work_done
from lab.run.record import LaneRecord, Provenance, RunRecord


@dataclass(frozen=True, slots=True)
class Slo:
    """What a user was promised, in seconds; None: no promise. A request meets it if it keeps all of them."""

    ttft: float | None = None
    tpot: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("ttft", self.ttft), ("tpot", self.tpot)):
            if limit is not None and not (math.isfinite(limit) and limit > 0):
                raise ValueError(f"the {name} promised is {limit} s; it must be above 0 and finite")

    def met_by(self, r: RequestTimes) -> bool:
        """Judged when finished; an answer of one token has no TPOT and is judged by its TTFT alone."""
        if r.status != "finished" or r.ttft is None:
            return False
        in_time = self.ttft is None or r.ttft <= self.ttft
        return in_time and (self.tpot is None or r.tpot is None or r.tpot <= self.tpot)


@dataclass(frozen=True, slots=True)
class LaneMetrics:
    """One lane in numbers.

    requests, finished, refused, unfinished   how many
    ttft              first token - scheduled arrival, of all that have a first token
    tpot              (E2E - TTFT) / (n - 1), of the finished with n >= 2 tokens
    itl               gaps between tokens of one request, of all requests together; TTFT is not among them
    e2e               last token - scheduled arrival, of the finished
    queue_delay       first scheduled - arrival, of all that were scheduled
    useful_tokens     tokens given to users; padding and dead rows never count
    makespan          last token - first arrival
    throughput        useful_tokens / makespan
    user_speed        1 / mean TPOT: tokens per second that one user sees
    goodput           finished requests that meet the Slo / makespan; None without an Slo
    slot_occupancy    seconds of slots with a live row / seconds of slots while their group computes
    busy_fraction     seconds computed / (makespan x groups)
    padding_waste     padding / computed prompt positions
    straggler_waste   rows computed for the dead / all rows computed, each once a step: every row-step gives a
                      token (a prompt's step the first one), so this is the share of tokens thrown away
    kernel_padding    token positions computed only because kernels round lengths
    steps             steps run
    batches           steps that admitted requests; without refill each of them opens a batch
    cold_steps        steps in a shape never seen before; their times include set-up
    kv_peak_reserved, kv_peak_used            tokens, over all groups; used: cached for the unfinished, at the
                      end of a step
    mbu               bytes that pure decode steps must read (weights once a step, KV of the live) / their
                      seconds / the device's measured read bandwidth; None where that was not measured
    """

    lane: str
    requests: int
    finished: int
    refused: int
    unfinished: int
    ttft: Summary
    tpot: Summary
    itl: Summary
    e2e: Summary
    queue_delay: Summary
    useful_tokens: int
    makespan: float | None
    throughput: float | None
    user_speed: float | None
    goodput: float | None
    slot_occupancy: float | None
    busy_fraction: float | None
    padding_waste: float | None
    straggler_waste: float | None
    kernel_padding: int
    steps: int
    batches: int
    cold_steps: int
    kv_peak_reserved: int
    kv_peak_used: int
    kv_peak_reserved_bytes: int
    kv_peak_used_bytes: int
    mbu: float | None


def lane_metrics(record: RunRecord, lane: LaneRecord, slo: Slo | None = None) -> LaneMetrics:
    times = request_times(record.workload, lane)
    work = work_done(lane)
    provenance = record.provenance
    useful = sum(r.tokens for r in times)
    makespan = _makespan(times)
    tpot = summarise(_known([r.tpot for r in times]))
    reserved = kv_reserved(record.workload, lane, times).peak
    used = kv_used(record.workload, times).peak
    return LaneMetrics(
        lane=lane.name,
        requests=len(times),
        finished=sum(r.status == "finished" for r in times),
        refused=sum(r.status == "refused" for r in times),
        unfinished=sum(r.status == "unfinished" for r in times),
        ttft=summarise(_known([r.ttft for r in times])),
        tpot=tpot,
        itl=summarise([gap for r in times for gap in r.gaps]),
        e2e=summarise(_known([r.e2e for r in times])),
        queue_delay=summarise(_known([r.queue_delay for r in times])),
        useful_tokens=useful,
        makespan=makespan,
        throughput=_ratio(useful, makespan),
        user_speed=_ratio(1.0, tpot.mean),
        goodput=None if slo is None else _ratio(sum(map(slo.met_by, times)), makespan),
        slot_occupancy=_ratio(work.live_row_s, work.busy_s * lane.policy.max_batch_size),
        busy_fraction=_ratio(work.busy_s, None if makespan is None else makespan * lane.groups),
        padding_waste=_ratio(work.padding, work.prompt_positions),
        straggler_waste=_ratio(work.dead_row_steps, work.row_steps),
        kernel_padding=work.kernel_padding,
        steps=work.steps,
        batches=work.admitting_steps,
        cold_steps=work.cold_steps,
        kv_peak_reserved=reserved,
        kv_peak_used=used,
        kv_peak_reserved_bytes=reserved * provenance.kv_bytes_per_token,
        kv_peak_used_bytes=used * provenance.kv_bytes_per_token,
        mbu=_mbu(provenance, work.decode_steps, work.decode_context, work.decode_s),
    )


def as_json(metrics: LaneMetrics) -> dict[str, Any]:
    """Ready for `json.dumps(…, allow_nan=False)`: what is undefined is null, never NaN and never 0."""
    made = asdict(metrics)
    for name, value in made.items():
        if isinstance(summary := getattr(metrics, name), Summary):
            value["p99_is_max"] = summary.p99_is_max
    return made


def token_rate(times: Sequence[RequestTimes], start: float, end: float) -> float:
    """Tokens per second that came within start <= t < end, whichever requests they belong to."""
    if not end > start:
        raise ValueError(f"the window runs from {start} to {end} s; it must end later than it starts")
    return sum(start <= t < end for r in times for t in r.token_times) / (end - start)


def _makespan(times: Sequence[RequestTimes]) -> float | None:
    last = _known([r.last_token for r in times])
    arrivals = _known([r.arrival for r in times])
    return max(last) - min(arrivals) if last and arrivals else None


def _mbu(p: Provenance, steps: int, context: int, seconds: float) -> float | None:
    if p.read_bytes_per_s is None:
        return None
    return _ratio(steps * p.weight_bytes + context * p.kv_bytes_per_token, seconds * p.read_bytes_per_s)


def _known(values: Sequence[float | None]) -> list[float]:
    return [v for v in values if v is not None]


def _ratio(part: float, whole: float | None) -> float | None:
    return part / whole if whole else None
