"""Who was passed over for too long: the starved, by name. Pure functions of a lane's record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from lab.analysis.timeline import RequestTimes
from lab.run.record import LaneRecord
from lab.scheduling.order import FIRST_COME

_ROUNDING = 1e-9  # seconds: a wait that was compared as a sum of floats


def passed_over(lane: LaneRecord, times: Sequence[RequestTimes], limit: float) -> tuple[int, ...]:
    """Requests that, after more than `limit` seconds of waiting, saw others leave who had all come later."""
    found: set[int] = set()
    prompts = (run for run in lane.runs() if run.prefill)
    for start, together in groupby(prompts, key=lambda run: run.start):  # parts of a scattered batch leave as one
        first = min(_came(times[row.request]) for run in together for row in run.rows if row.prefill)
        found.update(r.id for r in times if _waits(r, start, limit) and _came(r) < first)
    return tuple(sorted(found))


def starved(lane: LaneRecord, times: Sequence[RequestTimes]) -> tuple[int, ...]:
    """Requests passed over past the limit that the lane's knobs promise; where ageing is off they promise none, and
    the limit is that of the default ageing."""
    limit = lane.policy.passing_limit
    return passed_over(lane, times, _usual() if math.isinf(limit) else limit)


def _usual() -> float:
    assert FIRST_COME.ageing is not None
    return FIRST_COME.ageing


def _came(r: RequestTimes) -> tuple[float, int]:
    """The order of the queue where first come is first served."""
    return (math.inf if r.arrival is None else r.arrival, r.id)


def _waits(r: RequestTimes, now: float, limit: float) -> bool:
    """It waits at `now`, and has waited longer than `limit`."""
    if r.status == "refused" or r.arrival is None or r.arrival + limit + _ROUNDING >= now:
        return False
    return r.first_scheduled is None or r.first_scheduled > now
