"""Progress through many scenes on stderr: which of how many is run, and about how long the others will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


class SceneProgress:
    """A line for each scene that begins. `clock` gives seconds."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._clock = total, clock
        self._begun, self._start = 0, clock()

    def begin(self, name: str) -> None:
        """The scene that was at work until now is done, and this one begins."""
        line = f"scene {self._begun + 1} of {self._total}: {name}"
        if self._begun:
            each = (self._clock() - self._start) / self._begun
            line += f"; about {_told(each * (self._total - self._begun))} to go"
        self._begun += 1
        print(line, file=sys.stderr, flush=True)


def _told(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
