"""How the numbers of lessons are written: three significant figures and a unit, alike in both languages."""

from __future__ import annotations

import math
from collections.abc import Mapping

from lab.lesson.measures import Unit

SCALES: Mapping[str, float] = {"s": 1, "ms": 1e-3, "tok/s": 1, "req/s": 1, "n": 1, "%": 0.01, "x": 1, "MB": 1e6}
"""Of what a learner may be asked for, in the measure's own unit; "B" is asked for in MB."""


def written(value: float | None, unit: Unit | None) -> str:
    """As "×2.31", "412 ms", "23 %", "8.06 MB"; a dash for what is undefined."""
    if value is None or not math.isfinite(value):
        return "–"
    match unit:
        case "s":
            return f"{figures(value * 1e3)} ms" if abs(value) < 1 else f"{figures(value)} s"
        case "%":
            return f"{figures(value * 100)} %"
        case "x":
            return f"×{figures(value)}"
        case "B":
            return f"{figures(value / 1e6)} MB" if value >= 1e6 else f"{figures(value / 1e3)} KB"
        case "B/s":
            return f"{figures(value / 1e9)} GB/s"
        case "tok/s" | "req/s" | "ms":
            return f"{figures(value)} {unit}"
        case _:
            return figures(value)


def figures(value: float) -> str:
    """Three significant figures; whole numbers whole."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    places = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(places, 4)}f}"
