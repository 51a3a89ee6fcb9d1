"""A ladder of lanes: what each gave, and what it added to the one below it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lab.lesson.expression import Taken
from lab.lesson.measures import LANE, see


class Rung(NamedTuple):
    """A lane's name and throughput; `gained` is that throughput ÷ the one below, None at the bottom; `urgent_wait`
    is how long urgent requests waited on average, None where there are none."""

    lane: str
    throughput: float
    gained: float | None
    urgent_wait: float | None


def ladder(lanes: Sequence[str], taken: Taken) -> tuple[Rung, ...]:
    """`lanes` are keys of the scene's, from the bottom up."""
    rungs: list[Rung] = []
    urgent = len({r.priority for r in taken.record.workload.requests}) > 1
    for key in lanes:
        seen = see(taken.record, taken.scene.lane_name(key))
        throughput = LANE["throughput"].of(seen) or 0.0
        below = rungs[-1].throughput if rungs else 0.0
        waited = LANE["queue_urgent"].of(seen) if urgent else None
        rungs.append(Rung(seen.lane.name, throughput, throughput / below if below else None, waited))
    return tuple(rungs)
