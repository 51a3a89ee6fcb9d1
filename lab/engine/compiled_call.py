"""What was found when a compiled function met a number of rows. Needs no torch: pages show it."""

from __future__ import annotations

from typing import NamedTuple


class CompiledCall(NamedTuple):
    """With so many rows: compilations that the first call set off, its seconds, and those of a later call."""

    rows: int
    compilations: int
    first_s: float
    later_s: float
