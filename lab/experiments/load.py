"""The same requests under rising load, mode by mode: how long do they take, and how much gets done?

Open loop: requests come at a rate, whatever the server does; the rates are shares of what the mode was measured to
give with all requests there at once. Closed loop: users ask again after their answer; the load is their number.
Each load has the same requests and, in an open loop, the same random numbers, stretched. Every run is checked
against the identities that hold on every path (lab.analysis.checks), Little's law among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import mean
from typing import TYPE_CHECKING

from lab.analysis.checks import check_lane
from lab.analysis.load import Cell, Curve, Point, Sweep, point
from lab.engine.progress import Progress
from lab.run.calibration import Calibration
from lab.run.lanes import RunSpec, build_lanes
from lab.run.predict import predict
from lab.run.race import to_the_end
from lab.run.record import Columns, LaneRecord, Provenance, RunRecord
from lab.scheduling.policy import Policy
from lab.workload.request import Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

SHARES = (0.5, 0.9, 2.0, 0.7, 1.3, 0.25)
"""Of a mode's capacity, in the order in which they are measured: if time runs out, the curve has its ends."""

FEWEST_LOADS = 3  # of each mode, however long they take

Serve = Callable[[Policy, Workload], LaneRecord]
"""Runs one mode on one prepared list of requests, from beginning to end."""


def on_engine(spec: RunSpec, engine: Engine) -> Serve:
    """Measured, each run alone on the device. Serving raises ValueError where a request does not fit."""

    def serve(policy: Policy, workload: Workload) -> LaneRecord:
        one = replace(spec, policies=(policy,), workload=workload)
        [lane] = build_lanes(one, workload, engine)
        to_the_end([lane])
        return lane.record()

    return serve


def on_calibration(spec: RunSpec, calibration: Calibration) -> Serve:
    """Predicted from fitted step times."""

    def serve(policy: Policy, workload: Workload) -> LaneRecord:
        return predict(replace(spec, policies=(policy,), workload=workload), calibration).lanes[0]

    return serve


def cut_of(policies: Sequence[Policy], requests: int) -> int:
    """Left out at either end: a whole batch of the largest, and at least an eighth of the requests.

    ValueError where less than a third of the requests would be left.
    """
    cut = max(requests // 8, *(p.max_batch_size for p in policies))
    if requests < 3 * cut:
        raise ValueError(
            f"{requests} requests, of which a batch of {cut} is cut at either end; give at least {3 * cut}"
        )
    return cut


def open_loop(
    policies: Sequence[Policy],
    workloads: Sequence[Workload],
    serve: Serve,
    provenance: Provenance,
    report: Progress,
    *,
    rates: Sequence[float] | None = None,
    budget_s: float = math.inf,
) -> Sweep:
    """`workloads` are prepared, one a repeat, alike but for their seeds; `rates` in requests per second, by
    default SHARES of each mode's own capacity, and as many of them as `budget_s` computed seconds allow.

    ValueError for rates or workloads that cannot be used. `report(phase, done, total)` is called before each run.
    """
    first = workloads[0]
    run = _Runs(serve, cut_of(policies, len(first.requests)), report)
    run.to_come = len(policies) * len(workloads) * (1 + len(rates or SHARES))
    at_once = {p.name: run.cell(p, None, [w.at_rate(math.inf) for w in workloads]) for p in policies}
    tokens = mean(r.output_tokens or 0 for r in first.requests)
    loads = {
        p.name: rates or [_rounded(share * at_once[p.name].throughput / tokens) for share in SHARES]
        for p in policies
    }
    cells, left_out = run.rounds(policies, loads, lambda rate: [w.at_rate(rate) for w in workloads], budget_s)
    curves = tuple(Curve(p, cells[p.name], at_once[p.name]) for p in policies)
    seeds = tuple(w.seed for w in workloads)
    return Sweep("open", _setting(provenance, first, run), seeds, run.cut, curves, left_out)


def closed_loop(
    policies: Sequence[Policy],
    of_users: Callable[[int, int], Workload],
    seeds: Sequence[int],
    serve: Serve,
    provenance: Provenance,
    report: Progress,
    *,
    users: Sequence[int],
    think_s: float = 0.0,
    budget_s: float = math.inf,
) -> Sweep:
    """`of_users(users, seed)` is the prepared list of requests of so many users who think for `think_s`; `users`
    are measured in this order, and as many as `budget_s` computed seconds allow."""
    made = {(n, seed): of_users(n, seed) for n in users for seed in seeds}
    run = _Runs(serve, cut_of(policies, min(len(w.requests) for w in made.values())), report)
    run.to_come = len(policies) * len(seeds) * len(users)
    loads = {p.name: users for p in policies}
    cells, left_out = run.rounds(policies, loads, lambda n: [made[int(n), seed] for seed in seeds], budget_s)
    curves = tuple(Curve(p, cells[p.name]) for p in policies)
    setting = _setting(provenance, made[users[0], seeds[0]], run)
    return Sweep("closed", setting, tuple(seeds), run.cut, curves, left_out, think_s)


@dataclass(slots=True)
class _Runs:
    """The runs of a sweep: what they took so far, and how many are to come."""

    serve: Serve
    cut: int
    report: Progress
    to_come: int = 0
    done: int = 0
    spent_s: float = 0.0
    lanes: dict[str, LaneRecord] = field(default_factory=dict)

    def rounds(
        self,
        policies: Sequence[Policy],
        loads: Mapping[str, Sequence[float]],
        at: Callable[[float], Sequence[Workload]],
        budget_s: float,
    ) -> tuple[dict[str, tuple[Cell, ...]], int]:
        """Each round is one load of every mode; no further one begins that would probably end too late."""
        count = len(loads[policies[0].name])
        found: dict[str, list[Cell]] = {p.name: [] for p in policies}
        before = self.spent_s
        for i in range(count):
            expected = (self.spent_s - before) / i if i else 0.0
            if i >= FEWEST_LOADS and self.spent_s + expected > budget_s:
                break
            for p in policies:
                load = loads[p.name][i]
                found[p.name].append(self.cell(p, load, at(load)))
        measured = len(found[policies[0].name])
        in_order = {name: tuple(sorted(cells, key=lambda c: c.load or 0)) for name, cells in found.items()}
        return in_order, count - measured

    def cell(self, policy: Policy, load: float | None, workloads: Sequence[Workload]) -> Cell:
        return Cell(load, tuple(self._point(policy, load, workload) for workload in workloads))

    def _point(self, policy: Policy, load: float | None, workload: Workload) -> Point:
        self.report(self._phase(), self.done, self.to_come)
        lane = self.serve(policy, workload)
        check_lane(workload, lane, complete=True)
        together = sum(r.follows is None for r in workload.requests)  # users, in a closed loop
        closed = together < len(workload.requests)
        found = point(workload, lane, max(self.cut, together) if closed else self.cut)
        self.done += 1
        self.spent_s += found.busy_s
        self.lanes.setdefault(policy.name, replace(lane, columns=Columns()))
        return found

    def _phase(self) -> str:
        if not self.done:
            return "load"
        return f"load, about {self.spent_s / self.done * (self.to_come - self.done):.0f} s left"


def _setting(provenance: Provenance, workload: Workload, runs: _Runs) -> RunRecord:
    return RunRecord(provenance, workload, tuple(runs.lanes.values()))


def _rounded(rate: float) -> float:
    """To three digits, as it can be given by hand again."""
    return float(f"{rate:.3g}")
