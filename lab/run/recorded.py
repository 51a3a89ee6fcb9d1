"""A recorded lane played again: the same rules on the same list, with the seconds that its steps took then.

If the loop decides by its rules and nothing else, every decision comes out as it was. That tests the loop, not a
model of the device. Knows no device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from lab.engine.step import Horizon, Outcome, Step
from lab.run.group import Home
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import LaneRecord, RowFact
from lab.workload.request import Workload


class RecordedExecutor:
    """Answers each step with what was recorded of it. ValueError where another step is asked for."""

    def __init__(self, lane: LaneRecord) -> None:
        self._runs = lane.runs()
        self._answered = 0

    def run(self, step: Step, horizon: Horizon) -> Outcome:
        asked = tuple(RowFact(r.slot, r.request, len(r.ids), r.past, r.padded_to, r.live) for r in step.rows)
        recorded = next(self._runs, None)
        if recorded is None:
            raise ValueError(f"step {self._answered + 1} has rows {asked}; the record has no such step")
        if recorded.rows != asked:
            raise ValueError(f"step {self._answered + 1} has rows {asked}; the record has {recorded.rows}")
        self._answered += 1
        return Outcome(recorded.seconds, recorded.tokens, recorded.cold, recorded.kernel_padding)

    def release(self, slots: Sequence[int]) -> None:
        return


def replay(workload: Workload, lane: LaneRecord, context: int) -> LaneRecord:
    """The lane run again, on a model that attends to `context` tokens. ValueError at the first step that was
    another one; see `departure` for all else."""
    executor = RecordedExecutor(lane)
    again = Lane(
        lane.policy,
        workload,
        executor,
        kv_budget=lane.kv_budget,
        context=context,
        groups=lane.groups,
        scattered=lane.scattered,
        homes=[Home(executor, first_slot) for first_slot in _first_slots(lane)],
        stop_ids=frozenset(lane.stop_ids),
    )
    to_the_end([again])
    return again.record()


def _first_slots(lane: LaneRecord) -> list[int]:
    """Of each group: the lowest slot that it used, for the lowest free one is taken first."""
    used: list[set[int]] = [set() for _ in range(lane.groups)]
    for run in lane.runs():
        used[run.group].update(row.slot for row in run.rows)
    return [min(slots, default=0) for slots in used]


def departure(workload: Workload, lane: LaneRecord, context: int) -> str | None:
    """Where the lane, run again with its recorded step times, decides otherwise: a sentence, or None if nowhere."""
    try:
        again = replay(workload, lane, context)
    except ValueError as error:
        return str(error)
    if again.refused != lane.refused:
        return f"refused are {again.refused}; the record has {lane.refused}"
    for field in fields(lane.columns):
        new, old = getattr(again.columns, field.name), getattr(lane.columns, field.name)
        if new != old:
            first = next((i for i, pair in enumerate(zip(new, old, strict=False)) if pair[0] != pair[1]), None)
            return f"{field.name} departs from the record at entry {first}"
    return None
