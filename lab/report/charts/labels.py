"""Where on its line a name stands best: at the point that is farthest from all other lines and names. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

_CANDIDATES = 40
_RIGHTMOST = 0.72  # of the width: further right a name stands to the left of its point

XY = tuple[Sequence[float], Sequence[float]]


class Place(NamedTuple):
    x: float
    y: float
    side: Literal["left", "right"]


def label_places(lines: Sequence[XY]) -> list[Place]:
    """One place for each line (x ascending, steps that go right first); a line must have a point."""
    width = max((max(x) for x, _ in lines), default=1.0) or 1.0
    height = max((max(y) for _, y in lines), default=1.0) or 1.0
    sampled = [_sampled(line, width, height) for line in lines]
    taken: list[tuple[float, float]] = []
    places = []
    for i, own in enumerate(sampled):
        others = [point for k, points in enumerate(sampled) if k != i for point in points]
        best = max(own, key=lambda point: _room(point, others, taken))
        taken.append(best)
        places.append(Place(best[0] * width, best[1] * height, "left" if best[0] > _RIGHTMOST else "right"))
    return places


def _sampled(line: XY, width: float, height: float) -> list[tuple[float, float]]:
    """Points on the line, evenly along x and at its steps, in parts of the plot's width and height."""
    xs, ys = line
    low, high = xs[0], xs[-1]
    at = [low + (high - low) * k / (_CANDIDATES - 1) for k in range(_CANDIDATES)]
    at += [xs[len(xs) * k // _CANDIDATES] for k in range(_CANDIDATES)]
    return [(x / width, ys[max(0, bisect_right(xs, x) - 1)] / height) for x in sorted(at)]


def _room(
    point: tuple[float, float], others: Sequence[tuple[float, float]], taken: Sequence[tuple[float, float]]
) -> float:
    """Distance to the nearest other line, or to half the nearest name: names are wider than lines."""
    lines = min((math.dist(point, other) for other in others), default=1.0)
    names = min((math.dist(point, other) for other in taken), default=2.0)
    return min(lines, names / 2)
