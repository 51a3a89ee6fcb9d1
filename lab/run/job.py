"""One run from request list to record: prepare, warm up, race, compare. The same on the command line and in
the engine's process; whoever listens gets events as they happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from lab.run.column_log import Mark
from lab.run.lane import Lane, seats_needed
from lab.run.prepare import prepare
from lab.run.provenance import provenance_of
from lab.run.race import race
from lab.run.record import Columns, RunRecord
from lab.run.ties import logit_gaps
from lab.scheduling.policy import Policy
from lab.workload.request import Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

REFERENCE_STEPS = 20


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What to run.

    policies      one lane each; their names must differ
    kv_budget_mb  KV cache that each group of each lane may reserve, in MB (10^6 bytes);
                  None = an equal share of 0.9 × the memory that is free
    groups        replicas of the model per lane
    free_eos      answers end by themselves, not at a length found before and forced in every lane
    """

    workload: Workload
    policies: tuple[Policy, ...]
    kv_budget_mb: float | None = None
    groups: int = 1
    free_eos: bool = False

    def __post_init__(self) -> None:
        names = [p.name for p in self.policies]
        if not names:
            raise ValueError("no modes given; a run needs at least one")
        if len(set(names)) < len(names):
            raise ValueError(f"modes are {', '.join(names)}; each may be given once")
        if self.kv_budget_mb is not None and not 0 < self.kv_budget_mb < float("inf"):
            raise ValueError(f"the KV budget is {self.kv_budget_mb} MB; it must be more than 0")
        if self.groups < 1:
            raise ValueError(f"groups is {self.groups}; it must be at least 1")


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
    workload = prepare(spec.workload, engine, spec.free_eos, _phases(listen, stopped))
    lanes = _lanes(spec, workload, engine)
    listen(Progress("warming_up", 0, 1))
    engine.executor.warm_up(
        batch_sizes=range(1, max(seats_needed(p, workload) for p in spec.policies) + 1),
        prompt_lengths=[r.prompt_tokens for r in workload.requests],
    )
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
        logit_gaps=logit_gaps(record, engine),
        token_bytes=_token_bytes(record, engine),
    )
    listen(Finished(record))
    return record


def _phases(listen: Callable[[Event], None], stopped: Callable[[], bool]) -> Callable[[str, int, int], None]:
    def report(phase: str, done: int, total: int) -> None:
        if stopped():
            raise Cancelled("the run was cancelled")
        listen(Progress(phase, done, total))

    return report


def _lanes(spec: RunSpec, workload: Workload, engine: Engine) -> list[Lane]:
    """The lanes, each with its own slots of the one pool."""
    slot_tokens = max(r.prompt_tokens for r in workload.requests) + max(r.max_new_tokens for r in workload.requests)
    counts = [spec.groups * seats_needed(p, workload) for p in spec.policies]
    engine.executor.allocate(sum(counts), slot_tokens)
    kv_budget = _kv_budget_tokens(spec, engine)
    return [
        Lane(
            policy,
            workload,
            engine.executor,
            kv_budget=kv_budget,
            context=engine.shape.context,
            groups=spec.groups,
            first_slot=sum(counts[:i]),
            stop_ids=engine.stop_ids,
        )
        for i, policy in enumerate(spec.policies)
    ]


def _kv_budget_tokens(spec: RunSpec, engine: Engine) -> int:
    shares = len(spec.policies) * spec.groups
    share = 0.9 * engine.free_memory() / shares
    budget = share if spec.kv_budget_mb is None else spec.kv_budget_mb * 1e6
    tokens = int(budget // engine.kv_bytes_per_token)
    if tokens < 1:
        raise ValueError(
            f"a KV budget of {budget / 1e6:g} MB holds no token; one takes {engine.kv_bytes_per_token:,} bytes"
        )
    return tokens


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
