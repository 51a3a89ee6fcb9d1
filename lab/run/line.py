"""Runs in line for one device: who is at work, who waits at which place, who ended and may still be read.

Mutable and unlocked: it belongs to a Device, which holds a lock. Knows no engine and no clock; it is told the time.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lab.run.column_log import ColumnLog, Mark, after
from lab.run.expect import seconds_per_work, work_of
from lab.run.job import Progress
from lab.run.lanes import RunSpec
from lab.run.record import Columns, RunRecord
from lab.scheduling.policy import Policy

RUNNING_UNSEEN = 27.0  # seconds; with the time that noticing and stopping take, 30
WAITING_UNSEEN = 120.0  # a browser's background tab asks once a minute
KEPT_RUNS = 48
KEPT_ROWS = 300_000  # of all kept runs together, about 170 bytes each; the latest run is kept whatever it has
KEPT_SECONDS = 3600.0
MOST_WAITING = 64
PRICED_RUNS = 5


class State(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self in (State.FINISHED, State.FAILED, State.CANCELLED)


class Why(StrEnum):
    """Why a run ended before its end."""

    ASKED = "asked"  # its owner cancelled it
    REPLACED = "replaced"  # its owner started another
    UNSEEN = "unseen"  # nobody looked at it any more
    REFUSED = "refused"  # the engine said why it cannot run, or failed
    ENGINE_DIED = "engine_died"  # the engine process ended under it
    NO_ENGINE = "no_engine"  # no model could be loaded


@dataclass(slots=True)
class Job:
    """One run of one owner. `seen`, `started` and `ended` in seconds on the device's clock; `detail` is the
    engine's sentence; `stopping` is why it was asked to stop. `logs` grow until it ends; then `record` has all."""

    id: str
    owner: str
    spec: RunSpec
    seen: float
    state: State = State.WAITING
    stopping: Why | None = None
    why: Why | None = None
    detail: str = ""
    progress: Progress | None = None
    record: RunRecord | None = None
    logs: list[ColumnLog] = field(default_factory=list)
    started: float = 0.0
    ended: float = 0.0

    @property
    def rows(self) -> int:
        """Of an ended run: what it costs to keep."""
        return 0 if self.record is None else sum(len(lane.columns.slot) for lane in self.record.lanes)

    def since(self, marks: Sequence[Mark]) -> tuple[Columns, ...]:
        lanes = () if self.record is None else self.record.lanes
        known = [*marks, *[Mark()] * len(lanes)]
        if self.state.over:
            return tuple(after(lane.columns, mark) for lane, mark in zip(lanes, known, strict=False))
        return tuple(log.since(mark) for log, mark in zip(self.logs, known, strict=False))

    def end(self, state: State, now: float, why: Why | None, detail: str) -> None:
        """The logs become the record's columns: to keep both would take twice the memory."""
        self.state, self.why, self.detail, self.ended = state, why, detail, now
        if self.record is not None:
            lanes = zip(self.record.lanes, self.logs, strict=True)
            whole = tuple(replace(lane, columns=log.since()) for lane, log in lanes)
            self.record, self.logs = replace(self.record, lanes=whole), []


class Line:
    """First come, first served; what has ended is kept for a while, by count, size and age."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()  # ended ones in the order of their ends
        self._line: list[Job] = []

    def join(self, spec: RunSpec, owner: str, now: float) -> Job:
        """Raises ValueError where the line is too long."""
        if len(self._line) >= MOST_WAITING:
            raise ValueError(f"{len(self._line)} runs are in line already; please try again later")
        job = Job(uuid.uuid4().hex, owner, spec, now)
        self._jobs[job.id] = job
        self._line.append(job)
        return job

    def find(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def measured(self, spec: RunSpec) -> dict[str, Job]:
        """By the name of a policy: the latest finished job that measured it on this work, under these settings."""
        found: dict[str, Job] = {}
        for job in self._jobs.values():
            if job.state is State.FINISHED:
                found.update({p.name: job for p in spec.policies if _measured(job.spec, spec, p)})
        return found

    def __iter__(self) -> Iterator[Job]:
        """All that have not ended, first in line first; the line may be changed meanwhile."""
        return iter(list(self._line))

    @property
    def at_work(self) -> Job | None:
        return self._line[0] if self._line and self._line[0].state is State.RUNNING else None

    @property
    def next_up(self) -> Job | None:
        """The one to start next; None where one is at work or nobody waits."""
        return self._line[0] if self._line and self.at_work is None else None

    def start(self, job: Job, now: float) -> None:
        job.state, job.started = State.RUNNING, now

    def price(self, model: str) -> float | None:
        """Seconds per work (see lab.run.expect) of this model's latest finished runs; None before the first."""
        done = [job for job in self._jobs.values() if job.state is State.FINISHED and job.spec.model == model]
        return seconds_per_work([(job.spec, job.ended - job.started) for job in done[-PRICED_RUNS:]])

    def seconds_ahead(self, now: float, price: float) -> float:
        """Until the line is empty, without the loading of models; a run at work has as much less to go as it has
        run, and one on a model that nothing is known of costs `price` per work."""
        left = [
            work_of(job.spec) * (self.price(job.spec.model) or price)
            - (now - job.started if job is self.at_work else 0.0)
            for job in self._line
        ]
        return sum(max(0.0, seconds) for seconds in left)

    def place(self, job: Job) -> int:
        """0 at work or over, 1 next in line, …"""
        if job.state is not State.WAITING:
            return 0
        return self._line.index(job) + (0 if self.at_work else 1)

    def end(self, job: Job, state: State, now: float, why: Why | None = None, detail: str = "") -> None:
        self._line.remove(job)
        job.end(state, now, why, detail)
        self._jobs.move_to_end(job.id)
        self.forget(now)

    def forget(self, now: float) -> None:
        latest_first = [job for job in reversed(self._jobs.values()) if job.state.over]
        rows = 0
        for i, job in enumerate(latest_first):
            rows += job.rows
            if i >= KEPT_RUNS or (i > 0 and rows > KEPT_ROWS) or now - job.ended > KEPT_SECONDS:
                del self._jobs[job.id]

    def seen_later(self, seconds: float) -> None:
        """For so long nobody could look at any run."""
        for job in self._line:
            job.seen += seconds

    def unseen(self, now: float) -> list[Job]:
        """Those that nobody has looked at for too long."""
        return [
            job
            for job in self._line
            if now - job.seen > (RUNNING_UNSEEN if job.state is State.RUNNING else WAITING_UNSEEN)
        ]


def _measured(done: RunSpec, asked: RunSpec, policy: Policy) -> bool:
    """Is this lane of what is asked a lane of what was done? All else that is asked must be equal."""
    return policy in done.policies and replace(done, policies=(policy,)) == replace(asked, policies=(policy,))
