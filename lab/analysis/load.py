"""Modes under load: what a lane gave at one load, Little's law on it, and where a mode's curve has its knee.

Pure functions of records. Refuses to know how the runs came about (lab.experiments.load) and how they are drawn.
Units: seconds; requests and useful tokens per second. A load is a rate (open loop) or a number of users (closed).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Literal, NamedTuple

from lab.analysis.distribution import Summary, summarise
from lab.analysis.metrics import token_rate
from lab.analysis.series import end_of, live_rows, queue_depth
from lab.analysis.timeline import RequestTimes, request_times
from lab.analysis.work import work_done
from lab.run.record import LaneRecord, RunRecord
from lab.scheduling.policy import Policy
from lab.workload.request import Workload

Loop = Literal["open", "closed"]


class Little(NamedTuple):
    """Little's law on a whole run, from the first arrival to the last token: L = λ W holds exactly on every path
    that begins and ends empty. Its two sides are counted from different facts.

    present  L: requests in the house on average: the area under those waiting and under the rows computed for them
    rate     λ: requests / the run's seconds
    wait     W: mean of last token − arrival
    """

    present: float
    rate: float
    wait: float

    @property
    def error(self) -> float:
        """|L − λ W| / L: rounding, and nothing else."""
        return abs(self.present - self.rate * self.wait) / self.present


@dataclass(frozen=True, slots=True)
class Point:
    """One run at one load.

    throughput               useful tokens per second while neither filling nor draining (see `point`)
    e2e, ttft, queue_delay   of the requests between the cuts, by their arrival
    batch                    requests that left together, on average over all dispatches
    busy_s                   seconds that the device computed
    """

    throughput: float
    e2e: Summary
    ttft: Summary
    queue_delay: Summary
    little: Little
    batch: float
    busy_s: float


def point(workload: Workload, lane: LaneRecord, cut: int) -> Point:
    """`cut` requests at either end are left out: the first find the house empty, the last leave it emptying.

    Latencies are of the requests between by arrival; throughput is of the time between the `cut`-th end of an
    answer and the one with `cut` ends after it. Raises ValueError where a request was not finished, the lane
    scattered its batches (rows then do not add up to requests), or `cut` leaves nothing.
    """
    times = request_times(workload, lane)
    count = len(times)
    if not 1 <= cut < count / 2:
        raise ValueError(f"{cut} requests cut at either end of {count}; cut at least 1, and leave some between")
    if lane.scattered:
        raise ValueError("the batches were scattered over groups; a load is measured with whole batches")
    if any(r.status != "finished" for r in times):
        failed = sum(r.status != "finished" for r in times)
        raise ValueError(f"{failed} of {count} requests were not finished; what others took says nothing then")
    ends = sorted(_known(times, lambda r: r.last_token))
    kept, work = times[cut : count - cut], work_done(lane)
    return Point(
        throughput=token_rate(times, ends[cut - 1], ends[count - cut - 1]),
        e2e=summarise(_known(kept, lambda r: r.e2e)),
        ttft=summarise(_known(kept, lambda r: r.ttft)),
        queue_delay=summarise(_known(kept, lambda r: r.queue_delay)),
        little=_little(lane, times),
        batch=count / work.admitting_steps,
        busy_s=work.busy_s,
    )


def _little(lane: LaneRecord, times: Sequence[RequestTimes]) -> Little:
    end = end_of(lane)
    span = end - min(_known(times, lambda r: r.arrival))
    stays = _known(times, lambda r: r.e2e)
    area = queue_depth(lane, times).area(end) + live_rows(lane).area(end)
    return Little(area / span, len(times) / span, sum(stays) / len(stays))


def _known(times: Sequence[RequestTimes], value: Callable[[RequestTimes], float | None]) -> list[float]:
    return [v for r in times if (v := value(r)) is not None]


@dataclass(frozen=True)
class Cell:
    """A mode at one load; `points` are its repeats, each with its own random numbers. `load` is None where all
    requests are there at once."""

    load: float | None
    points: tuple[Point, ...]

    def middle(self, value: Callable[[Point], float]) -> float:
        """The median of the repeats."""
        return median(map(value, self.points))

    @cached_property
    def throughput(self) -> float:
        return self.middle(lambda p: p.throughput)

    @cached_property
    def mean_e2e(self) -> float:
        return self.middle(lambda p: p.e2e.mean or 0.0)


@dataclass(frozen=True, slots=True)
class Curve:
    """One mode over its loads, in rising order; `at_once` is its saturation, measured in an open loop only."""

    policy: Policy
    cells: tuple[Cell, ...]
    at_once: Cell | None = None

    @property
    def capacity(self) -> float:
        """Useful tokens per second: with all requests there at once, else the most it gave at any load."""
        return self.at_once.throughput if self.at_once else max(cell.throughput for cell in self.cells)

    @property
    def knee(self) -> int:
        return knee([(cell.throughput, cell.mean_e2e) for cell in self.cells])

    @property
    def knee_is_inside(self) -> bool:
        """Some lighter and some heavier load was measured."""
        return 0 < self.knee < len(self.cells) - 1


@dataclass(frozen=True, slots=True)
class Sweep:
    """All modes over their loads.

    setting   where the numbers come from: provenance, requests, policies; its lanes have no steps
    seeds     one a repeat
    cut       requests left out at either end of a run (see `point`); with more users than that, as many as users
    left_out  loads of each mode that were not measured, for lack of time
    think_s   closed loop: from an answer to the user's next question
    """

    loop: Loop
    setting: RunRecord
    seeds: tuple[int, ...]
    cut: int
    curves: tuple[Curve, ...]
    left_out: int = 0
    think_s: float = 0.0


def knee(curve: Sequence[tuple[float, float]]) -> int:
    """Which of the points (throughput, mean latency) has the most throughput ÷ latency, Kleinrock's *power* (1979).

    There a ray from the origin touches the curve from below: before it a little more latency buys much
    throughput, behind it a little throughput costs much latency. Needs no threshold, and holds for curves that
    fall first, as those of batches that must fill. Where requests of equal work arrive as a Poisson stream and are
    served one at a time, it lies at 2 − √2 = 59 % of the capacity; lower where work varies, at
    1 / (1 + √((1 + c²) / 2)) with c the coefficient of variation.
    """
    return max(range(len(curve)), key=lambda i: curve[i][0] / curve[i][1])


def never_fills(policy: Policy, users: float) -> bool:
    """So few users in a closed loop can never fill a batch, and yet each batch waits for its whole window."""
    waits = 0 < policy.max_queue_delay < float("inf") and not policy.refill
    return waits and policy.run_at_once_below <= users < policy.max_batch_size
