"""The same requests at rising rates of arrival, predicted: how long they stay, mode by mode, and where it turns.

An open loop of a few requests: the curve that single measured runs are set against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lab.analysis.load import knee
from lab.analysis.metrics import lane_metrics
from lab.run.calibration import Calibration
from lab.run.lanes import RunSpec
from lab.run.predict import predict
from lab.run.record import RunRecord
from lab.workload.request import Workload

RATES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0)
"""Requests per second."""


class RatePoint(NamedTuple):
    """At `rate` requests a second: `answered` a second, and the mean end-to-end time in seconds."""

    rate: float
    answered: float
    mean_e2e: float


@dataclass(frozen=True, slots=True)
class RateCurve:
    """One lane, at rising rates."""

    lane: str
    points: tuple[RatePoint, ...]

    @property
    def knee(self) -> RatePoint | None:
        """See lab.analysis.load.knee; None where it lies at the end of these rates, so perhaps beyond."""
        where = knee([(p.answered, p.mean_e2e) for p in self.points])
        return self.points[where] if 0 < where < len(self.points) - 1 else None


def rate_curves(
    spec: RunSpec, workload: Workload, calibration: Calibration, rates: Sequence[float] = RATES
) -> tuple[RateCurve, ...]:
    """`workload` is prepared; ValueError, one sentence, where its arrivals cannot be stretched."""
    records = [predict(replace(spec, workload=workload.at_rate(rate)), calibration) for rate in rates]
    return tuple(
        RateCurve(p.name, tuple(rate_point(r, p.name, rate) for r, rate in zip(records, rates, strict=True)))
        for p in spec.policies
    )


def rate_point(record: RunRecord, lane: str, rate: float) -> RatePoint:
    """Of one run. ValueError where nothing was finished."""
    found = lane_metrics(record, record.lane(lane))
    if not found.makespan or found.e2e.mean is None:
        raise ValueError(f"lane {lane!r} has finished nothing")
    return RatePoint(rate, found.finished / found.makespan, found.e2e.mean)
