"""What a replay will be, before it runs: rows, times, lengths, and what is odd about them. No sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from lab.workload.request import MAX_REQUESTS
from lab.workload.trace.formats import Unit
from lab.workload.trace.replay import Cut

QUIET = 0.05  # a slice with less than this share of the whole file's rate is worth a warning
COARSE = 1.0  # seconds between arrivals, while most arrivals have company: a clock that ticks


class Concern(StrEnum):
    """What somebody should know before they run it."""

    SORTED = "sorted"  # the file was not in order of time
    NO_TIMES = "no_times"  # lengths only: all arrive at once
    TICKS = "ticks"  # arrivals are rounded to ticks, which hide what a wait window does
    QUIET = "quiet"  # the slice has far fewer requests per second than the file
    EMPTY = "empty"  # no request is left
    TOO_MANY = "too_many"  # more requests than a run takes


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens per request; percentiles are interpolated between ranks. `capped` requests were cut to a cap."""

    mean: float
    p50: float
    p95: float
    max: int
    total: int
    capped: int


@dataclass(frozen=True, slots=True)
class Preview:
    """A cut, summed up. What is undefined (a rate of one request) is None.

    unit           of the file's times, assumed from its format
    read           rows of the file = kept + sum of dropped
    span, rate     seconds from the first to the last arrival; kept ÷ span
    gap_cv         standard deviation ÷ mean of the gaps between arrivals: 1 for Poisson, more when bursty
    dispersion     variance ÷ mean of arrivals per second: 1 for Poisson, more when bursty
    peak           most arrivals within one of those seconds
    file_span, file_rate  of all usable rows, before slice, gaps and speed
    moved          rows that were out of order
    """

    name: str
    format: str
    unit: Unit
    read: int
    kept: int
    dropped: Mapping[str, int]
    span: float
    rate: float | None
    prompt: Lengths | None
    output: Lengths | None
    gap_cv: float | None
    dispersion: float | None
    peak: int
    file_span: float
    file_rate: float | None
    moved: int
    concerns: tuple[Concern, ...]


def preview(made: Cut) -> Preview:
    trace, kept = made.trace, len(made.arrivals)
    dispersion, peak = _per_second(made.arrivals)
    return Preview(
        name=trace.name,
        format=trace.format.name,
        unit=trace.format.unit,
        read=trace.read,
        kept=kept,
        dropped={why.value: n for why, n in made.dropped.items()},
        span=made.span,
        rate=_ratio(kept, made.span),
        prompt=_lengths(made.prompt, made.prompts_capped),
        output=_lengths(made.output, made.outputs_capped),
        gap_cv=_gap_cv(made.arrivals),
        dispersion=dispersion,
        peak=peak,
        file_span=trace.span,
        file_rate=_ratio(len(trace.times), trace.span),
        moved=trace.moved,
        concerns=tuple(_concerns(made)),
    )


def _concerns(made: Cut) -> list[Concern]:
    trace, replay, kept = made.trace, made.replay, len(made.arrivals)
    end = trace.span if replay.end is None else min(replay.end, trace.span)
    expected = len(trace.times) * max(0.0, end - replay.start) / trace.span if trace.span else 0.0
    gaps = np.diff(trace.times)
    between = gaps[gaps > 0]
    found = {
        Concern.SORTED: trace.moved > 0,
        Concern.NO_TIMES: trace.format.time is None,
        Concern.TICKS: 0 < len(between) < len(gaps) / 2 and bool(between.min() >= COARSE),
        Concern.QUIET: 0 < made.in_slice < QUIET * expected,
        Concern.EMPTY: kept == 0,
        Concern.TOO_MANY: kept > MAX_REQUESTS,
    }
    return [concern for concern, holds in found.items() if holds]


def _lengths(tokens: NDArray[np.int64], capped: int) -> Lengths | None:
    if not len(tokens):
        return None
    p50, p95 = (float(p) for p in np.percentile(tokens, (50, 95)))
    return Lengths(float(tokens.mean()), p50, p95, int(tokens.max()), int(tokens.sum()), capped)


def _gap_cv(arrivals: NDArray[np.float64]) -> float | None:
    gaps = np.diff(arrivals)
    return float(gaps.std() / gaps.mean()) if len(gaps) > 1 and gaps.mean() > 0 else None


def _per_second(arrivals: NDArray[np.float64]) -> tuple[float | None, int]:
    """Variance ÷ mean over all seconds of the span, those without an arrival too, and the most in one. Only
    seconds with arrivals are stored: a file may claim to span centuries."""
    if not len(arrivals):
        return None, 0
    _, counts = np.unique(np.floor(arrivals), return_counts=True)
    seconds = float(np.floor(arrivals[-1])) + 1
    mean = len(arrivals) / seconds
    variance = float((counts.astype(np.float64) ** 2).sum()) / seconds - mean**2
    return (variance / mean if seconds > 1 else None), int(counts.max())


def _ratio(count: int, span: float) -> float | None:
    return count / span if span > 0 else None
