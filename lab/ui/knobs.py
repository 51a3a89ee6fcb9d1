"""The knobs of a run as one value: their bounds, how an address holds them, the run they stand for. No streamlit.

What is out of bounds in an address is clamped, what cannot be read is dropped, and both leave a Notice: nothing
is changed in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lab.run.lanes import RunSpec
from lab.scheduling.policy import MODES, mode
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


@dataclass(frozen=True, slots=True)
class Knobs:
    """window in ms, rate in requests per second, kv in MB (10^6 bytes); None: the scenario's, or the engine's."""

    scenario: str = "chat"
    modes: tuple[str, ...] = MODES
    batch: int = 8
    window: int = 50
    rate: float | None = None
    requests: int | None = None
    seed: int = 0
    kv: float | None = None

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
        policies = tuple(mode(name, self.batch, self.window / 1000) for name in MODES if name in self.modes)
        return RunSpec(self.workload(own_prompts), policies, kv_budget_mb=self.kv)


DEFAULTS = Knobs()


class Notice(NamedTuple):
    """What an address held for a knob, and what was taken in its place."""

    kind: Literal["clamped", "unread"]
    knob: str
    given: str
    taken: str


def from_query(query: Mapping[str, str]) -> tuple[Knobs, list[Notice]]:
    """The knobs of an address; what it does not name keeps its default."""
    notices: list[Notice] = []

    def number(name: str) -> float | None:
        return _number(name, query[name], notices) if name in query else None

    def whole(name: str, default: int) -> int:
        found = number(name)
        return default if found is None else int(found)

    requests = number("requests")
    knobs = Knobs(
        scenario=_scenario(query.get("scenario"), notices),
        modes=_modes(query.get("modes"), notices),
        batch=whole("batch", DEFAULTS.batch),
        window=whole("window", DEFAULTS.window),
        rate=number("rate"),
        requests=None if requests is None else int(requests),
        seed=whole("seed", DEFAULTS.seed),
        kv=number("kv"),
    )
    return knobs, notices


def to_query(knobs: Knobs) -> dict[str, str]:
    """What an address must hold to open with these knobs: those that differ from their defaults."""
    found: dict[str, str] = {}
    for name in ("scenario", *BOUNDS):
        value = getattr(knobs, name)
        if value is not None and value != getattr(DEFAULTS, name):
            found[name] = f"{value:g}" if isinstance(value, float) else str(value)
    if set(knobs.modes) != set(MODES):
        found["modes"] = ",".join(name for name in MODES if name in knobs.modes)
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


def _scenario(given: str | None, notices: list[Notice]) -> str:
    if given is None or given in SCENARIOS:
        return given or DEFAULTS.scenario
    notices.append(Notice("unread", "scenario", given[:40], ""))
    return DEFAULTS.scenario


def _modes(given: str | None, notices: list[Notice]) -> tuple[str, ...]:
    if given is None:
        return MODES
    named = given.split(",")
    found = tuple(name for name in MODES if name in named)
    if not found or len(found) != len(named):
        notices.append(Notice("unread", "modes", given[:40], ""))
    return found or MODES
