"""How fast is the loop where steps cost nothing to run? What a preview and a what-if of many requests wait for."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from lab.analysis.distribution import percentile
from lab.engine.cost_model import KNOTS, CostModel, PredictedExecutor
from lab.engine.rounding import rounded
from lab.run.lane import Lane
from lab.run.race import race
from lab.scheduling.policy import MODES, mode
from lab.workload import arrivals
from lab.workload.request import Request, Workload

PREVIEW, PREVIEWS = 200, 40  # requests of a preview, and how many are timed
COST = CostModel((0.011, 0.0004, 0.0, 3e-6, 0.0, *[4e-4] * len(KNOTS)))  # about the default model's on two cores


class LoopTime(NamedTuple):
    """One lane of `requests`: seconds on the wall clock and of this process, and the steps that it ran."""

    requests: int
    wall_s: float
    cpu_s: float
    steps: int


class PreviewTime(NamedTuple):
    """Of PREVIEWS previews, each 200 requests in four modes: seconds on the wall clock and of this process,
    nearest rank. While others keep the machine busy, the latter tell what an idle one would take."""

    p50_wall_s: float
    p95_wall_s: float
    p50_cpu_s: float
    p95_cpu_s: float


def time_lane(requests: int, seats: int = 64) -> LoopTime:
    """One continuous lane at about three quarters of its capacity."""
    workload = _workload(requests, rate=12.0, seed=0)
    wall, cpu = time.perf_counter(), time.process_time()
    lane = _lane("continuous", seats, workload)
    list(race([lane]))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return LoopTime(requests, wall, cpu, len(lane.record().columns.seconds))


def time_previews(seats: int = 8) -> PreviewTime:
    walls, cpus = [], []
    for seed in range(PREVIEWS):
        workload = _workload(PREVIEW, rate=8.0, seed=seed)
        wall, cpu = time.perf_counter(), time.process_time()
        lanes = [_lane(name, seats, workload) for name in MODES]
        list(race(lanes))
        for lane in lanes:
            lane.record()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    walls, cpus = sorted(walls), sorted(cpus)
    return PreviewTime(percentile(walls, 50), percentile(walls, 95), percentile(cpus, 50), percentile(cpus, 95))


def _lane(name: str, seats: int, workload: Workload) -> Lane:
    executor = PredictedExecutor(COST, 10**12, rounded)
    return Lane(mode(name, seats), workload, executor, kv_budget=10**6, context=10**6)


def _workload(requests: int, rate: float, seed: int) -> Workload:
    """Prompts of 30 to 80 tokens, answers of 1 to 64, Poisson arrivals."""
    rng = np.random.default_rng(seed)
    times = arrivals.poisson(requests, rate, rng)
    prompts, answers = rng.integers(30, 81, requests), rng.integers(1, 65, requests)
    made = (
        Request(i, float(times[i]), 64, prompt_ids=(0,) * int(prompts[i]), output_tokens=int(answers[i]))
        for i in range(requests)
    )
    return Workload("loop", tuple(made), seed)
