"""Many visitors, one device: a queue in front of the engine, and what each visitor may know of it.

One `Device` per page process. Runs wait in line, one is at work, each visitor (*owner*) has at most one. A run on
another model than the last has it loaded when its turn comes. What nobody looks at any more is cancelled. When the
engine process dies, its run fails with a sentence and a fresh process takes over. Knows no screen and no torch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from lab.run.calibrating import Calibrations
from lab.run.calibration import Calibration
from lab.run.column_log import ColumnLog, Mark
from lab.run.engine_process import EngineProcess, Link, Start
from lab.run.engine_side import EngineSide, EngineState
from lab.run.expect import work_of
from lab.run.job import Event, Finished, Grown, Progress, Started
from lab.run.lanes import RunSpec
from lab.run.line import Job, Line, State, Why
from lab.run.look import Expectation, Look, look_at
from lab.run.messages import (
    Calibrate,
    Calibrated,
    Calibrating,
    Cancel,
    Freed,
    JobCancelled,
    JobEvent,
    JobFailed,
    Load,
    LoadFailed,
    Loading,
    NotCalibrated,
    Ready,
    Report,
    Run,
)
from lab.run.record import Columns

TICK = 1.0  # seconds between two looks of the reaper


class Device:
    """The one device that all visitors of this process share. Every method may be called from any thread."""

    def __init__(self, load: Load, start: Start = EngineProcess, now: Callable[[], float] = time.monotonic) -> None:
        """`start` makes the link to an engine, which is told to `load`, and later to load the same with the model
        that a run asks for; `now` is a clock in seconds."""
        self._now = now
        self._lock = threading.RLock()
        self._line = Line()
        self._engine = EngineSide(load, start)
        self._calibrations = Calibrations(now())
        self._closed = threading.Event()
        self._reaped = now()
        with self._lock:
            self._start_engine()
        threading.Thread(target=self._tick, name="reaper", daemon=True).start()

    # ---- for visitors

    @property
    def engine(self) -> EngineState:
        return self._engine.state

    @property
    def model(self) -> str:
        """Of runs that name none."""
        return self._engine.usual_model

    def submit(self, spec: RunSpec, owner: str) -> str:
        """Put a run in line, in place of the owner's earlier one; its id. ValueError where the line is too long."""
        with self._lock:
            for earlier in self._line:
                if earlier.owner == owner:
                    self._stop(earlier, Why.REPLACED)
            job = self._line.join(spec, owner, self._now())
            self._next()
            return job.id

    def cancel(self, job_id: str) -> None:
        with self._lock:
            if (job := self._line.find(job_id)) is not None:
                self._stop(job, Why.ASKED)

    def look(self, job_id: str) -> Look | None:
        """How a run stands; None where it is unknown or forgotten. Being looked at keeps it alive."""
        with self._lock:
            if (job := self._line.find(job_id)) is None:
                return None
            job.seen = self._now()
            return look_at(job, self._line.place(job))

    def measured(self, spec: RunSpec) -> dict[str, str]:
        """Lanes that need not be run again: policy name -> id of the run, by whomever, that measured it."""
        with self._lock:
            return {name: job.id for name, job in self._line.measured(spec).items()}

    def expect(self, spec: RunSpec, *, afresh: bool = False) -> Expectation | None:
        """None while nothing has finished here yet, or where nothing of it needs to be run. `afresh`: lanes that
        are known are run again, too."""
        with self._lock:
            price, known = self._line.price(spec.model), {} if afresh else self._line.measured(spec)
            missing = tuple(p for p in spec.policies if p.name not in known)
            if price is None or not missing:
                return None
            run = price * work_of(replace(spec, policies=missing))
            return Expectation(self._line.seconds_ahead(self._now(), price), run)

    def since(self, job_id: str, marks: Sequence[Mark] = ()) -> tuple[Columns, ...] | None:
        """What each lane has grown by since `marks` were its `Mark`s (from its beginning where there are none);
        empty before the lanes have started, None where the run is unknown. Being asked keeps it alive."""
        with self._lock:
            if (job := self._line.find(job_id)) is None:
                return None
            job.seen = self._now()
            return job.since(marks)

    def calibration(self, model: str = "") -> Calibration | None:
        """What predictions of a model stand on; None as long as it has not been measured on this machine."""
        with self._lock:
            return self._calibrations.of(model or self.model)

    def calibrated_in(self, model: str = "") -> float | None:
        """Seconds until this model has been measured, if nobody comes first; a guess. None where it is not
        loaded or cannot be measured."""
        with self._lock:
            wanted = model or self.model
            if self.engine.facts is None or self.engine.model != wanted:
                return None
            return self._calibrations.seconds_left(wanted, self._now())

    @property
    def measuring(self) -> bool:
        """Is the engine at work, so that others should leave it the cores?"""
        with self._lock:
            return self._line.at_work is not None or self._calibrations.going_on

    def close(self) -> None:
        """End the engine process. The device is of no use afterwards."""
        self._closed.set()
        with self._lock:
            link = self._engine.let_go()
        if link is not None:
            link.close()

    # ---- what comes from the engine, in its link's thread

    def hear(self, link: Link, report: Report) -> None:
        with self._lock:
            if link is not self._engine.link:
                return
            match report:
                case Loading():
                    self._engine.loading(report)
                case Ready():
                    self._engine.ready(report)
                    self._next()
                case Freed(free_bytes):
                    self._engine.freed(free_bytes)
                case LoadFailed(sentence):
                    self._give_up(sentence)
                case Calibrating():
                    self._calibrations.hear(report)
                case Calibrated(calibration):
                    self._calibrated(calibration)
                case NotCalibrated(sentence):
                    self._not_calibrated(sentence)
                case JobEvent(job_id, event) if job := self._at_work(job_id):
                    self._book(job, event)
                case JobFailed(job_id, sentence) if job := self._at_work(job_id):
                    self._end(job, State.FAILED, Why.REFUSED, sentence)
                case JobCancelled(job_id) if job := self._at_work(job_id):
                    self._end(job, State.CANCELLED, job.stopping)

    def ended(self, link: Link, sentence: str) -> None:
        with self._lock:
            if link is not self._engine.link or self._closed.is_set():
                return
            if self._calibrations.going_on:
                self._calibrations.failed(self._now())
            another = self._engine.died()
            if job := self._line.at_work:
                self._line.end(job, State.FAILED, self._now(), Why.ENGINE_DIED, sentence)
            if another:
                self._start_engine()
            else:
                self._give_up(sentence)

    def _at_work(self, job_id: str) -> Job | None:
        job = self._line.at_work
        return job if job is not None and job.id == job_id else None

    def _book(self, job: Job, event: Event) -> None:
        match event:
            case Progress():
                job.progress = event
            case Started(record):
                job.record = record
                job.logs = [ColumnLog() for _ in record.lanes]
            case Grown(lane, columns):
                job.logs[lane].extend(columns)
            case Finished(record):
                job.record = record
                steps = record.provenance.reference_step_s
                self._calibrations.check(self._model_of(job), steps)
                self._end(job, State.FINISHED)

    # ---- what happens to the engine and the line

    def _start_engine(self) -> None:
        """With the model that is wanted next."""
        first = next(iter(self._line), None)
        self._engine.start(self, self.model if first is None else self._model_of(first))

    def _model_of(self, job: Job) -> str:
        return job.spec.model or self.model

    def _give_up(self, sentence: str) -> None:
        """No such model: all that wait for it fail; the next run that wants it tries again."""
        self._engine.failed(sentence)
        for job in self._line:
            if self._model_of(job) == self.engine.model:
                self._line.end(job, State.FAILED, self._now(), Why.NO_ENGINE, sentence)
        self._next()

    def _next(self) -> None:
        """Put the next run to work, or have its model loaded first."""
        job = self._line.next_up
        if job is None or self.engine.loading is not None or self._closed.is_set():
            return
        if self._engine.link is None:
            self._start_engine()
        elif self.engine.facts is None or self.engine.model != self._model_of(job):
            self._engine.load(self._model_of(job))
        else:
            self._line.start(job, self._now())
            self._engine.send(Run(job.id, job.spec))

    def _stop(self, job: Job, why: Why) -> None:
        if job.state is State.WAITING:
            self._end(job, State.CANCELLED, why)
        elif job.state is State.RUNNING and job.stopping is None and self._engine.link is not None:
            job.stopping = why
            self._engine.send(Cancel(job.id))

    def _end(self, job: Job, state: State, why: Why | None = None, detail: str = "") -> None:
        self._line.end(job, state, self._now(), why, detail)
        self._next()

    # ---- calibration

    def _calibrate_when_idle(self, now: float) -> None:
        if self._engine.link is None or self.engine.facts is None or any(self._line):
            self._calibrations.busy(now)
        elif self._calibrations.due(self.engine.model, now):
            self._calibrations.begin(self.engine.model, now)
            self._engine.send(Calibrate())

    def _calibrated(self, calibration: Calibration) -> None:
        if self._calibrations.going_on:
            self._calibrations.measured(calibration, self._now())
        else:
            self._calibrations.kept(self.engine.model, calibration)

    def _not_calibrated(self, sentence: str) -> None:
        if sentence:
            self._calibrations.failed(self._now())
        else:
            self._calibrations.stop()

    # ---- the reaper

    def reap(self) -> None:
        """Cancel what nobody looks at, forget what ended long ago. Have the engine calibrated
        while it idles. Called once in TICK seconds; where it was not,
        the machine slept or this process was stopped, and nobody could look meanwhile."""
        with self._lock:
            now = self._now()
            slept, self._reaped = now - self._reaped - TICK, now
            if slept > TICK:
                self._line.seen_later(slept)
            for job in self._line.unseen(now):
                self._stop(job, Why.UNSEEN)
            self._line.forget(now)
            self._calibrate_when_idle(now)

    def _tick(self) -> None:
        while not self._closed.wait(TICK):
            self.reap()
