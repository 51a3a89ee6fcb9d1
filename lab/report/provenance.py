"""Where a run's numbers come from, and under which knobs they were measured: plain text."""

from __future__ import annotations

import math
from datetime import datetime
from statistics import median

from lab.analysis.metrics import LaneMetrics
from lab.report.words import Words
from lab.run.record import RunRecord


def provenance_line(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> str:
    p = record.provenance
    parts = [
        words(f"provenance.{p.kind}", time=local_time(p.created)),
        words("provenance.what", model=p.model, device=p.device, dtype=p.dtype, threads=p.threads),
        *_settings(record, words),
    ]
    if p.reference_step_s:
        ms = f"{median(p.reference_step_s) * 1e3:.1f}"
        parts.append(words("provenance.reference", ms=ms, n=len(p.reference_step_s)))
    line = " · ".join(parts)
    cold = sum(m.cold_steps for m in metrics)
    return words("provenance.cold", line=line, n=cold) if cold else line


def _settings(record: RunRecord, words: Words) -> list[str]:
    policies = [lane.policy for lane in record.lanes]
    settings = words(
        "provenance.settings",
        scenario=words(key) if (key := f"scenario.{record.workload.name}.name") in words else record.workload.name,
        n=len(record.workload.requests),
        seed=record.workload.seed,
        batch=max(p.max_batch_size for p in policies),
    )
    windows = sorted({p.max_queue_delay for p in policies if 0 < p.max_queue_delay < math.inf})
    return [settings, *(words("provenance.window", window=f"{w * 1e3:g}") for w in windows)]


def settings_line(record: RunRecord, words: Words) -> str:
    """What was run on what, in one line: the caption of every chart."""
    p = record.provenance
    parts = [
        *_settings(record, words),
        words("provenance.what", model=p.model, device=p.device, dtype=p.dtype, threads=p.threads),
        words(f"provenance.{p.kind}", time=local_time(p.created)),
        *([record.workload.source] if record.workload.source else []),
    ]
    return " · ".join(parts)


def recorded_when(record: RunRecord) -> str:
    """The day on which it was recorded."""
    return day_of(record.provenance.created)


def day_of(created: str) -> str:
    """Of a time as records have it."""
    return datetime.fromisoformat(created).strftime("%Y-%m-%d")


def local_time(created: str) -> str:
    """The server's own time, which is the time where it was measured."""
    return datetime.fromisoformat(created).astimezone().strftime("%Y-%m-%d %H:%M:%S")
