"""What is printed of a queue's order: its knobs, what each bucket and each priority got, and who starved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lab.analysis.classes import ClassMetrics, by_bucket, by_priority
from lab.analysis.distribution import Summary
from lab.analysis.fairness import starved
from lab.analysis.timeline import request_times
from lab.run.record import LaneRecord, RunRecord
from lab.scheduling.policy import Policy


def order_json(policy: Policy) -> dict[str, Any]:
    """The knobs of the order; a limit that does not apply is null."""
    order = policy.order
    return {
        "buckets": list(order.boundaries),
        "by_priority": order.by_priority,
        "ageing_s": order.ageing if order.by_priority else None,
        "bucket_wait_limit_s": policy.bucket_wait_limit if order.boundaries else None,
    }


def classes_json(classes: Sequence[ClassMetrics]) -> dict[str, dict[str, Any]]:
    """By name; seconds, shares and counts, what is undefined is null."""
    return {
        c.name: {
            "requests": c.requests,
            "finished": c.finished,
            "output_tokens": c.useful_tokens,
            "queue_delay_s": asdict(c.queue_delay),
            "ttft_s": asdict(c.ttft),
            "e2e_s": asdict(c.e2e),
            "padding_waste": c.padding_waste,
        }
        for c in classes
    }


def order_lines(record: RunRecord) -> list[str]:
    """A table a lane, where there are several buckets or priorities, and a line for those who starved."""
    lines: list[str] = []
    for lane in record.lanes:
        buckets, priorities = by_bucket(record.workload, lane), by_priority(record.workload, lane)
        if len(buckets) > 1:
            lines += ["", *class_lines(f"{lane.name}, prompt tokens", buckets)]
        if len(priorities) > 1:
            lines += ["", *class_lines(f"{lane.name}, priority", priorities)]
        lines += _starved(record, lane)
    return lines


def class_lines(title: str, classes: Sequence[ClassMetrics]) -> list[str]:
    heads = ("requests", "queue p50/p99, ms", "TTFT p50/p99, ms", "E2E p50/p99, ms", "padding")
    lines = [f"{title:28}" + "".join(f"{head:>19}" for head in heads)]
    for c in classes:
        padding = "–" if c.padding_waste is None else f"{c.padding_waste:.0%}"
        cells = (
            str(c.requests),
            half_and_tail(c.queue_delay),
            half_and_tail(c.ttft),
            half_and_tail(c.e2e),
            padding,
        )
        lines.append(f"  {c.name:26}" + "".join(f"{cell:>19}" for cell in cells))
    return lines


def _starved(record: RunRecord, lane: LaneRecord) -> list[str]:
    times = request_times(record.workload, lane)
    hungry = [times[i] for i in starved(lane, times)]
    if not hungry:
        return []
    longest = max(r.queue_delay or 0.0 for r in hungry)
    cause = " (ageing is off)" if lane.policy.order.ageing is None and lane.policy.order.by_priority else ""
    names = ", ".join(str(r.id) for r in hungry)
    return [f"{lane.name}: starved: requests {names}, for up to {longest:.1f} s, while later ones left{cause}"]


def half_and_tail(summary: Summary) -> str:
    """p50 / p99 in ms."""
    if summary.p50 is None or summary.p99 is None:
        return "–"
    return f"{summary.p50 * 1000:.0f} / {summary.p99 * 1000:.0f}"
