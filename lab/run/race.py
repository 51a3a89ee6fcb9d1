"""Lanes side by side on one device: always the one furthest behind acts next.

So the lanes advance together on one time axis and share the machine's noise fairly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.run.lane import Lane


def race(lanes: Sequence[Lane]) -> Iterator[Lane]:
    """Run the lanes to their ends; yields after every decision the lane that took it."""
    while not (lane := min(lanes, key=lambda x: x.time)).done:
        lane.advance()
        yield lane


def to_the_end(lanes: Sequence[Lane]) -> None:
    """The whole race, for those who look at its record only."""
    for _ in race(lanes):
        pass
