"""One run from request list to record: prepare, warm up, race, compare. The same on the command line and in
the engine's process; whoever listens gets events as they happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lab.engine import progress
from lab.run.column_log import Mark
from lab.run.fit import check_budget
from lab.run.lane import Lane
from lab.run.lanes import RunSpec, build_lanes
from lab.run.prepare import prepare, tokenize
from lab.run.provenance import provenance_of
from lab.run.race import race, to_the_end
from lab.run.record import Columns, RunRecord
from lab.run.ties import logit_gaps
from lab.workload.request import Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

REFERENCE_STEPS = 20


class Progress(NamedTuple):
    """`done` of `total` parts of a phase: loading, tokenizing, lengths, warming_up, reference, running."""

    phase: str
    done: int
    total: int


class Started(NamedTuple):
    """The lanes are about to run: the record as it will be, with empty columns."""

    record: RunRecord


class Grown(NamedTuple):
    """Lane `lane` (an index) has these further columns."""

    lane: int
    columns: Columns


class Finished(NamedTuple):
    record: RunRecord


Event = Progress | Started | Grown | Finished


class Cancelled(Exception):
    """The run was stopped before its end."""


def run_job(
    spec: RunSpec,
    engine: Engine,
    listen: Callable[[Event], None] = lambda event: None,
    stopped: Callable[[], bool] = lambda: False,
) -> RunRecord:
    """Run it. `listen` is called between steps and untimed; `stopped` is asked once a step.

    Raises ValueError for a spec that cannot run here, Cancelled when `stopped` said so.
    """
    report = _phases(listen, stopped)
    workload = tokenize(spec.workload, engine.coder, report)
    check_budget(spec, workload, engine.kv_bytes_per_token)
    workload = prepare(workload, engine, spec.free_eos, report)
    listen(Progress("warming_up", 0, 1))
    lanes = build_lanes(spec, workload, engine)
    listen(Progress("reference", 0, 1))
    reference = engine.executor.reference_steps(REFERENCE_STEPS)
    provenance = provenance_of(engine, reference, spec.free_eos)
    record = RunRecord(provenance, workload, tuple(lane.record() for lane in lanes))
    listen(Started(record))
    for event in _race(lanes, workload):
        if stopped():
            raise Cancelled("the run was cancelled")
        listen(event)
    record = replace(record, lanes=tuple(lane.record() for lane in lanes))
    record = replace(
        record,
        provenance=replace(provenance, read_bytes_per_s=engine.read_bandwidth()),
        logit_gaps=logit_gaps(record, engine),
        token_bytes=_token_bytes(record, engine),
    )
    listen(Finished(record))
    return record


def run_bare(spec: RunSpec, engine: Engine) -> RunRecord:
    """The lanes' record and no more: without reference steps, bandwidth, ties and text, which take seconds.

    For whoever runs very many. Raises ValueError for a spec that cannot run here.
    """
    workload = tokenize(spec.workload, engine.coder, progress.silent)
    check_budget(spec, workload, engine.kv_bytes_per_token)
    workload = prepare(workload, engine, spec.free_eos, progress.silent)
    lanes = build_lanes(spec, workload, engine)
    to_the_end(lanes)
    return RunRecord(provenance_of(engine, ()), workload, tuple(lane.record() for lane in lanes))


def _phases(listen: Callable[[Event], None], stopped: Callable[[], bool]) -> progress.Progress:
    def report(phase: str, done: int, total: int) -> None:
        if stopped():
            raise Cancelled("the run was cancelled")
        listen(Progress(phase, done, total))

    return report


def _race(lanes: list[Lane], workload: Workload) -> Iterator[Event]:
    """Columns after every step; progress counts answers that are finished, over all lanes."""
    marks = [Mark() for _ in lanes]
    total = len(lanes) * len(workload.requests)
    for lane in race(lanes):
        i = lanes.index(lane)
        if lane.mark != marks[i]:
            yield Grown(i, lane.columns_since(marks[i]))
            marks[i] = lane.mark
            yield Progress("running", sum(x.ended for x in lanes), total)


def _token_bytes(record: RunRecord, engine: Engine) -> tuple[tuple[int, str], ...]:
    text = engine.text
    if text is None:
        return ()
    used = {i for r in record.workload.requests for i in r.prompt_ids}
    used.update(i for lane in record.lanes for i in lane.columns.token)
    return tuple((i, text.token_bytes(i).hex()) for i in sorted(used))
