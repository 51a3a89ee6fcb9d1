"""What is on the stage: for each mode, the run in which its lane is or was measured. No streamlit.

A setting that has been measured already, by whomever, is not measured again; what is missing runs as one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Protocol

from lab.run.lanes import RunSpec
from lab.run.look import Look
from lab.run.record import RunRecord
from lab.scheduling.hybrid import base_of

MOST_JOBS = 8
MOST_DRIFT = 0.05  # between reference steps of runs on one board


class Runs(Protocol):
    """What a board asks of lab.run.visitors.Device."""

    def look(self, job_id: str) -> Look | None: ...

    def measured(self, spec: RunSpec) -> dict[str, str]: ...

    def submit(self, spec: RunSpec, owner: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Board:
    """(run id, mode) of each lane, top to bottom; `pending` is the run that this board started, "" if none."""

    lanes: tuple[tuple[str, str], ...] = ()
    pending: str = ""

    @property
    def jobs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(job for job, _ in self.lanes))

    def without(self, job: str) -> Board:
        """The lanes that other runs brought."""
        return Board(tuple(lane for lane in self.lanes if lane[0] != job))

    @property
    def address(self) -> str:
        return ".".join(self.jobs)


def fill(runs: Runs, spec: RunSpec, owner: str, shown: Board) -> Board:
    """The board of this spec. Lanes known already come at once; if the board shows them all, all run anew.

    Raises ValueError where a run cannot join the line.
    """
    known = runs.measured(spec)
    whole = Board(tuple((known.get(p.name, ""), p.name) for p in spec.policies))
    if whole.lanes == shown.lanes:
        known = {}
    missing = tuple(p for p in spec.policies if p.name not in known)
    if not missing:
        return whole
    job = runs.submit(replace(spec, policies=missing), owner)
    return Board(tuple((known.get(p.name, job), p.name) for p in spec.policies), job)


def afresh(runs: Runs, spec: RunSpec, owner: str) -> Board:
    """The board of this spec with every lane measured now, for this owner, whatever is known already.

    Raises ValueError where the run cannot join the line.
    """
    job = runs.submit(spec, owner)
    return Board(tuple((job, p.name) for p in spec.policies), job)


def from_address(runs: Runs, text: str) -> Board:
    """The lanes of the runs that an address names and that are still kept; of a mode (or its hybrids) that was
    measured twice, the later."""
    lanes: dict[str, tuple[str, str]] = {}
    for job in text.split(".")[:MOST_JOBS]:
        look = runs.look(job)
        lanes.update({} if look is None else {base_of(name): (job, name) for name in look.modes})
    return Board(tuple(lanes.values()))


def merged(records: Mapping[str, RunRecord], board: Board) -> RunRecord | None:
    """The board's finished lanes as one record, for tables and charts: provenance of the latest run, and only
    lanes that answered that run's requests. None where nothing has finished."""
    if not records:
        return None
    latest = max(records.values(), key=lambda r: r.provenance.created)
    lanes = tuple(
        records[job].lane(name)
        for job, name in board.lanes
        if job in records and records[job].workload == latest.workload
    )
    tokens = {token: text for record in records.values() for token, text in record.token_bytes}
    return replace(
        latest,
        lanes=lanes,
        logit_gaps=tuple({g for record in records.values() for g in record.logit_gaps}),
        token_bytes=tuple(sorted(tokens.items())),
    )


def drift(records: Sequence[RunRecord]) -> float:
    """How far the reference steps of these runs lie apart: slowest ÷ fastest median - 1."""
    medians = [median(r.provenance.reference_step_s) for r in records if r.provenance.reference_step_s]
    return max(medians) / min(medians) - 1 if medians else 0.0
