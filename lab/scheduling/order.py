"""Who goes first among the waiting: length buckets, priority, ageing. Pure functions of one moment.

Refuses to know seats, memory and windows: who may leave, and when, is decided in lab.scheduling.decide.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple


class Waiting(NamedTuple):
    """All that a scheduler may know of a waiting request. `arrival` in seconds, lengths in tokens."""

    id: int
    arrival: float
    prompt_tokens: int
    max_new_tokens: int
    priority: int


@dataclass(frozen=True, slots=True)
class Order:
    """The knobs of a queue; without any, first come is first served.

    boundaries         prompt tokens that part length buckets, increasing; () = one bucket. The second bucket
                       begins at the first boundary, each later boundary is the longest prompt of its bucket:
                       128, 512 make < 128, 128–512 and > 512
    by_priority        a lower number goes sooner; False: whoever came first
    ageing             with by_priority: seconds in which any waiting request rises, class by class, to 0, the
                       most urgent; None = never, then the urgent can starve the others
    bucket_wait_limit  seconds after which a waiting bucket leaves now, whoever else waits; None = the policy's
                       window, or 1 s where that is endless. With refill no bucket waits for company
    """

    boundaries: tuple[int, ...] = ()
    by_priority: bool = False
    ageing: float | None = 5.0
    bucket_wait_limit: float | None = None

    def __post_init__(self) -> None:
        if any(b < 1 for b in self.boundaries) or any(a >= b for a, b in pairwise(self.boundaries)):
            raise ValueError(f"bucket boundaries are {list(self.boundaries)}; they must be above 0 and increase")
        for name, seconds in (("ageing", self.ageing), ("bucket_wait_limit", self.bucket_wait_limit)):
            if seconds is not None and not (math.isfinite(seconds) and seconds >= 0):
                raise ValueError(f"{name} is {seconds} s; it must be 0 or more and finite")

    @property
    def overtaking_limit(self) -> float:
        """Seconds after which no later arrival is more urgent than a waiting request; inf = never."""
        if not self.by_priority:
            return 0.0
        return math.inf if self.ageing is None else self.ageing


FIRST_COME = Order()
PRESETS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "usual": (128, 512),  # of servers for long contexts
        "small": (48, 96),  # parts the prompts that ship with the lab
    }
)


def bucket_of(prompt_tokens: int, boundaries: tuple[int, ...]) -> int:
    """The bucket of a prompt, counted from 0, the shortest."""
    if not boundaries or prompt_tokens < boundaries[0]:
        return 0
    return bisect_left(boundaries, prompt_tokens, lo=1)


def bucket_name(bucket: int, boundaries: tuple[int, ...]) -> str:
    """Its range of prompt tokens, such as "< 128", "128–512" or "> 512"."""
    if not boundaries:
        return "all"
    if bucket == 0:
        return f"< {boundaries[0]}"
    if len(boundaries) == 1:
        return f"≥ {boundaries[0]}"
    if bucket == len(boundaries):
        return f"> {boundaries[-1]}"
    return f"{boundaries[bucket - 1] + (bucket > 1)}–{boundaries[bucket]}"


def effective_priority(order: Order, waiting: Waiting, now: float) -> int:
    """The class that a request has risen to at `now`: its own on arrival, 0 once it has waited `ageing` s."""
    if not order.by_priority:
        return 0
    if order.ageing is None:
        return waiting.priority
    if now >= waiting.arrival + order.ageing:
        return 0
    return waiting.priority - int(waiting.priority * (now - waiting.arrival) / order.ageing)


def ranked(order: Order, waiting: Collection[Waiting], now: float) -> Collection[Waiting]:
    """Most urgent first, equals in order of arrival; `waiting` comes in that order."""
    if not order.by_priority:
        return waiting
    # Sorted anew at each decision: ages move, so a heap's order would not hold.
    return sorted(waiting, key=lambda w: (effective_priority(order, w, now), w.arrival, w.id))


def in_buckets(order: Order, ranks: Collection[Waiting]) -> dict[int, Collection[Waiting]]:
    """The ranked by bucket; the most urgent request's bucket is the first."""
    if not order.boundaries:
        return {0: ranks}
    found: dict[int, list[Waiting]] = {}
    for w in ranks:
        found.setdefault(bucket_of(w.prompt_tokens, order.boundaries), []).append(w)
    return dict(found)


def nearest_first(order: Order, ranks: Collection[Waiting], bucket: int) -> Collection[Waiting]:
    """The ranked of this bucket, then those of the nearest ones, each as they are ranked."""
    if not order.boundaries:
        return ranks
    return sorted(ranks, key=lambda w: abs(bucket_of(w.prompt_tokens, order.boundaries) - bucket))
