"""A scene: the requests that arrive and the lanes that answer them; what a lesson runs. Knows no text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from lab.run.lanes import RunSpec
from lab.scheduling.hybrid import RULES, hybrid
from lab.scheduling.order import Order
from lab.scheduling.policy import Policy, mode
from lab.workload.closed_loop import closed_loop
from lab.workload.priorities import with_urgent
from lab.workload.prompts import shipped_texts
from lab.workload.request import Request, Workload
from lab.workload.scenarios import build


@dataclass(frozen=True, slots=True)
class Stream:
    """`count` requests of one kind: the first at `first` seconds, the next every `every` seconds. Prompt and answer
    have exactly so many tokens."""

    count: int
    prompt: int
    answer: int
    first: float = 0.0
    every: float = 0.0
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Users:
    """A closed loop: each asks again `think` seconds after the answer."""

    users: int
    questions: int
    think: float
    answer: int = 16


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """A row of the table of modes. `window` in ms; `turned` are rules the other way round than in the row.
    `name` is the lane's on the stage; "" = the key under which a scene has it."""

    mode: Literal["none", "static", "dynamic", "continuous"]
    name: str = ""
    batch: int = 8
    window: float = 50
    turned: tuple[Literal["refill", "padded"], ...] = ()
    buckets: tuple[int, ...] = ()
    by_priority: bool = False
    ages: bool = True
    ageing: float = 5.0
    three_lists: bool = False

    def policy(self, key: str) -> Policy:
        """Raises ValueError for rules that exclude each other."""
        order = Order(self.buckets, self.by_priority, self.ageing if self.ages else None)
        row = mode(self.mode, self.batch, self.window / 1e3, order)
        made = hybrid(row, [rule for rule in RULES if getattr(row, rule) is not (rule in self.turned)])
        return replace(made, name=self.name or key, three_lists=self.three_lists)


@dataclass(frozen=True, slots=True)
class Scene:
    """One of `scenario` (with requests, rate, seed), `streams` and `users` says what arrives; `kv` in MB."""

    lanes: Mapping[str, LaneSpec]
    scenario: str = ""
    requests: int | None = None
    rate: float | None = None
    seed: int = 0
    urgent: float = 0.0
    streams: tuple[Stream, ...] = ()
    users: Users | None = None
    kv: float | None = None

    def __post_init__(self) -> None:
        given = [bool(self.scenario), bool(self.streams), self.users is not None]
        if sum(given) != 1:
            raise ValueError(f"a scene has exactly one of scenario, streams and users; this one has {sum(given)}")

    def workload(self) -> Workload:
        if self.users is not None:
            u = self.users
            return closed_loop(u.users, u.questions, u.think, max_new_tokens=u.answer, seed=self.seed)
        if self.streams:
            return _streamed(self.streams)
        made = build(self.scenario, seed=self.seed, requests=self.requests, rate=self.rate)
        return with_urgent(made, self.urgent) if self.urgent else made

    def spec(self) -> RunSpec:
        """Raises ValueError, one sentence, for a scene that cannot run."""
        policies = tuple(lane.policy(key) for key, lane in self.lanes.items())
        return RunSpec(self.workload(), policies, kv_budget_mb=self.kv)

    def lane_name(self, key: str) -> str:
        """Of the lane's record. ValueError for a lane that is not there."""
        if key not in self.lanes:
            raise ValueError(f"no lane {key!r} in this scene; it has {', '.join(self.lanes)}")
        return self.lanes[key].name or key

    def turned(self, knobs: Mapping[str, float]) -> Scene:
        """The same with other values of what a learner may move: `batch` and `window` (ms) of every lane,
        `requests`, `rate`, `kv`."""
        lanes = {
            key: replace(
                lane, batch=int(knobs.get("batch", lane.batch)), window=float(knobs.get("window", lane.window))
            )
            for key, lane in self.lanes.items()
        }
        requests = knobs.get("requests", self.requests)
        return replace(
            self,
            lanes=lanes,
            requests=None if requests is None else int(requests),
            rate=knobs.get("rate", self.rate),
            kv=knobs.get("kv", self.kv),
        )


def _streamed(streams: tuple[Stream, ...]) -> Workload:
    rows = sorted(((s.first + i * s.every, n, s) for n, s in enumerate(streams) for i in range(s.count)), key=_when)
    beginnings = shipped_texts()
    made = (
        Request(
            i,
            round(arrival, 6),
            s.answer,
            prompt=beginnings[i % len(beginnings)],
            prompt_length=s.prompt,
            output_tokens=s.answer,
            priority=s.priority,
        )
        for i, (arrival, _, s) in enumerate(rows)
    )
    return Workload("lesson", tuple(made))


def _when(row: tuple[float, int, Stream]) -> tuple[float, int]:
    assert math.isfinite(row[0])
    return row[:2]
