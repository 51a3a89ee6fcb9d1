"""Percentiles and means of a list of durations. Knows nothing of requests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """Nearest-rank percentiles of n samples, in the samples' unit; all None when n is 0."""

    p50: float | None
    p90: float | None
    p99: float | None
    mean: float | None
    max: float | None
    n: int

    @property
    def p99_is_max(self) -> bool:
        """Under 100 samples the p99 is the largest of them and must be labelled so."""
        return self.n < 100


def percentile(ordered: Sequence[float], p: int) -> float:
    """The nearest-rank percentile: the smallest sample that at least p % of all do not exceed.

    `ordered` is sorted and not empty; p is a whole number from 1 to 100.
    """
    rank = -(-p * len(ordered) // 100)  # integers: a float product can round past an exact rank
    return ordered[rank - 1]


def summarise(samples: Sequence[float]) -> Summary:
    if not samples:
        return Summary(None, None, None, None, None, 0)
    ordered = sorted(samples)
    return Summary(
        p50=percentile(ordered, 50),
        p90=percentile(ordered, 90),
        p99=percentile(ordered, 99),
        mean=math.fsum(ordered) / len(ordered),
        max=ordered[-1],
        n=len(ordered),
    )
