"""Is virtual waiting honest? A lane inside the race against the same lane alone in real time, with sleeps.

In the race a lane's clock moves by measured step times and jumps over waiting. Alone, its clock is the
wall clock: everything between the steps counts, and waiting sleeps. The mean end-to-end latency of its
requests must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from lab.analysis.acceptance import Verdict, compare
from lab.analysis.timeline import request_times
from lab.engine.progress import Progress
from lab.experiments.turns import in_turns
from lab.run.clock import RealClock
from lab.run.lane import Lane
from lab.run.lanes import RunSpec, build_lanes
from lab.run.race import to_the_end
from lab.workload.request import Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

BOUND = 0.05


class ClockCheck(NamedTuple):
    """Mean end-to-end latency of one mode in seconds (medians over the repeats), and how the two compare."""

    mode: str
    virtual: float
    real: float
    difference: float
    spread: float
    repeats: int
    verdict: Verdict


def verify_clock(
    spec: RunSpec,
    workload: Workload,
    engine: Engine,
    repeats: int,
    report: Progress,
) -> tuple[ClockCheck, ...]:
    """Race and real time in turn, `repeats` times each (at least 5); `workload` is prepared.

    `report(phase, done, total)` is called between runs. Real time takes as long as it says.
    """
    virtual: dict[str, list[float]] = {p.name: [] for p in spec.policies}
    real: dict[str, list[float]] = {p.name: [] for p in spec.policies}

    def raced() -> None:
        lanes = build_lanes(spec, workload, engine)
        to_the_end(lanes)
        for lane in lanes:
            virtual[lane.policy.name].append(_mean_e2e(workload, lane))

    def alone(name: str) -> None:
        only = replace(spec, policies=tuple(p for p in spec.policies if p.name == name))
        [lane] = build_lanes(only, workload, engine, RealClock)
        to_the_end([lane])
        real[name].append(_mean_e2e(workload, lane))

    runs: list[Callable[[], None]] = [raced, *(partial(alone, p.name) for p in spec.policies)]
    for run in in_turns(runs, repeats, "verifying", report):
        run()
    return tuple(_check(name, virtual[name], real[name]) for name in virtual)


def _mean_e2e(workload: Workload, lane: Lane) -> float:
    return fmean(t.e2e for t in request_times(workload, lane.record()) if t.e2e is not None)


def _check(name: str, virtual: list[float], real: list[float]) -> ClockCheck:
    found = compare(virtual, real, BOUND)
    return ClockCheck(
        name, median(virtual), median(real), found.difference, found.spread, found.repeats, found.verdict
    )
