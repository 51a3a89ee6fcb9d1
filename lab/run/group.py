"""Replicas of the model inside a lane: a group has seats and a KV ledger, a crew serves one batch at a time.

A crew is one group, which keeps its requests from first token to last. Or, to see what that costs, all groups at
once: then each batch is scattered over them, and every step ends when the slowest group has ended its part.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lab.engine.step import Executor, Row
from lab.scheduling.memory import Ledger, padded_reservation, ragged_reservation
from lab.workload.request import Request


@dataclass(slots=True)
class Seat:
    """A request at work in a slot.

    past     tokens cached; 0 before its prompt has been computed
    emitted  tokens given out
    last     the token to feed next
    width    what its prompt costs in the rectangle: the longest prompt of a padded batch, else its own
    live     its request has not finished
    """

    slot: int
    request: Request
    width: int
    past: int = 0
    emitted: int = 0
    last: int = 0
    live: bool = True

    def row(self) -> Row:
        if self.past:
            return Row(self.slot, self.request.id, (self.last,), self.past, self.live, 1)
        return Row(self.slot, self.request.id, self.request.prompt_ids, 0, True, self.width)

    def take(self, steps: int, last: int) -> None:
        """Book `steps` computed steps, the last of which gave the token `last`."""
        self.past += steps if self.past else self.request.prompt_tokens + steps - 1
        self.last = last
        if self.live:
            self.emitted += steps


class Home(NamedTuple):
    """Where a group lives: the executor of its device, and its first slot there."""

    executor: Executor
    first_slot: int


class Group:
    """The seats of one replica. Slots are its home's first, the next, …; the lowest free one is taken."""

    def __init__(self, index: int, home: Home, slots: int, kv_budget: int) -> None:
        self.index = index
        self.executor = home.executor
        self.seats: list[Seat] = []
        self.live = 0  # seats of the unfinished
        self.ledger = Ledger(kv_budget)
        self._free_slots = list(range(home.first_slot, home.first_slot + slots))

    def seat(self, requests: Sequence[Request], padded: bool) -> None:
        """Give each request a slot and reserve its KV room: its own, or its row of the rectangle."""
        width = max(r.prompt_tokens for r in requests)
        row = padded_reservation(requests) // len(requests)
        for request in requests:
            self.ledger.reserve(request.id, row if padded else ragged_reservation(request))
            slot = heapq.heappop(self._free_slots)
            self.seats.append(Seat(slot, request, width if padded else request.prompt_tokens))
        self.live += len(requests)

    def finish(self, seat: Seat, padded: bool) -> None:
        """Its last token is out. A row of a rectangle keeps its KV room until the batch ends."""
        seat.live = False
        self.live -= 1
        if not padded:
            self.ledger.give_back(seat.request.id)

    def empty(self, padded: bool) -> list[int]:
        """Free the seats of all that have finished; returns the slots that hold nothing any more."""
        gone = [seat for seat in self.seats if not seat.live]
        self.seats = [seat for seat in self.seats if seat.live]
        for seat in gone:
            if padded:
                self.ledger.give_back(seat.request.id)
            heapq.heappush(self._free_slots, seat.slot)
        return [seat.slot for seat in gone]


class Crew:
    """Groups that serve a batch together, on one clock (seconds).

    wakes       when it acts next: its clock while a batch runs, later while it waits
    free_since  when it last had nothing to compute
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self.groups = groups
        self.clock = 0.0
        self.wakes = 0.0
        self.free_since = 0.0

    @property
    def seated(self) -> int:
        return sum(len(group.seats) for group in self.groups)

    @property
    def live(self) -> int:
        return sum(group.live for group in self.groups)

    @property
    def kv_free(self) -> int:
        """Tokens that a batch may reserve wherever its requests come to lie: what the fullest group has left."""
        return min(group.ledger.free for group in self.groups)

    def seat(self, requests: Sequence[Request], padded: bool) -> None:
        """Deal the requests out, each to the group with the fewest at work; a padded part is its own rectangle."""
        parts: list[list[Request]] = [[] for _ in self.groups]
        for request in requests:
            at_work = [len(group.seats) + len(part) for group, part in zip(self.groups, parts, strict=True)]
            parts[at_work.index(min(at_work))].append(request)
        for group, part in zip(self.groups, parts, strict=True):
            if part:
                group.seat(part, padded)
