"""What do steps take here? Measures a grid of steps, in turns, and fits the cost model to them.

Also fits from the steps of measured records. One step in five is held out of the fit, and the error told is that
of those. Refuses to know what the prediction is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from lab.engine.cost_model import CostModel, Sizes, sizes_of, terms
from lab.engine.progress import Progress
from lab.engine.rounding import rounded
from lab.engine.step import ONE_STEP, Row, Step
from lab.run.calibration import Calibration
from lab.run.job import REFERENCE_STEPS
from lab.run.provenance import provenance_of
from lab.run.record import RunRecord

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

HELD = ((256, 16), (96, 64), (16, 16))  # slots that hold so many tokens, and how many such slots: room for decodes
ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
PROMPTS = (
    *((length,) for length in (8, 16, 32, 48, 64, 96, 144, 192, 256)),
    *((length,) * count for count, length in ((3, 16), (4, 48), (8, 24), (8, 64))),
    *((20, 44), (16, 30, 50), (17, 25, 39, 60), (60, 20, 50, 30, 40, 25, 45, 35)),
)
JOINED = (  # decoding rows, and the lengths of prompts that join them
    *(
        (rows, (length,))
        for rows, length in ((1, 24), (1, 56), (2, 40), (4, 24), (4, 64), (7, 24), (7, 60), (15, 40))
    ),
    *((rows, lengths) for rows, lengths in ((1, (20, 44)), (4, (40, 25)), (6, (30, 50)), (5, (16, 30, 50)))),
)
UNEQUAL = 5  # contexts of held slots differ by up to one less
ROUNDS = 5
HELD_OUT = 5


class Sample(NamedTuple):
    sizes: Sizes
    seconds: float


class Fit(NamedTuple):
    """`error` is the median of |predicted / measured − 1| over the `held_out` samples that the fit never saw."""

    cost: CostModel
    samples: int
    held_out: int
    error: float


def calibrate(engine: Engine, report: Progress) -> Calibration:
    """Measure and fit, for the model and machine that this engine is."""
    found = fit(measure(engine, report))
    free_bytes = engine.executor.clear()
    reference: list[float] = []
    for done in range(REFERENCE_STEPS):
        report("reference", done, REFERENCE_STEPS)
        reference += engine.executor.reference_steps(1)
    provenance = replace(provenance_of(engine, reference), read_bytes_per_s=engine.read_bandwidth())
    return Calibration(
        cost=found.cost,
        provenance=provenance,
        shape=engine.shape,
        fingerprint=engine.fingerprint,
        folder=str(engine.folder or ""),
        free_bytes=free_bytes,
        flops_per_s=engine.matmul_flops(),
        samples=found.samples,
        held_out=found.held_out,
        error=found.error,
        device_type=engine.executor.device.type,
    )


def measure(engine: Engine, report: Progress) -> list[Sample]:
    """Median seconds of each step of the grid; one round that warms up goes before. Progress is reported before
    every step, whatever it is for: whoever listens may have something more urgent to do."""
    executor = engine.executor
    grid = _Grid(engine.shape.context)
    executor.allocate(grid.slots, grid.longest + 1)
    steps = grid.steps()
    total = len(grid.held) + (ROUNDS + 1) * len(steps)
    for i, row in enumerate(grid.held):
        report("calibrating", i, total)
        executor.run(Step((row,)), ONE_STEP)
    seconds: list[list[float]] = [[] for _ in steps]
    for done in range(ROUNDS + 1):
        for i, step in enumerate(steps):
            report("calibrating", len(grid.held) + done * len(steps) + i, total)
            outcome = executor.run(step, ONE_STEP)
            if done:
                seconds[i].append(outcome.seconds[0])
    return [Sample(sizes_of(step.rows, rounded), median(s)) for step, s in zip(steps, seconds, strict=True)]


def samples_of(record: RunRecord) -> list[Sample]:
    """The warm steps of a measured record."""
    return [
        Sample(sizes_of(run.rows, rounded), seconds)
        for lane in record.lanes
        for run in lane.runs()
        for seconds in run.seconds[:1]
        if not run.cold and seconds > 0
    ]


def fit(samples: Sequence[Sample]) -> Fit:
    """Coefficients with the least squared relative error. ValueError where there are too few samples."""
    if len(samples) < HELD_OUT * 2:
        raise ValueError(f"{len(samples)} measured steps; a cost model needs at least {HELD_OUT * 2}")
    held = samples[HELD_OUT - 1 :: HELD_OUT]
    kept = [s for i, s in enumerate(samples) if i % HELD_OUT != HELD_OUT - 1]
    trial = _solve(kept)
    error = median(abs(trial.seconds(s.sizes) / s.seconds - 1) for s in held)
    return Fit(_solve(samples), len(samples), len(held), error)


def _solve(samples: Iterable[Sample]) -> CostModel:
    rows = np.array([[t / s.seconds for t in terms(s.sizes)] for s in samples])
    scale = np.maximum(rows.max(axis=0), 1e-30)  # terms of very different size, each made about 1
    found, _ = nnls(rows / scale, np.ones(len(rows)))
    return CostModel(tuple(float(c) for c in found / scale))


class _Grid:
    """Steps of many sizes over slots that are filled once, as far as the model's context allows."""

    def __init__(self, context: int) -> None:
        self.held: list[Row] = []
        self._classes: list[list[int]] = []
        for tokens, count in HELD:
            tokens = min(tokens, context - 1)
            slots = list(range(len(self.held), len(self.held) + count))
            self._classes.append(slots)
            # Of unequal lengths, as in a run: then attention is masked, which costs more.
            self.held += [_prompt(slot, max(1, tokens - i % UNEQUAL)) for i, slot in enumerate(slots)]
        self.longest = min(max(length for lengths in PROMPTS for length in lengths), context - 1)
        self._free = len(self.held)
        self.slots = self._free + max(len(lengths) for lengths in PROMPTS)

    def steps(self) -> list[Step]:
        made = [Step(self._decodes(slots[:rows])) for slots in self._classes for rows in ROWS if rows <= len(slots)]
        made += [Step(self._prompts(lengths)) for lengths in PROMPTS]
        made += [
            Step((*self._decodes(self._classes[1][:rows]), *self._prompts(lengths))) for rows, lengths in JOINED
        ]
        return made

    def _decodes(self, slots: Sequence[int]) -> tuple[Row, ...]:
        return tuple(_decode(slot, self.held[slot].padded_to) for slot in slots)

    def _prompts(self, lengths: Sequence[int]) -> tuple[Row, ...]:
        return tuple(_prompt(self._free + i, min(length, self.longest)) for i, length in enumerate(lengths))


def _prompt(slot: int, length: int) -> Row:
    return Row(slot, slot, (0,) * length, 0, True, length)


def _decode(slot: int, past: int) -> Row:
    return Row(slot, slot, (0,), past, True, 1)
