"""How much of a device a step uses: its bytes against what memory reads, its operations against what it multiplies.

What monitors call utilisation is the share of time in which some kernel ran. That is near 100 % whenever anything
runs at all, also for one row at a time, and says nothing of how much more would fit; these two shares do.
Pure functions of a lane; the peaks are measured (lab.run.calibration) or stated (lab.spec.devices).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lab.run.record import LaneRecord, Provenance, RowFact
from lab.spec.flops import Flops


class Peaks(NamedTuple):
    """What the device can do in a second at best: bytes read from memory, operations in large products."""

    bytes_per_s: float
    flops_per_s: float


class StepUse(NamedTuple):
    """One step. Seconds; rows of unfinished requests; whether a prompt was among them; the bytes it had to read
    (MBU) and the operations it had to do (FLOP share) as shares of what the device could have in that time."""

    start: float
    seconds: float
    live: int
    prefill: bool
    mbu: float
    flop_share: float


class RowsUse(NamedTuple):
    """All decode steps of so many live rows together: the panel that utilisation does not show.

    kernel_ran   share of these steps' time in which something ran on the device: all of it, by what a step is
                 (over a whole run it is LaneMetrics.busy_fraction)
    tokens_per_s useful ones, while such steps run
    """

    live: int
    steps: int
    seconds: float
    kernel_ran: float
    mbu: float
    flop_share: float
    tokens_per_s: float


def bytes_needed(rows: Iterable[RowFact], source: Provenance) -> int:
    """Weights once, and the cached tokens of unfinished decoding rows, their own newest included."""
    keys = sum(row.past + 1 for row in rows if row.live and row.past)
    return source.weight_bytes + keys * source.kv_bytes_per_token


def flops_needed(rows: Iterable[RowFact], flops: Flops) -> int:
    """For the tokens of unfinished requests; padding and dead rows need none."""
    needed = 0
    for row in rows:
        if row.live:
            attention = flops.key * (row.past + 1) if row.past else flops.square * row.fed**2
            needed += flops.position * row.fed + attention
    return needed


def step_uses(lane: LaneRecord, source: Provenance, flops: Flops, peaks: Peaks) -> Iterator[StepUse]:
    """Every step of the lane, a run of several taken apart; steps of no duration are left out."""
    for run in lane.runs():
        live = sum(row.live for row in run.rows)
        for k, (end, seconds) in enumerate(zip(run.ends, run.seconds, strict=True)):
            rows = [row._replace(past=row.past + k) for row in run.rows] if k else run.rows
            if seconds > 0:
                mbu = bytes_needed(rows, source) / seconds / peaks.bytes_per_s
                share = flops_needed(rows, flops) / seconds / peaks.flops_per_s
                yield StepUse(end - seconds, seconds, live, run.prefill, mbu, share)


def by_live_rows(uses: Iterable[StepUse]) -> tuple[RowsUse, ...]:
    """Decode steps gathered by their number of live rows, fewest first; shares weighted by time."""
    gathered: dict[int, list[StepUse]] = {}
    for use in uses:
        if not use.prefill and use.live:
            gathered.setdefault(use.live, []).append(use)
    return tuple(_together(live, gathered[live]) for live in sorted(gathered))


def _together(live: int, steps: Sequence[StepUse]) -> RowsUse:
    seconds = sum(s.seconds for s in steps)
    return RowsUse(
        live=live,
        steps=len(steps),
        seconds=seconds,
        kernel_ran=1.0,
        mbu=sum(s.mbu * s.seconds for s in steps) / seconds,
        flop_share=sum(s.flop_share * s.seconds for s in steps) / seconds,
        tokens_per_s=live * len(steps) / seconds,
    )


def flop_share(uses: Iterable[StepUse]) -> float | None:
    """Of all steps together, weighted by time; None where there are none."""
    done = busy = 0.0
    for use in uses:
        done += use.flop_share * use.seconds
        busy += use.seconds
    return done / busy if busy else None
