"""The four batching modes as rows of one table, and the one function that decides from it.

`decide` sees a View and answers Admit, Decode or Wait, each with its reason. It refuses to know
output lengths, tokens, devices and how long anything takes.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from lab.scheduling.memory import padded_reservation, ragged_reservation


@dataclass(frozen=True, slots=True)
class Policy:
    """The knobs of a batching server.

    max_batch_size          seats: requests that may be computed together
    max_queue_delay         seconds a request may be kept waiting for company; inf = until the batch is full
    refill                  others may join before the batch has ended
    padded                  the rectangle is computed: prompts padded to the longest, finished rows kept
    window_starts_at        "arrival": the window opens when the oldest waiting request arrived;
                            "pickup": when it arrived or the device became free, whichever is later
    run_at_once_below       if fewer than this many wait when the device is free, they leave at once (1 = never)
    max_num_batched_tokens  most tokens in a step that admits prompts, decode rows included (with refill only)
    overtake_limit          with refill: seconds a request that does not fit the KV budget may be passed by
                            later ones that do; after that, seats are held for it
    """

    name: str
    max_batch_size: int
    max_queue_delay: float
    refill: bool
    padded: bool
    window_starts_at: Literal["arrival", "pickup"] = "arrival"
    run_at_once_below: int = 1
    max_num_batched_tokens: int = 2048
    overtake_limit: float = 1.0

    def __post_init__(self) -> None:
        if self.max_batch_size < 1:
            raise ValueError(f"max_batch_size is {self.max_batch_size}; it must be at least 1")
        if math.isnan(self.max_queue_delay) or self.max_queue_delay < 0:
            raise ValueError(f"max_queue_delay is {self.max_queue_delay} s; it must be 0 or more")
        if self.refill and self.padded:
            raise ValueError(
                "refill and padded exclude each other: a padded batch is one rectangle from its start to its end, "
                "refill changes its rows on the way; choose one of them"
            )
        if self.window_starts_at not in ("arrival", "pickup"):
            raise ValueError(f"window_starts_at is {self.window_starts_at!r}; it must be 'arrival' or 'pickup'")
        if not 1 <= self.run_at_once_below <= self.max_batch_size:
            raise ValueError(
                f"run_at_once_below is {self.run_at_once_below}; "
                f"it must lie between 1 (never) and max_batch_size ({self.max_batch_size})"
            )
        if self.max_num_batched_tokens < 1:
            raise ValueError(f"max_num_batched_tokens is {self.max_num_batched_tokens}; it must be at least 1")
        if math.isnan(self.overtake_limit) or self.overtake_limit < 0:
            raise ValueError(f"overtake_limit is {self.overtake_limit} s; it must be 0 or more")


MODES = ("none", "static", "dynamic", "continuous")


def mode(name: str, max_batch_size: int = 8, max_queue_delay: float = 0.05) -> Policy:
    """A row of the table; `max_batch_size` and `max_queue_delay` (seconds) are the two knobs it leaves open."""
    table = {
        #                            max_batch_size, max_queue_delay, refill, padded
        "none": Policy("none", 1, 0.0, refill=False, padded=False),
        "static": Policy("static", max_batch_size, math.inf, refill=False, padded=True),
        "dynamic": Policy("dynamic", max_batch_size, max_queue_delay, refill=False, padded=True),
        "continuous": Policy("continuous", max_batch_size, 0.0, refill=True, padded=False),
    }
    if name not in table:
        raise ValueError(f"mode is {name!r}; it must be one of {', '.join(MODES)}")
    return table[name]


class Reason(StrEnum):
    """Why a decision was taken."""

    BATCH_FULL = "batch_full"  # every seat is taken by the requests that leave
    WINDOW_OVER = "window_over"  # the oldest has waited max_queue_delay
    NO_WINDOW = "no_window"  # max_queue_delay is 0: whoever waits leaves at once
    NOTHING_MORE_ARRIVES = "nothing_more_arrives"  # an endless window, and nobody to wait for
    FEW_ENOUGH = "few_enough"  # fewer than run_at_once_below wait
    SEAT_FREE = "seat_free"  # a seat of the running batch was free
    MEMORY_FULL = "memory_full"  # the next in the queue does not fit the KV budget
    TOKENS_FULL = "tokens_full"  # the next in the queue does not fit max_num_batched_tokens
    SEATS_FULL = "seats_full"  # the running batch has no free seat
    BATCH_RUNS = "batch_runs"  # the running batch takes nobody in before its end
    NOBODY_WAITS = "nobody_waits"
    WINDOW_OPEN = "window_open"  # more may still come within max_queue_delay


class Waiting(NamedTuple):
    """All that a policy may know of a waiting request. `arrival` in seconds, lengths in tokens."""

    id: int
    arrival: float
    prompt_tokens: int
    max_new_tokens: int
    priority: int


class View(NamedTuple):
    """What a policy sees of a lane and one of its groups at one moment; times in seconds.

    waiting       arrived and not yet admitted, in queue order; not to be changed
    next_arrival  when the next scheduled request arrives; inf when none is scheduled
    free_since    when this group's device last became free
    live          rows that the running batch still computes for unfinished requests
    seats_free    seats that could take a request now
    batch_open    a batch is running
    kv_free       tokens left in the KV budget
    """

    now: float
    waiting: Collection[Waiting]
    next_arrival: float
    free_since: float
    live: int
    seats_free: int
    batch_open: bool
    kv_free: int


class Admit(NamedTuple):
    """Compute these requests' prompts in the next step, together with the rows already decoding."""

    requests: tuple[Waiting, ...]
    reason: Reason


