"""What `run` prints: one strict JSON object, or a table for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lab.analysis.answers import answer_texts
from lab.analysis.classes import by_bucket, by_priority
from lab.analysis.fairness import starved
from lab.analysis.identity import Difference, Identity, token_identity
from lab.analysis.metrics import LaneMetrics, Slo, lane_metrics
from lab.analysis.timeline import request_times
from lab.cli.order_output import classes_json, half_and_tail, order_json, order_lines
from lab.run.record import RunRecord


def print_json(content: dict[str, Any]) -> None:
    print(json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1))


def run_json(record: RunRecord, slo: Slo | None) -> dict[str, Any]:
    """Units are in the names; what is undefined is null."""
    return {
        "provenance": asdict(record.provenance) | {"versions": dict(record.provenance.versions)},
        "workload": {
            "name": record.workload.name,
            "seed": record.workload.seed,
            "requests": len(record.workload.requests),
            "source": record.workload.source,
        },
        "lanes": {lane.name: _lane_json(record, lane_metrics(record, lane, slo)) for lane in record.lanes},
        "tokens_identical": _identity_json(token_identity(record)) if _has_tokens(record) else None,
    }


def _has_tokens(record: RunRecord) -> bool:
    """A prediction has the lengths of answers, not their tokens."""
    return record.provenance.kind != "predicted"


def _lane_json(record: RunRecord, m: LaneMetrics) -> dict[str, Any]:
    lane = record.lane(m.lane)
    return {
        "max_batch_size": lane.policy.max_batch_size,
        "order": order_json(lane.policy),
        "requests": m.requests,
        "finished": m.finished,
        "refused": {str(number): why for number, why in lane.refused},
        "output_tokens": m.useful_tokens,
        "throughput_tok_s": m.throughput,
        "goodput_req_s": m.goodput,
        "ttft_s": asdict(m.ttft),
        "tpot_s": asdict(m.tpot),
        "itl_s": asdict(m.itl),
        "e2e_s": asdict(m.e2e),
        "queue_delay_s": asdict(m.queue_delay),
        "slot_occupancy": m.slot_occupancy,
        "busy_fraction": m.busy_fraction,
        "padding_waste": m.padding_waste,
        "straggler_waste": m.straggler_waste,
        "kernel_padding": m.kernel_padding,
        "steps": m.steps,
        "cold_steps": m.cold_steps,
        "batches": m.batches,
        "kv_peak_bytes": {"reserved": m.kv_peak_reserved_bytes, "used": m.kv_peak_used_bytes},
        "makespan_s": m.makespan,
        "mbu": m.mbu,
        "buckets": classes_json(by_bucket(record.workload, lane)),
        "priorities": classes_json(by_priority(record.workload, lane)),
        "starved": list(starved(lane, request_times(record.workload, lane))),
    }


def _identity_json(identity: Identity) -> dict[str, Any]:
    first = identity.first_difference or next(iter(identity.ties), None)
    return {
        "requests": identity.requests,
        "identical": identity.identical,
        "ties": len(identity.ties),
        "first_difference": None if first is None else asdict(first),
    }


def run_text(record: RunRecord, slo: Slo | None) -> str:
    p = record.provenance
    lanes = [lane_metrics(record, lane, slo) for lane in record.lanes]
    lines = [
        f"{record.workload.name}: {len(record.workload.requests)} requests · {p.model} · {p.dtype} · {p.device} · "
        f"{p.kind} {p.created}",
        "",
        f"{'':22}" + "".join(f"{m.lane:>14}" for m in lanes),
    ]
    lines += [f"{name:22}" + "".join(f"{show(m):>14}" for m in lanes) for name, show in _ROWS]
    if slo is not None:
        lines.append(f"{'goodput, req/s':22}" + "".join(f"{_number(m.goodput):>14}" for m in lanes))
    if len(record.lanes) > 1 and _has_tokens(record):
        lines += ["", identity_sentence(token_identity(record), p.dtype)]
    lines += order_lines(record)
    lines += [f"{lane.name}: request {n} refused: {why}" for lane in record.lanes for n, why in lane.refused]
    return "\n".join(lines + (_answer_lines(record) if _has_tokens(record) else []))


def _answer_lines(record: RunRecord) -> list[str]:
    answers = answer_texts(record, record.lanes[0])
    lines = [f"{number:4}  {' '.join(text.split())}" for number, text in sorted(answers.items())]
    return ["", f"answers ({record.lanes[0].name}):", *lines]


def identity_sentence(identity: Identity, dtype: str) -> str:
    said = f"{identity.identical} of {identity.requests} answers identical in all modes"
    if identity.ties:
        said += f", {len(identity.ties)} part at a tie ({_where(identity.ties[0])})"
    if identity.first_difference:
        said += f"; first difference: {_where(identity.first_difference)}"
    if identity.identical < identity.requests and dtype != "fp32":
        said += f". In {dtype} rounding depends on the batch: that is no fault of the batching"
    return said


def _where(d: Difference) -> str:
    gap = "" if d.gap is None else f", the two best logits {d.gap:.1e} apart"
    return f"request {d.request}, token {d.position + 1}, {d.lanes[0]} / {d.lanes[1]}{gap}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def share(value: float | None) -> str:
    """In per cent; a dash where there is none."""
    return "–" if value is None else f"{value:.0%}"


_ROWS: tuple[tuple[str, Callable[[LaneMetrics], str]], ...] = (
    ("throughput, tok/s", lambda m: _number(m.throughput)),
    ("TTFT p50 / p99, ms", lambda m: half_and_tail(m.ttft)),
    ("TPOT p50 / p99, ms", lambda m: half_and_tail(m.tpot)),
    ("E2E p50 / p99, ms", lambda m: half_and_tail(m.e2e)),
    ("queue p50 / p99, ms", lambda m: half_and_tail(m.queue_delay)),
    ("makespan, s", lambda m: _number(m.makespan)),
    ("slot occupancy", lambda m: share(m.slot_occupancy)),
    ("busy", lambda m: share(m.busy_fraction)),
    ("padding waste", lambda m: share(m.padding_waste)),
    ("straggler waste", lambda m: share(m.straggler_waste)),
    ("KV reserved, MB", lambda m: _number(m.kv_peak_reserved_bytes / 1e6)),
    ("KV used, MB", lambda m: _number(m.kv_peak_used_bytes / 1e6)),
    ("MBU", lambda m: share(m.mbu)),
    ("steps", lambda m: str(m.steps)),
    ("batches", lambda m: str(m.batches)),
)
