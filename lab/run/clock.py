"""Two environments for a lane: virtual waiting (the rule) and real waiting (to check the rule).

Virtual: a step moves the clock by its measured seconds, waiting moves it without sleeping.
Real: the wall clock says what time it is, and waiting sleeps; everything between steps counts too.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since the start of the lane's run."""

    def after_step(self, now: float, seconds: float) -> float:
        """The time after a step that began at `now` and was measured to take `seconds`."""
        ...

    def wait(self, now: float, until: float) -> float:
        """The time after waiting; never before `until`."""
        ...


class VirtualClock:
    def after_step(self, now: float, seconds: float) -> float:
        return now + seconds

    def wait(self, now: float, until: float) -> float:
        return max(now, until)


class RealClock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._origin = time.perf_counter()

    def after_step(self, now: float, seconds: float) -> float:
        return time.perf_counter() - self._origin

    def wait(self, now: float, until: float) -> float:
        while (left := until - (time.perf_counter() - self._origin)) > 0:
            time.sleep(left)
        return time.perf_counter() - self._origin
