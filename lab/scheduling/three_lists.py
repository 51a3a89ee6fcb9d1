"""The scheduler that everyone writes first: three lists by prompt length, looked at as short, medium, long.

A list leaves when it is full or its oldest has waited for the window; if none does, nothing is done. Beside the
lab's own order (lab.scheduling.order) it fails in ways that are worth seeing: a short list that is always full
keeps the long one waiting for ever, nobody looks at priorities, a late list leaves alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import NamedTuple

from lab.scheduling.order import Waiting


class Turn(NamedTuple):
    """`requests` leave now (nobody: empty), `full` or late; else nothing changes by itself before `until` (s)."""

    requests: Sequence[Waiting]
    full: bool
    until: float


def turn(boundaries: tuple[int, ...], seats: int, window: float, waiting: Collection[Waiting], now: float) -> Turn:
    """`waiting` is not empty and in order of arrival; boundaries in prompt tokens, each belongs to the list above
    it: with 128 and 512 the lists are < 128, < 512 and the others."""
    lists: list[list[Waiting]] = [[] for _ in range(len(boundaries) + 1)]
    for w in waiting:
        lists[bisect_right(boundaries, w.prompt_tokens)].append(w)
    for each in lists:
        if len(each) >= seats:
            return Turn(each[:seats], True, now)
        if each and now >= each[0].arrival + window:
            return Turn(each, False, now)
    return Turn((), False, min(each[0].arrival for each in lists if each) + window)
