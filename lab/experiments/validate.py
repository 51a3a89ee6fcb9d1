"""Does the loop predict? First with the step times that were measured, which must give the same decisions, all of
them; then with fitted ones, at several loads, beside runs measured on the same list.

Loads are shares of a mode's capacity: the requests per second that it is predicted to serve when all of them are
there at once. Nothing is claimed above 0.85: near saturation small errors of a step become large ones of a queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lab.analysis.acceptance import FEWEST_REPEATS
from lab.analysis.accuracy import Cell, cells, readings
from lab.engine.progress import Progress
from lab.experiments.turns import orders
from lab.run.calibration import Calibration
from lab.run.job import REFERENCE_STEPS
from lab.run.lanes import RunSpec, build_lanes
from lab.run.predict import predict
from lab.run.race import to_the_end
from lab.run.record import LaneRecord
from lab.run.recorded import departure
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload import arrivals
from lab.workload.request import Request, Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

LOADS = (0.5, 0.75, 0.85)
REQUESTS = 24
BURST = 256  # requests of the list that a capacity is predicted from
PROMPTS, ANSWERS = (16, 64), (4, 28)  # tokens, from and to


class Case(NamedTuple):
    """One mode at one load: `rate` requests per second of `workload`, which is prepared."""

    policy: Policy
    load: float
    rate: float
    workload: Workload


@dataclass(frozen=True, slots=True)
class Validation:
    """
    capacity         requests per second, by mode
    cells            every metric of every case
    lanes, steps     measured and run again with their own step times
    departures       sentences, one for each of these lanes that decided otherwise
    drift            reference step while measuring ÷ while calibrating (medians): 1 = the machine was as fast
    """

    calibration: Calibration
    batch_size: int
    requests: int
    repeats: int
    loads: tuple[float, ...]
    seed: int
    capacity: Mapping[str, float]
    cells: tuple[Cell, ...]
    lanes: int
    steps: int
    departures: tuple[str, ...]
    drift: float


def validate(
    engine: Engine,
    calibration: Calibration,
    report: Progress,
    *,
    batch_size: int = 8,
    requests: int = REQUESTS,
    repeats: int = FEWEST_REPEATS,
    loads: Sequence[float] = LOADS,
    seed: int = 0,
) -> Validation:
    """Every case `repeats` times (at least 5), in alternating order. The calibration is this engine's."""
    capacity = {name: _capacity(mode(name, batch_size), calibration, seed) for name in MODES}
    cases = [
        Case(mode(name, batch_size), load, load * capacity[name], _list(requests, load * capacity[name], seed))
        for name in MODES
        for load in loads
    ]
    measured: dict[int, list[LaneRecord]] = {i: [] for i in range(len(cases))}
    reference: list[float] = []
    for repeat, order in enumerate(orders(list(measured), repeats)):
        reference += engine.executor.reference_steps(REFERENCE_STEPS)
        for done, i in enumerate(order):
            report("validating", repeat * len(cases) + done, repeats * len(cases))
            measured[i].append(_measure(cases[i], engine))
    played = [(cases[i].workload, lane) for i, lanes in measured.items() for lane in lanes]
    told = [departure(workload, lane, engine.shape.context) for workload, lane in played]
    return Validation(
        calibration=calibration,
        batch_size=batch_size,
        requests=requests,
        repeats=repeats,
        loads=tuple(loads),
        seed=seed,
        capacity=capacity,
        cells=tuple(c for i, case in enumerate(cases) for c in _compared(case, calibration, measured[i])),
        lanes=len(played),
        steps=sum(len(lane.columns.seconds) for _, lane in played),
        departures=tuple(sentence for sentence in told if sentence is not None),
        drift=median(reference) / calibration.reference_step_s,
    )


def _list(requests: int, rate: float | None, seed: int) -> Workload:
    """The same prompts and answers at every rate, and the same arrivals but for their pace; None: all at once."""
    rng = np.random.default_rng(seed)
    times = arrivals.poisson(requests, 1.0, rng)
    prompts = rng.integers(PROMPTS[0], PROMPTS[1] + 1, requests)
    answers = rng.integers(ANSWERS[0], ANSWERS[1] + 1, requests)
    made = tuple(
        Request(
            id=i,
            arrival=0.0 if rate is None else float(times[i]) / rate,
            max_new_tokens=ANSWERS[1],
            prompt_ids=tuple(int(token) for token in rng.integers(10, 1000, int(prompts[i]))),
            output_tokens=int(answers[i]),
        )
        for i in range(requests)
    )
    return Workload("validation", made, seed)


def _capacity(policy: Policy, calibration: Calibration, seed: int) -> float:
    burst = _list(BURST, None, seed)
    [lane] = predict(RunSpec(burst, (policy,)), calibration).lanes
    tokens = sum(r.output_tokens or 0 for r in burst.requests)
    return readings(burst, lane)["throughput"] / (tokens / BURST)


def _measure(case: Case, engine: Engine) -> LaneRecord:
    [lane] = build_lanes(RunSpec(case.workload, (case.policy,)), case.workload, engine)
    to_the_end([lane])
    return lane.record()


def _compared(case: Case, calibration: Calibration, measured: list[LaneRecord]) -> list[Cell]:
    [guess] = predict(RunSpec(case.workload, (case.policy,)), calibration).lanes
    predicted = readings(case.workload, guess)
    repeats = [readings(case.workload, lane) for lane in measured]
    return cells(case.policy.name, case.load, predicted, repeats)
