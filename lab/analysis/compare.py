"""Two to four records side by side: which are repeats of each other, what differs in their settings, and how far
their numbers lie apart. A measured run and a predicted one are never repeats of each other.

Refuses to know words and colours, and to judge: a difference is shown beside the spread of the repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from lab.analysis.facts import Cell, knobs, run_facts
from lab.run.record import LaneRecord, RunRecord

MOST = 4
SAME_BUDGET = 0.1  # an automatic KV budget follows the memory that happens to be free

_ITS_OWN = ("created", "kind")  # facts that differ between repeats, or that say it otherwise


@dataclass(frozen=True, slots=True)
class Group:
    """Records of equal settings: one, or a run and its repeats. `label` is A, B, C or D."""

    label: str
    records: tuple[RunRecord, ...]

    @property
    def first(self) -> RunRecord:
        return self.records[0]

    @property
    def predicted(self) -> bool:
        return self.first.provenance.kind == "predicted"


class Reading(NamedTuple):
    """One number of one group: median, lowest and highest of its n repeats that have it."""

    median: float
    low: float
    high: float
    n: int

    @property
    def spread(self) -> float | None:
        """(highest − lowest) ÷ median; None without repeats, or where the median is 0."""
        return (self.high - self.low) / self.median if self.n > 1 and self.median else None


class Difference(NamedTuple):
    """`change` is this median ÷ that median − 1; `spread` the larger of the two groups', None without repeats."""

    change: float
    spread: float | None

    @property
    def within_spread(self) -> bool:
        return self.spread is not None and abs(self.change) <= self.spread


class Setting(NamedTuple):
    """A fact of each group: one value, or one for each lane where they differ."""

    name: str
    values: tuple[Cell | tuple[tuple[str, Cell], ...], ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def groups(records: Sequence[RunRecord]) -> tuple[Group, ...]:
    """In order of their first record. Raises ValueError for none or more than MOST records."""
    if not 1 <= len(records) <= MOST:
        raise ValueError(f"{len(records)} records were given; 1 to {MOST} can be shown together")
    found: list[list[RunRecord]] = []
    for record in records:
        home = next((group for group in found if repeats(group[0], record)), None)
        if home is None:
            found.append([record])
        else:
            home.append(record)
    return tuple(Group("ABCD"[i], tuple(group)) for i, group in enumerate(found))


def repeats(one: RunRecord, other: RunRecord) -> bool:
    """Was the same thing run under the same settings?"""
    if one.workload != other.workload or len(one.lanes) != len(other.lanes):
        return False
    same_kind = (one.provenance.kind == "predicted") == (other.provenance.kind == "predicted")
    facts = [{k: v for k, v in run_facts(r).items() if k not in _ITS_OWN} for r in (one, other)]
    return same_kind and facts[0] == facts[1] and all(map(_same_rules, one.lanes, other.lanes))


def _same_rules(one: LaneRecord, other: LaneRecord) -> bool:
    budget = abs(one.kv_budget - other.kv_budget) <= SAME_BUDGET * max(one.kv_budget, other.kv_budget)
    return budget and replace(other, columns=one.columns, kv_budget=one.kv_budget) == one


def settings(compared: Sequence[Group]) -> list[Setting]:
    """All facts, knobs first; and whether the lists of requests are the same."""
    made = [
        Setting(name, tuple(_knob(group.first, name) for group in compared))
        for name in knobs(compared[0].first.lanes[0])
    ]
    facts = [run_facts(group.first) for group in compared]
    made += [Setting(name, tuple(f[name] for f in facts)) for name in facts[0]]
    made.insert(0, Setting("requests", tuple(_requests(group, compared) for group in compared)))
    return made


def _requests(group: Group, compared: Sequence[Group]) -> str:
    """How many; with the letter of the first group that has the very same list, where not all have one."""
    lists = [other.first.workload.requests for other in compared]
    number = str(len(group.first.workload.requests))
    if all(requests == lists[0] for requests in lists):
        return number
    same = next(o.label for o in compared if o.first.workload.requests == group.first.workload.requests)
    return f"{number} ({same})"


def _knob(record: RunRecord, name: str) -> Cell | tuple[tuple[str, Cell], ...]:
    values = tuple((lane.name, knobs(lane)[name]) for lane in record.lanes)
    return values[0][1] if len({value for _, value in values}) == 1 else values


def reading(values: Sequence[float | None]) -> Reading | None:
    """None where no repeat has the number."""
    known = [v for v in values if v is not None]
    return Reading(median(known), min(known), max(known), len(known)) if known else None


def difference(of: Reading | None, against: Reading | None) -> Difference | None:
    """None where one of the two is unknown or the reference is 0."""
    if of is None or against is None or not against.median:
        return None
    spreads = [r.spread for r in (of, against) if r.spread is not None]
    return Difference(of.median / against.median - 1, max(spreads, default=None))
