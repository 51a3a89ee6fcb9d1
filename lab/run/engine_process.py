"""The page's end of the pipe: starts the engine's process, hands its reports on, says when it has ended."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from lab.run.frames import FrameError, read_frame, write_frame
from lab.run.messages import Command, Report, command_to_json, report_from_json

HOST = (sys.executable, "-m", "lab.host")
_PROJECT = Path(__file__).resolve().parents[2]
_PATIENCE = 2.0  # seconds a closed process has to end by itself


class Link(Protocol):
    """A way to an engine; a process, or a fake in tests."""

    def send(self, command: Command) -> None: ...

    def close(self) -> None: ...


class Listener(Protocol):
    """Whoever is told what comes through a link. Called from the link's own thread."""

    def hear(self, link: Link, report: Report) -> None: ...

    def ended(self, link: Link, sentence: str) -> None: ...


Start = Callable[[Listener], Link]


class EngineProcess:
    """A running engine process. `command` is its command line."""

    def __init__(self, listener: Listener, command: Sequence[str] = HOST) -> None:
        path = os.pathsep.join(filter(None, [str(_PROJECT), os.environ.get("PYTHONPATH", "")]))
        self._listener = listener
        # A session of its own: Ctrl-C ends the page, and the closing pipe then ends the engine.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        threading.Thread(target=self._read, name="engine reports", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, command: Command) -> None:
        assert self._process.stdin is not None
        try:
            write_frame(self._process.stdin, command_to_json(command))
        except (OSError, ValueError):  # it is gone, or going; the reading thread will say so
            return

    def close(self) -> None:
        """Close its stdin, which ends it; kill it where that is not enough."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        broken = ""
        try:
            while True:
                self._listener.hear(self, report_from_json(read_frame(self._process.stdout)))
        except EOFError:
            pass
        except (FrameError, ValueError) as error:
            broken = f"it sent something that is no report ({error})"
            self._process.kill()
        code = self._process.wait()
        self._listener.ended(self, broken or _why(code))


def _why(code: int) -> str:
    if code == -9:
        return "the system killed it, most likely because memory ran out"
    if code < 0:
        return f"signal {-code} ended it"
    return f"it ended with code {code}"
