"""Who runs next: the one function that decides, from a policy's knobs, for every mode.

`decide` sees a View and answers Admit, Decode or Wait, each with its reason. It refuses to know
output lengths, tokens, devices and how long anything takes.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from lab.scheduling.memory import padded_reservation, ragged_reservation
from lab.scheduling.order import Waiting, in_buckets, nearest_first, ranked
from lab.scheduling.policy import Policy
from lab.scheduling.three_lists import turn


class Reason(StrEnum):
    """Why a decision was taken."""

    BATCH_FULL = "batch_full"  # every seat is taken by the requests that leave
    WINDOW_OVER = "window_over"  # the oldest has waited max_queue_delay
    NO_WINDOW = "no_window"  # max_queue_delay is 0: whoever waits leaves at once
    NOTHING_MORE_ARRIVES = "nothing_more_arrives"  # an endless window, and nobody to wait for
    FEW_ENOUGH = "few_enough"  # fewer than run_at_once_below wait
    BUCKET_LATE = "bucket_late"  # a bucket has waited bucket_wait_limit; nobody else waits to fill its seats
    BUCKET_MERGED = "bucket_merged"  # a bucket has waited bucket_wait_limit; others took the seats it left empty
    SEAT_FREE = "seat_free"  # a seat of the running batch was free
    MEMORY_FULL = "memory_full"  # the next in the queue does not fit the KV budget
    TOKENS_FULL = "tokens_full"  # the next in the queue does not fit max_num_batched_tokens
    SEATS_FULL = "seats_full"  # the running batch has no free seat
    BATCH_RUNS = "batch_runs"  # the running batch takes nobody in before its end
    NOBODY_WAITS = "nobody_waits"
    WINDOW_OPEN = "window_open"  # more may still come within max_queue_delay


class View(NamedTuple):
    """What a policy sees of a lane and one of its groups at one moment; times in seconds.

    waiting       arrived and not yet admitted, in order of arrival; not to be changed
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
    if not view.seats_free:
        return Decode(Reason.SEATS_FULL)
    if policy.three_lists:
        return _three_lists(policy, view)
    batch = _next_batch(policy, view)
    if view.batch_open:
        return Admit(batch.requests, Reason.SEAT_FREE) if batch.requests else Decode(batch.stopped_by)
    return _leave_or_wait(policy, view, batch)


def _three_lists(policy: Policy, view: View) -> Decision:
    found = turn(policy.order.boundaries, view.seats_free, policy.max_queue_delay, view.waiting, view.now)
    if not found.requests:
        return Wait(min(found.until, view.next_arrival), Reason.WINDOW_OPEN)
    requests, _ = _who_fits(policy, view, found.requests)
    return Admit(requests, Reason.BATCH_FULL if found.full else Reason.WINDOW_OVER)


class _Batch(NamedTuple):
    """Those who could leave now.

    stopped_by  what keeps the next one out; NOBODY_WAITS: there is no next one
    late_at     when a bucket is so late that it leaves alone or merged (seconds)
    merged      others than its bucket's have joined
    """

    requests: tuple[Waiting, ...]
    stopped_by: Reason
    late_at: float = math.inf
    merged: bool = False


def _next_batch(policy: Policy, view: View) -> _Batch:
    """A late bucket goes first, filled up from its neighbours; then a full one; then the most urgent request's.

    With refill no bucket leaves as one: buckets only order those who wait, and no seat is held back for any.
    """
    ranks = ranked(policy.order, view.waiting, view.now)
    buckets = in_buckets(policy.order, ranks)
    if policy.refill or not policy.order.boundaries:
        return _Batch(*_who_fits(policy, view, nearest_first(policy.order, ranks, next(iter(buckets)))))
    late_at = {b: min(w.arrival for w in own) + policy.bucket_wait_limit for b, own in buckets.items()}
    late = next((b for b in buckets if late_at[b] <= view.now), None)
    if late is not None:
        requests, stopped_by = _who_fits(policy, view, nearest_first(policy.order, ranks, late))
        return _Batch(requests, stopped_by, late_at[late], len(requests) > len(buckets[late]))
    unmixed = [_Batch(*_who_fits(policy, view, own), min(late_at.values())) for own in buckets.values()]
    return next((batch for batch in unmixed if batch.stopped_by is not Reason.NOBODY_WAITS), unmixed[0])


def _leave_or_wait(policy: Policy, view: View, batch: _Batch) -> Decision:
    """The device is free: does the batch leave now?"""
    requests, stopped_by, late_at, merged = batch
    if merged:
        return Admit(requests, Reason.BUCKET_MERGED)
    if stopped_by is not Reason.NOBODY_WAITS:
        return Admit(requests, Reason.BATCH_FULL if stopped_by is Reason.SEATS_FULL else stopped_by)
    if policy.max_queue_delay == 0:
        return Admit(requests, Reason.NO_WINDOW)
    if len(view.waiting) < policy.run_at_once_below:
        return Admit(requests, Reason.FEW_ENOUGH)
    opened = min(w.arrival for w in view.waiting)
    if policy.window_starts_at == "pickup":
        opened = max(opened, view.free_since)
    deadline = opened + policy.max_queue_delay
    if view.now >= deadline:
        return Admit(requests, Reason.WINDOW_OVER)
    if view.now >= late_at:
        return Admit(requests, Reason.BUCKET_LATE)
    if deadline == view.next_arrival == math.inf:
        return Admit(requests, Reason.NOTHING_MORE_ARRIVES)
    return Wait(min(deadline, view.next_arrival, late_at), Reason.WINDOW_OPEN)


def _who_fits(policy: Policy, view: View, line: Collection[Waiting]) -> tuple[tuple[Waiting, ...], Reason]:
    """Those of the line who could leave now, in its order, and what kept the next one out.

    With refill, one that does not fit may be passed by a later one that does; a batch that nobody can
    join later takes the front of the line only.
    """
    chosen: list[Waiting] = []
    stopped_by = Reason.NOBODY_WAITS
    kv_used, tokens_left = 0, policy.max_num_batched_tokens - view.live
    for candidate in line:
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
