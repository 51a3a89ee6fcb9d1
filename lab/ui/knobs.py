"""The knobs of a run as one value: their bounds, and the run that they stand for. No streamlit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lab.run.lanes import RunSpec
from lab.scheduling.hybrid import RULES, hybrid, rules_of
from lab.scheduling.order import FIRST_COME, Order
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload.closed_loop import closed_loop
from lab.workload.priorities import with_urgent
from lab.workload.request import MAX_REQUESTS, Workload
from lab.workload.scenarios import MAX_RATE, MIN_RATE, SCENARIOS, build
from lab.workload.trace.reading import Trace
from lab.workload.trace.replay import Replay, cut, workload_of


class Bounds(NamedTuple):
    least: float
    most: float
    whole: bool


BOUNDS = {
    "batch": Bounds(1, 32, True),
    "window": Bounds(0, 500, True),
    "rate": Bounds(MIN_RATE, MAX_RATE, False),
    "requests": Bounds(1, MAX_REQUESTS, True),
    "seed": Bounds(0, 999_999, True),
    "kv": Bounds(1, 1_000_000, False),
    "urgent": Bounds(0, 100, True),
    "ageing": Bounds(0, 60, False),
    "bucket_wait": Bounds(0, 10_000, True),
    "few": Bounds(1, 32, True),
    "groups": Bounds(1, 4, True),
    "users": Bounds(1, 32, True),
    "think": Bounds(0, 10_000, True),
    "trace_start": Bounds(0, 1e8, False),
    "trace_end": Bounds(0, 1e8, False),
    "trace_scale": Bounds(0.001, 10, False),
    "trace_prompt_cap": Bounds(1, 8192, True),
    "trace_answer_cap": Bounds(1, 8192, True),
    "trace_gap": Bounds(0, 1e6, False),
    "trace_speed": Bounds(0.001, 10_000, False),
}
EDGE, MOST_EDGES = Bounds(8, 1024, True), 12  # a boundary of buckets, prompt tokens; how many there may be
FLAGS = ("priority", "aged", "pickup", "scattered")

# The stage's sliders: its name of each, our name, and where it may stand; None = no value of its own.
ON_STAGE = {"rate": "rate", "max_batch_size": "batch", "max_queue_delay_ms": "window", "kv_budget_mb": "kv"}
STOPS: dict[str, tuple[float | None, ...]] = {
    "rate": (None, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64),
    "max_batch_size": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
    "max_queue_delay_ms": tuple(range(0, 501, 10)),
    "kv_budget_mb": (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, None),
}
# Whose rows of the table leave it open; work and memory concern all.
CHANGES = {
    "rate": MODES,
    "max_batch_size": tuple(name for name in MODES if mode(name, 1) != mode(name, 2)),
    "max_queue_delay_ms": tuple(name for name in MODES if mode(name, 8, 0.1) != mode(name, 8, 0.2)),
    "kv_budget_mb": MODES,
}


SITUATIONS = (*SCENARIOS, "closed_loop", "trace")
USUAL_REQUESTS = {name: s.requests for name, s in SCENARIOS.items()} | {"closed_loop": 16, "trace": 32}
TURNS = tuple(f"{name}.{rule}" for name in MODES for rule in RULES)


@dataclass(frozen=True, slots=True)
class Knobs:
    """window in ms, rate in requests per second, kv in MB (10^6 bytes); None: the scenario's, or the engine's.

    model        by the name it is loaded by; "" the server's first
    turned       those of TURNS, in their order, that are the other way round than in the mode's row of the table
    buckets      boundaries in prompt tokens, increasing
    priority     by priority: `urgent` percent of the requests go first, the others rise in `ageing` s if `aged`
    bucket_wait  ms after which a bucket leaves, merged with others; None: the policy's own
    few, pickup  of dynamic: fewer than so many leave at once; its window opens only when the device is free
    groups       replicas in each lane; scattered: a batch is spread over them
    users, think of the closed loop: how many there are, and for how many ms they think
    trace_*      how an uploaded trace is cut, see lab.workload.trace.replay.Replay
    """

    scenario: str = "chat"
    modes: tuple[str, ...] = MODES
    batch: int = 8
    window: int = 50
    rate: float | None = None
    requests: int | None = None
    seed: int = 0
    kv: float | None = None
    model: str = ""
    turned: tuple[str, ...] = ()
    buckets: tuple[int, ...] = ()
    priority: bool = False
    urgent: int = 20
    ageing: float = 5.0
    aged: bool = True
    bucket_wait: int | None = None
    few: int = 1
    pickup: bool = False
    groups: int = 1
    scattered: bool = False
    users: int = 1
    think: int = 0
    trace_start: float = 0.0
    trace_end: float | None = None
    trace_scale: float = 0.0625
    trace_prompt_cap: int | None = None
    trace_answer_cap: int | None = None
    trace_gap: float | None = None
    trace_speed: float = 1.0

    @property
    def rated(self) -> bool:
        """Does the slider of the rate mean anything? Users and traces bring their own times."""
        return self.scenario not in ("closed_loop", "trace")

    @property
    def on_stage(self) -> dict[str, float | None]:
        """The values of the stage's sliders, by the stage's names."""
        return {theirs: getattr(self, ours) for theirs, ours in ON_STAGE.items() if self.rated or ours != "rate"}

    @staticmethod
    def from_stage(told: Mapping[str, object]) -> dict[str, float | None]:
        """What the sliders say, by our names. A browser may say anything: only their own stops count."""
        return {
            ours: value
            for theirs, ours in ON_STAGE.items()
            for value in STOPS[theirs]
            if theirs in told and told[theirs] == value and not isinstance(told[theirs], bool)
        }

    def workload(self, own_prompts: Sequence[str], trace: Trace | None = None) -> Workload:
        """Raises ValueError, one sentence, for what the scenario does not take."""
        made = self._requests(own_prompts, trace)
        return with_urgent(made, self.urgent / 100) if self.priority else made

    def _requests(self, own_prompts: Sequence[str], trace: Trace | None) -> Workload:
        if self.scenario == "trace":
            if trace is None:
                raise ValueError("there is no trace yet; give a file")
            return workload_of(cut(trace, self.replay), f"trace {trace.name}", self.seed)
        if self.scenario == "closed_loop":
            each = max(1, (self.requests or USUAL_REQUESTS["closed_loop"]) // self.users)
            return closed_loop(self.users, each, self.think / 1000, seed=self.seed)
        own = self.scenario == "own"
        return build(
            self.scenario,
            seed=self.seed,
            requests=None if own else self.requests,
            rate=self.rate,
            prompts=own_prompts if own else None,
        )

    @property
    def replay(self) -> Replay:
        """Raises ValueError, one sentence, for a slice that ends before it starts."""
        return Replay(
            start=self.trace_start,
            end=self.trace_end,
            requests=self.requests or USUAL_REQUESTS["trace"],
            length_scale=self.trace_scale,
            most_prompt_tokens=self.trace_prompt_cap,
            most_output_tokens=self.trace_answer_cap,
            longest_gap=self.trace_gap,
            speed_up=self.trace_speed,
        )

    def spec(self, own_prompts: Sequence[str], trace: Trace | None = None) -> RunSpec:
        """Raises ValueError, one sentence, for what cannot be run."""
        return RunSpec(
            self.workload(own_prompts, trace),
            tuple(self.policy(name) for name in MODES if name in self.modes),
            kv_budget_mb=self.kv,
            groups=self.groups,
            scattered=self.scattered and self.groups > 1,
            model=self.model,
        )

    def policy(self, name: str) -> Policy:
        """Only the knobs that concern this mode make it another policy, and so another run. Raises ValueError for a
        hybrid that is none."""
        row = mode(name, self.batch, self.window / 1000, self._order(name))
        if name == "dynamic":
            row = replace(
                row,
                window_starts_at="pickup" if self.pickup else "arrival",
                run_at_once_below=min(self.few, self.batch),
            )
        return hybrid(row, self.rules(name))

    def _order(self, name: str) -> Order:
        """What has no effect stands at its default, so that it does not make another policy."""
        no_wait = self.bucket_wait is None or not self.buckets or "refill" in self.rules(name)
        return Order(
            boundaries=self.buckets,
            by_priority=self.priority,
            ageing=(self.ageing if self.aged else None) if self.priority else FIRST_COME.ageing,
            bucket_wait_limit=None if no_wait or self.bucket_wait is None else self.bucket_wait / 1000,
        )

    def rules(self, name: str) -> tuple[str, ...]:
        """Those of RULES that are on in this mode."""
        usual = rules_of(mode(name))
        return tuple(rule for rule in RULES if (rule in usual) is not (f"{name}.{rule}" in self.turned))


def turned_by(rules: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """What `Knobs.turned` must be so that each mode has these rules on."""
    return tuple(
        f"{name}.{rule}"
        for name in MODES
        for rule in RULES
        if (rule in rules[name]) is not (rule in rules_of(mode(name)))
    )


DEFAULTS = Knobs()
