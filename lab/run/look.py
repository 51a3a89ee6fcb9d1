"""What a visitor may know of runs: how one stands, and what one would take. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from lab.run.job import Progress
from lab.run.lanes import RunSpec
from lab.run.line import Job, State, Why
from lab.run.record import RunRecord


@dataclass(frozen=True, slots=True)
class Expectation:
    """Seconds in line and at work that a run may expect if it is submitted now; a guess, see lab.run.expect."""

    wait: float
    run: float


@dataclass(frozen=True, slots=True)
class Look:
    """What a visitor sees of a run at one moment.

    spec      what was asked for
    place     0 at work or over, 1 next in line, …
    stopping  it was asked to stop and has not stopped yet
    why       why it ended early; `detail` is the engine's sentence where it has one
    record    with empty columns from its start on, with all that was measured once it has ended
    """

    job: str
    owner: str
    spec: RunSpec
    state: State
    place: int
    stopping: bool
    progress: Progress | None
    why: Why | None
    detail: str
    record: RunRecord | None

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(policy.name for policy in self.spec.policies)


def look_at(job: Job, place: int) -> Look:
    stopping = job.stopping is not None and not job.state.over
    return Look(
        job.id, job.owner, job.spec, job.state, place, stopping, job.progress, job.why, job.detail, job.record
    )
