"""KV-cache room in tokens: what a batch must reserve, and a ledger that never overdraws.

Counts tokens, not bytes: bytes per token are the model's affair. Knows no device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Sized(Protocol):
    @property
    def prompt_tokens(self) -> int: ...

    @property
    def max_new_tokens(self) -> int: ...


def ragged_reservation(request: Sized) -> int:
    """Tokens one request may come to hold: its prompt and the longest answer it accepts."""
    return request.prompt_tokens + request.max_new_tokens


def padded_reservation(batch: Sequence[Sized]) -> int:
    """Tokens of the rectangle: every row as long as the longest prompt and the longest answer."""
    if not batch:
        return 0
    return len(batch) * (max(r.prompt_tokens for r in batch) + max(r.max_new_tokens for r in batch))


class Ledger:
    """Who has reserved how many tokens of a budget. Every reservation is given back exactly once."""

    def __init__(self, budget: int) -> None:
        if budget < 1:
            raise ValueError(f"the KV budget is {budget} tokens; it must be at least 1")
        self.budget = budget
        self.reserved = 0
        self._held: dict[int, int] = {}

    @property
    def free(self) -> int:
        return self.budget - self.reserved

    def reserve(self, holder: int, tokens: int) -> None:
        assert holder not in self._held, f"request {holder} holds a reservation already"
        assert tokens <= self.free, f"{tokens} tokens asked, {self.free} free"
        self._held[holder] = tokens
        self.reserved += tokens

    def give_back(self, holder: int) -> None:
        self.reserved -= self._held.pop(holder)

    def check(self) -> None:
        """Nothing lost, nothing overdrawn."""
        assert self.reserved == sum(self._held.values()) <= self.budget
