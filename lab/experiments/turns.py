"""Repeats in alternating order, so that nothing always comes first, or always just after the same neighbour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from lab.engine.progress import Progress

T = TypeVar("T")


def orders(items: Sequence[T], repeats: int) -> Iterator[Sequence[T]]:
    """One order for each repeat: forwards, backwards, forwards, …"""
    for repeat in range(repeats):
        yield items if repeat % 2 == 0 else items[::-1]


def in_turns(items: Sequence[T], repeats: int, phase: str, report: Progress) -> Iterator[T]:
    """Every item once a repeat; `report` is told before each of them."""
    for repeat, order in enumerate(orders(items, repeats)):
        for i, item in enumerate(order):
            report(phase, repeat * len(items) + i, repeats * len(items))
            yield item
