"""What does each further row buy? One list of requests at one batch size after the other, all of it measured.

And what is often said of it: near-linear to 16 rows, 20 to 50 % more latency a doubling, flat from 64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from lab.analysis.distribution import Summary
from lab.analysis.metrics import LaneMetrics, lane_metrics
from lab.analysis.utilisation import Peaks, flop_share, step_uses
from lab.engine.progress import Progress
from lab.experiments.turns import in_turns
from lab.run.fit import check_budget
from lab.run.lane import Lane
from lab.run.lanes import RunSpec, build_lanes
from lab.run.race import to_the_end
from lab.run.record import LaneRecord, Provenance, RunRecord
from lab.spec.flops import flops_of
from lab.workload.request import Workload
from lab.workload.scenarios import EQUAL, build

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

REQUESTS, ANSWER = 64, 16  # of the list that is swept where no other is named


class Reading(NamedTuple):
    """One run: its metrics, the operations' share of the peak, the median seconds of a decode step with as many
    rows as most have, and what the device's own counter showed (median; None without one)."""

    metrics: LaneMetrics
    flop_share: float | None
    step_s: float | None
    counter: float | None


Value = Callable[[Reading], float | None]


@dataclass(frozen=True, slots=True)
class Size:
    """One batch size: its readings, or why the memory refused it."""

    batch_size: int
    readings: tuple[Reading, ...] = ()
    refused: str = ""

    def middle(self, of: Value) -> float | None:
        """The median over the repeats; None where any of them has no value."""
        values = [of(reading) for reading in self.readings]
        known = [v for v in values if v is not None]
        return median(known) if known and len(known) == len(values) else None

    def spread(self, of: Value) -> float | None:
        """Largest minus smallest over the median."""
        values = [v for v in map(of, self.readings) if v is not None]
        return (max(values) - min(values)) / median(values) if values and median(values) else None


class Doubling(NamedTuple):
    """From one measured size to one twice as large: factors, and what is said of them."""

    smaller: int
    larger: int
    throughput: float
    tpot: float | None
    said: str


def saturating(requests: int = REQUESTS) -> Workload:
    """Equal requests, all at once: a batch that is full stays full."""
    made = build(EQUAL, requests=requests)
    cut = tuple(replace(r, max_new_tokens=ANSWER, output_tokens=ANSWER) for r in made.requests)
    return replace(made, requests=cut)


class Sweeper:
    """Runs one prepared spec of one policy at any batch size, on one engine, and reads what came of it."""

    def __init__(self, spec: RunSpec, engine: Engine, provenance: Provenance) -> None:
        self._spec, self._engine = spec, engine
        self.peaks = Peaks(engine.read_bandwidth(), engine.matmul_flops())
        self.provenance = replace(provenance, read_bytes_per_s=self.peaks.bytes_per_s)
        self.counter = engine.counter()

    def run(self, batch_size: int) -> Reading:
        """ValueError, with the numbers, where the memory cannot hold it."""
        [policy] = self._spec.policies
        spec = replace(self._spec, policies=(replace(policy, max_batch_size=batch_size),))
        check_budget(spec, spec.workload, self._engine.kv_bytes_per_token)
        lanes = build_lanes(spec, spec.workload, self._engine)
        shown = self._played(lanes)
        lane = lanes[0].record()
        record = RunRecord(self.provenance, spec.workload, (lane,))
        uses = step_uses(lane, self.provenance, flops_of(self._engine.shape), self.peaks)
        return Reading(
            lane_metrics(record, lane), flop_share(uses), step_seconds(lane), median(shown) if shown else None
        )

    def _played(self, lanes: Sequence[Lane]) -> list[float]:
        """Run them to their ends; what the device's counter showed meanwhile."""
        if self.counter is None:
            to_the_end(lanes)
            return []
        with self.counter.reading() as shown:
            to_the_end(lanes)
        return shown


def step_seconds(lane: LaneRecord) -> float | None:
    """The median of the decode steps with the number of rows that most of them have."""
    by_rows: dict[int, list[float]] = {}
    for run in lane.runs():
        if not run.prefill:
            by_rows.setdefault(len(run.rows), []).extend(run.seconds)
    return median(by_rows[max(by_rows, key=lambda rows: len(by_rows[rows]))]) if by_rows else None


def sweep(sweeper: Sweeper, batch_sizes: Sequence[int], repeats: int, report: Progress) -> tuple[Size, ...]:
    """Every size, `repeats` times in alternating order, smallest first at first."""
    if repeats < 1 or not batch_sizes or min(batch_sizes) < 1:
        raise ValueError(f"batch sizes {list(batch_sizes)}, {repeats} repeats; all of them must be at least 1")
    sizes = {size: Size(size) for size in sorted(set(batch_sizes))}
    for size in in_turns(list(sizes), repeats, "sweeping", report):
        sizes[size] = measured(sweeper, sizes[size])
    return tuple(sizes.values())


def measured(sweeper: Sweeper, size: Size) -> Size:
    """The size with one more reading, or with the reason why there is none."""
    if size.refused:
        return size
    try:
        return replace(size, readings=(*size.readings, sweeper.run(size.batch_size)))
    except ValueError as error:  # the memory check's: a size that cannot be run is an answer, too
        return Size(size.batch_size, refused=str(error))


def factors(sizes: Sequence[Size]) -> tuple[Doubling, ...]:
    """Of neighbours of which one is twice the other."""
    found = []
    for a, b in pairwise(sizes):
        before, after = _throughput(a), _throughput(b)
        if b.batch_size == 2 * a.batch_size and before and after:
            slower, slow = a.middle(_tpot), b.middle(_tpot)
            tpot = slow / slower if slower and slow else None
            found.append(Doubling(a.batch_size, b.batch_size, after / before, tpot, said_of(b.batch_size)))
    return tuple(found)


def said_of(larger: int) -> str:
    """The rule of thumb for a doubling to this size."""
    if larger <= 16:
        return "throughput near-linear, latency +20 to +50 %"
    return "latency +20 to +50 %" if larger <= 64 else "throughput flat"


def _throughput(size: Size) -> float | None:
    return size.middle(lambda r: r.metrics.throughput)


def _tpot(reading: Reading) -> float | None:
    summary: Summary = reading.metrics.tpot
    return summary.p50
