"""When requests arrive: sorted times in seconds, the first at 0.

Pure functions of their arguments and a seeded generator. They know no prompts, no lengths and no clock.
All raise ValueError for a count below 1, or a rate, span or gap that is no usable number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

Times = tuple[float, ...]


def all_at_once(count: int) -> Times:
    """Everybody is there from the start."""
    _check_count(count)
    return (0.0,) * count


def steady(count: int, rate: float) -> Times:
    """One every 1 / rate seconds; `rate` in requests per second."""
    _check_count(count)
    _check_rate(rate)
    return tuple(i / rate for i in range(count))


def poisson(count: int, rate: float, rng: np.random.Generator) -> Times:
    """Independent gaps, exponentially distributed with mean 1 / rate seconds.

    The same generator state at another rate gives the same times, stretched: runs at two rates differ
    in nothing else.
    """
    _check_count(count)
    _check_rate(rate)
    gaps = rng.standard_exponential(count - 1)
    return (0.0, *(float(t) / rate for t in np.cumsum(gaps)))


def bursty(sizes: Sequence[int], span: float, gap: float, rng: np.random.Generator) -> Times:
    """Clusters: `sizes[i]` requests within `span` seconds, then `gap` seconds of silence.

    The first of a cluster opens it; the others fall evenly at random into its span.
    """
    if not sizes:
        raise ValueError("sizes is empty; there must be at least one cluster")
    for size in sizes:
        _check_count(size)
    for name, seconds in (("span", span), ("gap", gap)):
        if not math.isfinite(seconds) or seconds < 0:
            raise ValueError(f"{name} is {seconds} s; it must be 0 or more and finite")
    times: list[float] = []
    for i, size in enumerate(sizes):
        opens = i * (span + gap)
        times.extend(opens + x for x in (0.0, *sorted(float(u) * span for u in rng.random(size - 1))))
    return tuple(times)


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"count is {count}; there must be at least 1 request")


def _check_rate(rate: float) -> None:
    if not math.isfinite(rate) or rate <= 0:
        raise ValueError(f"rate is {rate} requests per second; it must be above 0 and finite")
