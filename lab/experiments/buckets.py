"""What do length buckets do? Each mode with and without them, side by side on one list of requests.

"Buckets bring 30 to 50 % more throughput and cut the tail by 60 %" is often quoted. Here both queues of a mode run
in the same race, so that they share the machine's noise, and each ratio is one of a pair. Buckets of prompt lengths
can only save padding; what a batch loses to its longest answer they do not touch, and a bucket fills more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from lab.analysis.acceptance import Comparison, Verdict, compare
from lab.analysis.classes import by_bucket
from lab.analysis.metrics import lane_metrics
from lab.engine.progress import Progress
from lab.experiments.turns import orders
from lab.run.lanes import RunSpec, build_lanes
from lab.run.race import to_the_end
from lab.run.record import LaneRecord, Provenance, RunRecord
from lab.scheduling.decide import Reason
from lab.scheduling.policy import Policy
from lab.workload.request import Workload

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

BOUND = 0.05  # a ratio this close to 1 is no difference
CLAIMS: Mapping[str, tuple[float, float]] = {"throughput": (1.3, 1.5), "e2e_p99": (0.3, 0.5)}
"""The ratios that are quoted, buckets ÷ one queue: +30 to +50 %, and -60 % give or take 10 points."""


class Reading(NamedTuple):
    """One lane. Useful tokens per second; padding ÷ computed prompt positions; seconds from arrival to the last
    token, nearest rank, of all and by bucket (p50, p99); dispatches, and how many of them were merged."""

    throughput: float
    padding_waste: float
    e2e_p50: float
    e2e_p99: float
    buckets: Mapping[str, tuple[float, float]]
    batches: int
    merged: int


@dataclass(frozen=True, slots=True)
class Effect:
    """One mode: medians with one queue and with buckets, what that changed, and whether it is what is quoted.

    changed  by quantity of CLAIMS: buckets against one queue
    claims   by quantity: the verdict on the claim
    """

    mode: str
    one_queue: Reading
    buckets: Reading
    changed: Mapping[str, Comparison]
    claims: Mapping[str, Verdict]


Race = Callable[[Sequence[Policy]], Sequence[LaneRecord]]
"""Runs these policies side by side on one list of requests, which `on_engine` makes with a real model."""


def on_engine(spec: RunSpec, workload: Workload, engine: Engine) -> Race:
    """`workload` is prepared. Raises ValueError where a request is refused: both queues must do the same work."""

    def run(policies: Sequence[Policy]) -> list[LaneRecord]:
        lanes = build_lanes(replace(spec, policies=tuple(policies)), workload, engine)
        if any(lane.refused for lane in lanes):
            raise ValueError("a request does not fit the KV budget of a lane; give a larger --kv-budget-mb")
        to_the_end(lanes)
        return [lane.record() for lane in lanes]

    return run


def measure_buckets(
    policies: Sequence[Policy],
    workload: Workload,
    run: Race,
    provenance: Provenance,
    repeats: int,
    report: Progress,
) -> tuple[Effect, ...]:
    """`policies` have buckets in their order; each runs beside itself without them, at least 5 times.

    `report(phase, done, total)` is called between races. Raises ValueError where a policy has no buckets.
    """
    for policy in policies:
        if not policy.order.boundaries:
            raise ValueError(f"{policy.name} has no bucket boundaries; give some")
    both = [_named(p, i) for policy in policies for i, p in enumerate((_without(policy), policy))]
    found: dict[str, list[Reading]] = {p.name: [] for p in both}
    for repeat, order in enumerate(orders(both, repeats)):
        report("buckets", repeat, repeats)
        for lane in run(order):
            found[lane.name].append(_read(RunRecord(provenance, workload, (lane,)), policies[0]))
    return tuple(_effect(p.name, found[_named(p, 0).name], found[_named(p, 1).name]) for p in policies)


def _without(policy: Policy) -> Policy:
    return replace(policy, order=replace(policy.order, boundaries=()))


def _named(policy: Policy, bucketed: int) -> Policy:
    return replace(policy, name=f"{policy.name}, {('one queue', 'buckets')[bucketed]}")


def _read(record: RunRecord, bucketed: Policy) -> Reading:
    [lane] = record.lanes
    m = lane_metrics(record, lane)
    assert m.throughput is not None
    assert m.e2e.p50 is not None
    assert m.e2e.p99 is not None
    classes = by_bucket(record.workload, lane, bucketed.order.boundaries)
    return Reading(
        throughput=m.throughput,
        padding_waste=m.padding_waste or 0.0,
        e2e_p50=m.e2e.p50,
        e2e_p99=m.e2e.p99,
        buckets={c.name: (c.e2e.p50 or 0.0, c.e2e.p99 or 0.0) for c in classes},
        batches=m.batches,
        merged=lane.columns.reason.count(Reason.BUCKET_MERGED),
    )


def _effect(mode: str, one_queue: Sequence[Reading], buckets: Sequence[Reading]) -> Effect:
    changed: dict[str, Comparison] = {}
    claims: dict[str, Verdict] = {}
    for quantity, (least, most) in CLAIMS.items():
        with_them = [float(getattr(r, quantity)) for r in buckets]
        plain = [float(getattr(r, quantity)) for r in one_queue]
        changed[quantity] = compare(with_them, plain, BOUND)
        claims[quantity] = _against(with_them, plain, (least + most) / 2, (most - least) / 2)
    return Effect(mode, _middle(one_queue), _middle(buckets), changed, claims)


def _against(buckets: Sequence[float], one_queue: Sequence[float], claimed: float, slack: float) -> Verdict:
    """Is buckets ÷ one queue the claimed ratio? Distance, slack and noise are all in parts of the one queue's."""
    off = [b + (1 - claimed) * q for b, q in zip(buckets, one_queue, strict=True)]
    return compare(off, one_queue, slack).verdict


def _middle(readings: Sequence[Reading]) -> Reading:
    """The median of each quantity."""
    return Reading(
        throughput=median(r.throughput for r in readings),
        padding_waste=median(r.padding_waste for r in readings),
        e2e_p50=median(r.e2e_p50 for r in readings),
        e2e_p99=median(r.e2e_p99 for r in readings),
        buckets={
            name: (median(r.buckets[name][0] for r in readings), median(r.buckets[name][1] for r in readings))
            for name in readings[0].buckets
        },
        batches=round(median(r.batches for r in readings)),
        merged=round(median(r.merged for r in readings)),
    )
