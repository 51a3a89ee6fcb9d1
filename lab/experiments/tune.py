"""The tuner on a real engine: each batch size it asks for is measured, several times, before it may judge."""

from __future__ import annotations

from lab.analysis.metrics import Slo
from lab.engine.progress import Progress
from lab.experiments.sweep import Size, Sweeper, measured
from lab.experiments.tuner import RULES, Climb, Trial, climb


def tune(sweeper: Sweeper, largest: int, repeats: int, slo: Slo | None, rule: str, report: Progress) -> Climb:
    """`rule` is one of RULES. ValueError for another, or where a number is below 1."""
    if rule not in RULES:
        raise ValueError(f"the rule is {rule!r}; it must be one of {', '.join(RULES)}")
    if repeats < 1:
        raise ValueError(f"repeats is {repeats}; it must be at least 1")

    def attempt(batch_size: int) -> Trial:
        size = Size(batch_size)
        while not size.refused and len(size.readings) < repeats:
            report(f"batch size {batch_size}", len(size.readings), repeats)
            size = measured(sweeper, size)
        return trial_of(size, slo)

    return climb(attempt, largest, RULES[rule])


def trial_of(size: Size, slo: Slo | None) -> Trial:
    """A measured size as the tuner sees it. Where the device has no counter of its own, the popular rule looks at
    the busy fraction."""
    if size.refused:
        return Trial(size.batch_size, refused=size.refused)
    used = size.middle(lambda r: r.metrics.busy_fraction if r.counter is None else r.counter)
    throughput = tuple(r.metrics.throughput or 0.0 for r in size.readings)
    return Trial(size.batch_size, throughput, broken(size, slo), used or 0.0)


def broken(size: Size, slo: Slo | None) -> frozenset[str]:
    """The promises that the P99 broke, as the median of the repeats has it."""
    promised = {} if slo is None else {"ttft": slo.ttft, "tpot": slo.tpot}
    tails = {"ttft": size.middle(lambda r: r.metrics.ttft.p99), "tpot": size.middle(lambda r: r.metrics.tpot.p99)}
    return frozenset(name for name, limit in promised.items() if limit is not None and (tails[name] or 0.0) > limit)
