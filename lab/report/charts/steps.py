"""Step functions as the points of a line: as many as a screen can show. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lab.analysis.series import Series

MOST_POINTS = 2000  # of a line: more than a screen has columns


def thinned(series: Series, end: float, scale: float = 1.0) -> tuple[list[float], list[float]]:
    """A step function from 0 to `end`, values × `scale`; of a long one, in each of many short times, the first, the
    lowest, the highest and the last step: the picture is the same."""
    points = list(zip(series.times, series.values, strict=True))
    if len(points) > MOST_POINTS:
        size = -(-4 * len(points) // MOST_POINTS)
        kept: set[int] = set()
        for start in range(0, len(points), size):
            part = range(start, min(start + size, len(points)))
            kept |= {
                part[0],
                part[-1],
                min(part, key=lambda i: points[i][1]),
                max(part, key=lambda i: points[i][1]),
            }
        points = [points[i] for i in sorted(kept)]
    x, y = [0.0, *(t for t, _ in points)], [0.0, *(v * scale for _, v in points)]
    return short([*x, max(end, x[-1])]), [*y, y[-1]]


def short(times: Sequence[float]) -> list[float]:
    """Seconds to ten microseconds, which no screen shows."""
    return [round(t, 5) for t in times]
