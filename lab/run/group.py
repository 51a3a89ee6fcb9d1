"""One replica of the model inside a lane: its seats, its KV ledger, its clock. A batch stays on its group."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from lab.engine.step import Row
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

    def take(self, tokens: list[int], steps: int) -> None:
        """Book `steps` computed steps; `tokens` are those emitted, none where they are only predicted."""
        self.past += steps if self.past else self.request.prompt_tokens + steps - 1
        if tokens:
            self.last = tokens[-1]
        if self.live:
            self.emitted += steps


class Group:
    """The seats of one replica. Slots are `first_slot`, `first_slot` + 1, …; the lowest free one is taken."""

    def __init__(self, index: int, first_slot: int, slots: int, kv_budget: int) -> None:
        self.index = index
        self.seats: list[Seat] = []
        self.ledger = Ledger(kv_budget)
        self.clock = 0.0
        self.wakes = 0.0  # when it acts next: its clock while a batch runs, later while it waits
        self.free_since = 0.0
        self._free_slots = list(range(first_slot, first_slot + slots))

    @property
    def live(self) -> int:
        return sum(seat.live for seat in self.seats)

    def seat(self, requests: list[Request], padded: bool) -> None:
        """Give each request a slot and reserve its KV room: its own, or its row of the rectangle."""
        width = max(r.prompt_tokens for r in requests)
        row = padded_reservation(requests) // len(requests)
        for request in requests:
            self.ledger.reserve(request.id, row if padded else ragged_reservation(request))
            slot = heapq.heappop(self._free_slots)
            self.seats.append(Seat(slot, request, width if padded else request.prompt_tokens))

    def finish(self, seat: Seat, padded: bool) -> None:
        """Its last token is out. A row of a rectangle keeps its KV room until the batch ends."""
        seat.live = False
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
