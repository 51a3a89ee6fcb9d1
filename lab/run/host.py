"""The engine's own process: it owns model and device and runs one job at a time. Started by lab.host.

It reads commands from stdin, writes reports to stdout, and ends when stdin closes, so that nothing is left
behind on a device. What a job does wrong becomes one sentence in a report; the host goes on. It knows no
visitors and no queue: whoever starts it sends one job after the other. Told to, it measures what steps take while
there is no job; the next command drops that within a step.

Measuring must not be disturbed by telling: one thread reads and otherwise sleeps in the kernel, and reports
are written between steps, in chunks, by the thread that steps.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from statistics import median
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from lab.run.calibration import Calibration, keep, kept_of
from lab.run.frames import FrameError, read_frame, write_frame
from lab.run.job import REFERENCE_STEPS, Cancelled, run_job
from lab.run.lanes import RunSpec, free_bytes
from lab.run.measuring import measuring
from lab.run.messages import (
    Calibrate,
    Calibrated,
    Calibrating,
    Freed,
    JobCancelled,
    JobEvent,
    JobFailed,
    Load,
    LoadFailed,
    Loading,
    Memory,
    NotCalibrated,
    Ready,
    Report,
    Run,
    command_from_json,
    report_to_json,
)
from lab.run.outbox import Outbox

if TYPE_CHECKING:
    from lab.engine.loaded import Engine
    from lab.engine.progress import Progress


class Loader(Protocol):
    """Brings an engine to life; `on_progress(phase, done, total)` hears how far it is."""

    def __call__(self, load: Load, on_progress: Progress, /) -> Engine: ...


class Calibrator(Protocol):
    """Measures what this engine's steps take; `on_progress` is called before each and may raise."""

    def __call__(self, engine: Engine, on_progress: Progress, /) -> Calibration: ...


class Host:
    """Carries out commands in the thread that calls `serve`."""

    def __init__(self, commands: BinaryIO, reports: BinaryIO, load: Loader, calibrate: Calibrator) -> None:
        self._pipe_in = commands
        self._pipe_out = reports
        self._load = load
        self._calibrate = calibrate
        self._engine: Engine | None = None
        self._commands: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._wanted: set[str] = set()  # jobs that came and were neither cancelled nor ended

    def serve(self, at_end: Callable[[], None]) -> None:
        """Until stdin closes; then the reading thread calls `at_end`, even in the middle of a job."""
        threading.Thread(target=self._read, args=(at_end,), name="commands", daemon=True).start()
        while (value := self._commands.get()) is not None:
            self._carry_out(value)

    # ---- the reading thread

    def _read(self, at_end: Callable[[], None]) -> None:
        try:
            while True:
                self._take(read_frame(self._pipe_in))
        except (EOFError, FrameError):
            self._wanted.clear()
            self._commands.put(None)
            at_end()

    def _take(self, value: Any) -> None:
        """A cancellation acts at once; everything else waits its turn."""
        match value:
            case ["cancel", str(job)]:
                self._wanted.discard(job)
                return
            case ["run", str(job), _]:
                self._wanted.add(job)
        self._commands.put(value)

    # ---- the working thread

    def _carry_out(self, value: Any) -> None:
        job = value[1] if isinstance(value, list) and value[:1] == ["run"] else None
        try:
            command = command_from_json(value)
            if isinstance(command, Load):
                self._carry_out_load(command)
            elif isinstance(command, Run):
                self._carry_out_run(command.job, command.spec)
            elif isinstance(command, Calibrate):
                self._carry_out_calibrate()
        except Cancelled:
            self._report(JobCancelled(str(job)))
        except Exception as error:
            if not isinstance(error, ValueError):
                traceback.print_exc()
            sentence = sentence_of(error)
            self._report(LoadFailed(sentence) if job is None else JobFailed(job, sentence))
        finally:
            self._wanted.discard(str(job))

    def _carry_out_load(self, load: Load) -> None:
        self._engine = None
        gc.unfreeze()
        gc.collect()  # two models at once may not fit
        engine = self._load(load, lambda phase, done, total: self._report(Loading(phase, done, total)))
        self._engine = engine
        gc.collect()
        gc.freeze()  # the model's many objects are never garbage; a later collection need not visit them
        folder = str(engine.folder or "")
        memory = Memory(engine.shape, engine.weight_bytes, free_bytes(engine))
        self._report(Ready(engine.model, engine.device, engine.dtype, engine.threads, folder, memory))
        if (known := kept_of(engine.fingerprint, engine.device, engine.threads)) is not None:
            self._report(Calibrated(known))

    def _carry_out_calibrate(self) -> None:
        """What was kept is good as long as the machine is as fast as it was then."""
        try:
            with measuring():
                found = self._calibration()
            self._report(Calibrated(found))
        except Cancelled:
            self._report(NotCalibrated(""))
        except Exception as error:
            traceback.print_exc()
            self._report(NotCalibrated(sentence_of(error)))

    def _calibration(self) -> Calibration:
        engine = self._loaded()
        known = kept_of(engine.fingerprint, engine.device, engine.threads)
        if known is not None and not known.stale(self._reference_step(engine)):
            return known
        found = self._calibrate(engine, lambda phase, done, total: self._let_others_first(done, total))
        if known is not None and not found.replaces(known):
            return known
        with suppress(OSError):  # then it is measured again next time
            keep(found)
        return found

    def _reference_step(self, engine: Engine) -> float:
        """Seconds; one step at a time, so that others need not wait."""
        seconds: list[float] = []
        for done in range(REFERENCE_STEPS):
            self._let_others_first(done, REFERENCE_STEPS)
            seconds += engine.executor.reference_steps(1)
        return median(seconds)

    def _let_others_first(self, done: int, total: int) -> None:
        if not self._commands.empty():
            raise Cancelled("a command goes first")
        self._report(Calibrating(done, total))

    def _loaded(self) -> Engine:
        if self._engine is None:
            raise ValueError("no model is loaded")
        return self._engine

    def _carry_out_run(self, job: str, spec: RunSpec) -> None:
        engine = self._loaded()
        outbox = Outbox(lambda event: self._report(JobEvent(job, event)))
        try:
            with measuring():
                run_job(spec, engine, outbox.put, stopped=lambda: job not in self._wanted)
        finally:
            self._report(Freed(free_bytes(engine)))

    def _report(self, report: Report) -> None:
        write_frame(self._pipe_out, report_to_json(report))


def sentence_of(error: Exception) -> str:
    """One sentence for a visitor, without its full stop; the traceback went to stderr."""
    text = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return "the device ran out of memory; try fewer requests, a smaller batch or a smaller KV budget"
    if isinstance(error, (ValueError, OSError)) and text:
        return text
    return f"the engine made a mistake ({type(error).__name__}{': ' if text else ''}{text[:300]})"


def _own_stdout() -> BinaryIO:
    """The pipe to the page, for frames alone; whatever else is printed, also by C code, goes to stderr."""
    frames = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return frames


def run_host(load: Loader, calibrate: Calibrator) -> None:
    """Serve this process's stdin and stdout until stdin closes."""
    Host(sys.stdin.buffer, _own_stdout(), load, calibrate).serve(at_end=lambda: os._exit(0))
