"""Progress on stderr: one line that is rewritten on a terminal, one line a phase elsewhere."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

from tqdm import tqdm

from lab.run.job import Event, Progress

_UNITS = {"download": "B", "convert": "B", "load": "B", "running": " answers", "lengths": " answers"}


class ProgressLine:
    """A bar for the phase at hand; `phase` and `event` may be called as often as one likes."""

    def __init__(self) -> None:
        self._bar: tqdm[None] | None = None
        self._phase = ""
        self._held = ExitStack()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()
        self._held.close()

    def hold(self, block: AbstractContextManager[None]) -> None:
        """Enter it now, and leave it when the work that this line shows is over."""
        self._held.enter_context(block)

    def event(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.phase(*event)

    def phase(self, phase: str, done: int, total: int) -> None:
        if phase != self._phase:
            self._close()
            self._phase = phase
            if not sys.stderr.isatty():
                print(f"{phase} …", file=sys.stderr, flush=True)
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            unit = _UNITS.get(phase, "")
            self._bar = tqdm(total=total or None, desc=phase, unit=unit, unit_scale=unit == "B", leave=False)
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None