class Decode(NamedTuple):
    """Go on with the rows of the running batch; nobody joins."""

    reason: Reason


class Wait(NamedTuple):
    """Do nothing before `until` (seconds; inf when only an unscheduled arrival can change that)."""

    until: float
    reason: Reason


Decision = Admit | Decode | Wait


def decide(policy: Policy, view: View) -> Decision:
    """The next thing for one group of a lane to do."""
    if view.batch_open and not policy.refill:
        return Decode(Reason.BATCH_RUNS)
    if not view.waiting:
        return Decode(Reason.NOBODY_WAITS) if view.batch_open else Wait(view.next_arrival, Reason.NOBODY_WAITS)
    batch, stopped_by = _who_fits(policy, view)
    if view.batch_open:
        return Admit(batch, Reason.SEAT_FREE) if batch else Decode(stopped_by)
    return _leave_or_wait(policy, view, batch, stopped_by)


def _leave_or_wait(policy: Policy, view: View, batch: tuple[Waiting, ...], stopped_by: Reason) -> Decision:
    """The device is free: does the batch leave now?"""
    if stopped_by is not Reason.NOBODY_WAITS:
        return Admit(batch, Reason.BATCH_FULL if stopped_by is Reason.SEATS_FULL else stopped_by)
    if policy.max_queue_delay == 0:
        return Admit(batch, Reason.NO_WINDOW)
    if len(view.waiting) < policy.run_at_once_below:
        return Admit(batch, Reason.FEW_ENOUGH)
    opened = min(w.arrival for w in view.waiting)
    if policy.window_starts_at == "pickup":
        opened = max(opened, view.free_since)
    deadline = opened + policy.max_queue_delay
    if view.now >= deadline:
        return Admit(batch, Reason.WINDOW_OVER)
    if deadline == view.next_arrival == math.inf:
        return Admit(batch, Reason.NOTHING_MORE_ARRIVES)
    return Wait(min(deadline, view.next_arrival), Reason.WINDOW_OPEN)


def _who_fits(policy: Policy, view: View) -> tuple[tuple[Waiting, ...], Reason]:
    """Those who could leave now, in queue order, and what kept the next one out.

    With refill, one that does not fit may be passed by a later one that does; a batch that nobody can
    join later takes the front of the queue only.
    """
    chosen: list[Waiting] = []
    stopped_by = Reason.NOBODY_WAITS
    kv_used, tokens_left = 0, policy.max_num_batched_tokens - view.live
    for candidate in view.waiting:
        if len(chosen) == view.seats_free:
            return tuple(chosen), Reason.SEATS_FULL
        needed = (
            padded_reservation([*chosen, candidate]) if policy.padded else kv_used + ragged_reservation(candidate)
        )
        if needed > view.kv_free:
            stopped_by = Reason.MEMORY_FULL
            if not policy.refill or view.now - candidate.arrival > policy.overtake_limit:
                break
        elif policy.refill and chosen and candidate.prompt_tokens > tokens_left:
            stopped_by = Reason.TOKENS_FULL
        else:
            chosen.append(candidate)
            kv_used = needed
            tokens_left -= candidate.prompt_tokens
    if len(chosen) == view.seats_free:
        stopped_by = Reason.SEATS_FULL
    return tuple(chosen), stopped_by
