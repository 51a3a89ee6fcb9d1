"""Sends a job's events in chunks, at most about twenty a second, so that telling costs the run little.

Order is kept: what starts or ends a phase is sent at once, after all that was held back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields
from itertools import chain

from lab.run.job import Event, Grown, Progress
from lab.run.record import Columns

CHUNK_SECONDS = 0.05


class Outbox:
    """Holds growth and progress back until `seconds` have passed since the last sending.

    `now` is a clock in seconds; it paces the sending and never reaches a record.
    """

    def __init__(
        self,
        send: Callable[[Event], None],
        seconds: float = CHUNK_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._seconds = seconds
        self._now = now
        self._sent_at = now() - seconds
        self._grown: dict[int, list[Columns]] = {}
        self._progress: Progress | None = None
        self._phase = ""

    def put(self, event: Event) -> None:
        if isinstance(event, Grown):
            self._grown.setdefault(event.lane, []).append(event.columns)
        elif isinstance(event, Progress):
            self._progress = event
            if event.phase != self._phase:
                self._phase = event.phase
                self.flush()
        else:
            self.flush()
            self._send(event)
        if self._now() - self._sent_at >= self._seconds:
            self.flush()

    def flush(self) -> None:
        """Send all that is held back."""
        for lane, chunks in self._grown.items():
            self._send(Grown(lane, _joined(chunks)))
        if self._progress is not None:
            self._send(self._progress)
        self._grown, self._progress, self._sent_at = {}, None, self._now()


def _joined(chunks: list[Columns]) -> Columns:
    return Columns(*(tuple(chain.from_iterable(getattr(c, f.name) for c in chunks)) for f in fields(Columns)))
