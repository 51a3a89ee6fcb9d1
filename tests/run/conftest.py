"""Lanes on a scripted executor, in one line."""

from collections.abc import Callable, Sequence

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.engine.step import Step
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Run
from lab.scheduling.policy import Policy
from lab.workload.request import Request, Workload

STEP = 2.0**-5  # 31.25 ms, a power of two: sums of it are exact


def workload_of(
    outputs: Sequence[int],
    *,
    arrivals: Sequence[float] | None = None,
    prompts: Sequence[int] | None = None,
    new: int | None = None,
) -> Workload:
    """Requests with these output lengths, prompt lengths (default 5) and arrivals (default all at once)."""
    arrivals = arrivals or [0.0] * len(outputs)
    prompts = prompts or [5] * len(outputs)
    rows = enumerate(zip(outputs, arrivals, prompts, strict=True))
    return Workload(
        "test",
        tuple(Request(i, t, new or n, prompt_ids=tuple(range(1, p + 1)), output_tokens=n) for i, (n, t, p) in rows),
    )


def run_lane(
    policy: Policy,
    workload: Workload,
    seconds: float | Callable[[Step], float] = STEP,
    *,
    many: bool = False,
    kv_budget: int = 100_000,
    **lane_options,
) -> Lane:
    """Drive the lane to its end; the executor must hold nothing afterwards."""
    duration = seconds if callable(seconds) else lambda step: seconds
    executor = ScriptedExecutor(duration, many=many)
    lane = Lane(policy, workload, executor, kv_budget=kv_budget, context=10_000, **lane_options)
    to_the_end([lane])
    assert executor.cached == {}
    return lane


def dispatches(lane: Lane) -> list[tuple[float, list[int], str]]:
    """(start, request ids whose prompts were computed, reason) of every step that admitted someone."""
    return [
        (run.start, [row.request for row in run.rows if row.prefill], run.reason)
        for run in lane.record().runs()
        if run.prefill
    ]


def runs(lane: Lane) -> list[Run]:
    return list(lane.record().runs())


@pytest.fixture
def lanes():
    """The helpers above, as one value."""

    class Helpers:
        step = STEP
        workload = staticmethod(workload_of)
        run = staticmethod(run_lane)
        dispatches = staticmethod(dispatches)
        runs = staticmethod(runs)

    return Helpers
