"""The engine's own process: `python -m lab.run.host` owns model and device and runs one job at a time.

It reads commands from stdin, writes reports to stdout, and ends when stdin closes, so that nothing is left
behind on a device. What a job does wrong becomes one sentence in a report; the host goes on. It knows no
visitors and no queue: whoever starts it sends one job after the other.

Measuring must not be disturbed by telling: one thread reads and otherwise sleeps in the kernel, reports are
written between steps by the thread that steps, and columns are sent in chunks.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, Protocol

from lab.run.frames import FrameError, read_frame
from lab.run.messages import (
    Cancel,
    Command,
    Load,
    Run,
    command_from_json,
)

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

CHUNK_SECONDS = 0.05


class Loader(Protocol):
    """Brings an engine to life; `on_progress(phase, done, total)` hears how far it is."""

    def __call__(self, load: Load, on_progress: Callable[[str, int, int], None], /) -> Engine: ...


class Host:
    """Carries out commands in the thread that calls `serve`."""

    def __init__(self, commands: BinaryIO, reports: BinaryIO, load: Loader) -> None:
        self._pipe_in = commands
        self._pipe_out = reports
        self._load = load
        self._engine: Engine | None = None
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._wanted: set[str] = set()  # jobs that came and were neither cancelled nor ended

    def serve(self, at_end: Callable[[], None] = lambda: None) -> None:
        """Until stdin closes; then the reading thread calls `at_end`, even in the middle of a job."""
        threading.Thread(target=self._read, args=(at_end,), name="commands", daemon=True).start()
        while (command := self._commands.get()) is not None:
            if isinstance(command, Load):
                self._carry_out_load(command)
            elif isinstance(command, Run):
                self._carry_out_run(command)

    def _read(self, at_end: Callable[[], None]) -> None:
        try:
            while True:
                self._take(read_frame(self._pipe_in))
        except (EOFError, FrameError):
            self._wanted.clear()
            self._commands.put(None)
            at_end()

    def _take(self, value: object) -> None:
        try:
            command = command_from_json(value)
        except ValueError as error:
            if isinstance(value, list) and value[:1] == ["run"]:
                self._commands.put(Run(str(value[1]), error))  # type: ignore[arg-type]
            return
        if isinstance(command, Cancel):
            self._wanted.discard(command.job)
            return
        if isinstance(command, Run):
            self._wanted.add(command.job)
        self._commands.put(command)
