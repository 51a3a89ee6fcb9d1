"""How far is a prediction from what was measured? Signed relative errors, each beside the noise of the repeats.

Pure functions of lanes. Refuses to know how lanes were run and what a prediction stands on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from lab.analysis.acceptance import Verdict, compare
from lab.analysis.distribution import percentile
from lab.analysis.timeline import request_times
from lab.analysis.work import work_done
from lab.run.record import LaneRecord
from lab.workload.request import Workload

BOUND = 0.10
MAIN = ("throughput", "ttft_mean", "tpot_mean", "e2e_mean")  # those that the goal is stated for
METRICS = (
    "throughput",
    *(f"{m}_{s}" for m in ("ttft", "tpot", "e2e") for s in ("mean", "p50", "p95")),
    "mean_batch",
)


class Cell(NamedTuple):
    """One metric of one mode at one load. `measured` is the median of the repeats; `error` the median of
    predicted / measured − 1 over them, `spread` its median absolute deviation."""

    mode: str
    load: float
    metric: str
    measured: float
    predicted: float
    error: float
    spread: float
    verdict: Verdict


def readings(workload: Workload, lane: LaneRecord) -> dict[str, float]:
    """METRICS of a finished lane: tokens per second, seconds, rows computed a step.

    ValueError where one of them is undefined: nothing finished, or no answer of two tokens.
    """
    times = request_times(workload, lane)
    last = max((r.token_times[-1] for r in times if r.token_times), default=0.0)
    span = last - min(r.arrival for r in times if r.arrival is not None)
    work = work_done(lane)
    found = {"throughput": sum(r.tokens for r in times) / span if span > 0 else math.nan}
    for name in ("ttft", "tpot", "e2e"):
        known = sorted(v for v in (getattr(r, name) for r in times) if v is not None)
        if not known:
            raise ValueError(f"no request of {workload.name!r} has a {name} in {lane.name}; more must finish")
        found[f"{name}_mean"] = math.fsum(known) / len(known)
        found[f"{name}_p50"], found[f"{name}_p95"] = percentile(known, 50), percentile(known, 95)
    found["mean_batch"] = work.row_steps / work.steps
    return found


def cells(
    mode: str, load: float, predicted: Mapping[str, float], measured: Sequence[Mapping[str, float]]
) -> list[Cell]:
    """One for each of METRICS; `measured` has at least five repeats."""
    made = []
    for metric in METRICS:
        repeats, guess = [m[metric] for m in measured], predicted[metric]
        found = compare([guess] * len(repeats), repeats, BOUND)
        made.append(Cell(mode, load, metric, median(repeats), guess, found.difference, found.spread, found.verdict))
    return made


def median_abs_error(found: Iterable[Cell]) -> dict[str, float]:
    """By metric, the median of |error| over modes and loads."""
    errors: dict[str, list[float]] = {}
    for cell in found:
        errors.setdefault(cell.metric, []).append(abs(cell.error))
    return {metric: median(values) for metric, values in errors.items()}


def goal_met(found: Sequence[Cell]) -> bool:
    """For each of MAIN the median |error| is within BOUND; a cell that noise leaves open counts as beyond."""
    far = [c._replace(error=math.inf) if c.verdict == "inconclusive" else c for c in found]
    errors = median_abs_error(far)
    return all(errors[metric] <= BOUND for metric in MAIN)
