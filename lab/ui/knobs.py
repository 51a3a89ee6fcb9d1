"""The knobs of a run as one value: their bounds, how an address holds them, the run they stand for. No streamlit.

What is out of bounds in an address is clamped, what cannot be read is dropped, and both leave a Notice: nothing
is changed in silence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lab.run.lanes import RunSpec
from lab.scheduling.hybrid import RULES, hybrid, rules_of
from lab.scheduling.policy import MODES, Policy, mode
from lab.workload.request import MAX_REQUESTS, Workload
from lab.workload.scenarios import MAX_RATE, MIN_RATE, SCENARIOS, build


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
}

# The stage's sliders: its name of each, our name, and where it may stand; None = no value of its own.
ON_STAGE = {"rate": "rate", "max_batch_size": "batch", "max_queue_delay_ms": "window", "kv_budget_mb": "kv"}
STOPS: dict[str, tuple[float | None, ...]] = {
    "rate": (None, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64),
    "max_batch_size": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
    "max_queue_delay_ms": tuple(range(0, 501, 10)),
    "kv_budget_mb": (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, None),
}


TURNS = tuple(f"{name}.{rule}" for name in MODES for rule in RULES)


@dataclass(frozen=True, slots=True)
class Knobs:
    """window in ms, rate in requests per second, kv in MB (10^6 bytes); None: the scenario's, or the engine's.

    model   by the name it is loaded by; "" the server's first
    turned  those of TURNS, in their order, that are the other way round than in the mode's row of the table
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

    @property
    def on_stage(self) -> dict[str, float | None]:
        """The values of the stage's sliders, by the stage's names."""
        return {theirs: getattr(self, ours) for theirs, ours in ON_STAGE.items()}

    @staticmethod
    def from_stage(told: Mapping[str, object]) -> dict[str, float | None]:
        """What the sliders say, by our names. A browser may say anything: only their own stops count."""
        return {
            ours: value
            for theirs, ours in ON_STAGE.items()
            for value in STOPS[theirs]
            if theirs in told and told[theirs] == value and not isinstance(told[theirs], bool)
        }

    def workload(self, own_prompts: Sequence[str]) -> Workload:
        """Raises ValueError, one sentence, for what the scenario does not take."""
        own = self.scenario == "own"
        return build(
            self.scenario,
            seed=self.seed,
            requests=None if own else self.requests,
            rate=self.rate,
            prompts=own_prompts if own else None,
        )

    def spec(self, own_prompts: Sequence[str]) -> RunSpec:
        """Raises ValueError, one sentence, for what cannot be run."""
        policies = tuple(self.policy(name) for name in MODES if name in self.modes)
        return RunSpec(self.workload(own_prompts), policies, kv_budget_mb=self.kv, model=self.model)

    def policy(self, name: str) -> Policy:
        """Raises ValueError for a hybrid that is none."""
        return hybrid(mode(name, self.batch, self.window / 1000), self.rules(name))

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


class Notice(NamedTuple):
    """What an address held for a knob, and what was taken in its place."""

    kind: Literal["clamped", "unread"]
    knob: str
    given: str
    taken: str


def from_query(query: Mapping[str, str], models: Collection[str] = ()) -> tuple[Knobs, list[Notice]]:
    """The knobs of an address; what it does not name keeps its default. `models` may be chosen."""
    notices: list[Notice] = []

    def number(name: str) -> float | None:
        return _number(name, query[name], notices) if name in query else None

    def whole(name: str, default: int) -> int:
        found = number(name)
        return default if found is None else int(found)

    requests = number("requests")
    knobs = Knobs(
        scenario=_one_of("scenario", SCENARIOS, query, notices),
        modes=_some_of("modes", MODES, query, notices) or MODES,
        batch=whole("batch", DEFAULTS.batch),
        window=whole("window", DEFAULTS.window),
        rate=number("rate"),
        requests=None if requests is None else int(requests),
        seed=whole("seed", DEFAULTS.seed),
        kv=number("kv"),
        model=_one_of("model", models, query, notices),
        turned=_some_of("turned", TURNS, query, notices),
    )
    return knobs, notices


def to_query(knobs: Knobs) -> dict[str, str]:
    """What an address must hold to open with these knobs: those that differ from their defaults."""
    found: dict[str, str] = {}
    for name in ("scenario", *BOUNDS, "model"):
        value = getattr(knobs, name)
        if value is not None and value != getattr(DEFAULTS, name):
            found[name] = f"{value:g}" if isinstance(value, float) else str(value)
    if set(knobs.modes) != set(MODES):
        found["modes"] = ",".join(name for name in MODES if name in knobs.modes)
    if knobs.turned:
        found["turned"] = ",".join(knobs.turned)
    return found


def _number(name: str, given: str, notices: list[Notice]) -> float | None:
    bounds = BOUNDS[name]
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        notices.append(Notice("unread", name, given[:40], ""))
        return None
    taken = min(max(value, bounds.least), bounds.most)
    if bounds.whole:
        taken = round(taken)
    if taken != value:
        notices.append(Notice("clamped", name, given[:40], f"{taken:g}"))
    return taken


def _one_of(name: str, known: Collection[str], query: Mapping[str, str], notices: list[Notice]) -> str:
    given, default = query.get(name), str(getattr(DEFAULTS, name))
    if given is None or given in known:
        return given or default
    notices.append(Notice("unread", name, given[:40], ""))
    return default


def _some_of(name: str, known: Sequence[str], query: Mapping[str, str], notices: list[Notice]) -> tuple[str, ...]:
    """Those named, in the order of `known`; none where none is named."""
    if name not in query:
        return ()
    named = query[name].split(",")
    found = tuple(each for each in known if each in named)
    if not found or len(found) != len(named):
        notices.append(Notice("unread", name, query[name][:40], ""))
    return found
