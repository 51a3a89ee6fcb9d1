"""The growing columns of a lane in progress. Mutable, owned by one lane; readers get frozen slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from lab.engine.step import Outcome, Row
from lab.run.record import Columns
from lab.scheduling.decide import Reason

_NAMES = tuple(f.name for f in fields(Columns))


class Mark(NamedTuple):
    """How much of a log a reader has: entries per run, step, row and token."""

    runs: int = 0
    steps: int = 0
    rows: int = 0
    tokens: int = 0


class ColumnLog:
    def __init__(self) -> None:
        self._lists: dict[str, list[Any]] = {name: [] for name in _NAMES}

    def add(
        self, start: float, group: int, reason: Reason, rows: Sequence[Row], outcome: Outcome, kv_reserved: int
    ) -> None:
        """Append one run of steps."""
        c = self._lists
        c["start"].append(start)
        c["repeat"].append(len(outcome.seconds))
        c["group"].append(group)
        c["reason"].append(reason.value)
        c["cold"].append(outcome.cold)
        c["kernel_padding"].append(outcome.kernel_padding)
        c["kv_reserved"].append(kv_reserved)
        c["rows"].append(len(rows))
        c["seconds"].extend(outcome.seconds)
        slots, requests, ids, pasts, lives, widths = zip(*rows, strict=True)
        c["slot"].extend(slots)
        c["request"].extend(requests)
        c["fed"].extend(map(len, ids))
        c["past"].extend(pasts)
        c["padded_to"].extend(widths)
        c["live"].extend(lives)
        for tokens in outcome.tokens:
            c["token"].extend(tokens)

    def extend(self, columns: Columns) -> None:
        """Append what another log gave out, so that a reader elsewhere can keep the same lane."""
        for name in _NAMES:
            self._lists[name].extend(getattr(columns, name))

    @property
    def mark(self) -> Mark:
        c = self._lists
        return Mark(len(c["start"]), len(c["seconds"]), len(c["slot"]), len(c["token"]))

    def since(self, mark: Mark = Mark()) -> Columns:  # noqa: B008 (a frozen value)
        """The columns added after `mark` was taken; all of them by default."""
        return Columns(*(tuple(self._lists[name][mark[_axis(name)] :]) for name in _NAMES))


def after(columns: Columns, mark: Mark) -> Columns:
    """What whole columns have beyond `mark`: the same as a log that grew to them gives out."""
    return Columns(*(getattr(columns, name)[mark[_axis(name)] :] for name in _NAMES))


def _axis(name: str) -> int:
    """Which of a Mark's counts a column is measured in."""
    if name == "token":
        return 3
    if name in ("slot", "request", "fed", "past", "padded_to", "live"):
        return 2
    return 1 if name == "seconds" else 0
