"""Many visitors, one device: a queue in front of the engine, and what each visitor may know of it.

One `Device` per page process. Runs wait in line, one is at work, each visitor (*owner*) has at most one. A run on
another model than the last has it loaded when its turn comes. What nobody looks at any more is cancelled. When the
engine process dies, its run fails with a sentence and a fresh process takes over. Knows no screen and no torch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from lab.run.calibrating import Calibrations
from lab.run.calibration import Calibration
from lab.run.column_log import ColumnLog, Mark
from lab.run.engine_process import EngineProcess, Link, Start
from lab.run.expect import work_of
from lab.run.job import Event, Finished, Grown, Progress, Started
from lab.run.lanes import RunSpec
from lab.run.line import Job, Line, State, Why
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
from lab.run.record import Columns, RunRecord

TICK = 1.0  # seconds between two looks of the reaper


@dataclass(frozen=True, slots=True)
class EngineState:
    """Is there a model to run on? `facts` once it is ready; `sentence` where it could not be loaded; `model` is
    the name that it is loaded by."""

    model: str = ""
    loading: Loading | None = None
    facts: Ready | None = None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """Seconds in line and at work that a run may expect if it is submitted now; a guess, see lab.run.expect."""

    wait: float
    run: float


@dataclass(frozen=True, slots=True)
class Look:
    """What a visitor sees of a run at one moment.

    spec      what was asked for
    place     0 at work or over, 1 next in line, …
    stopping  it was asked to stop and has not stopped yet
    why       why it ended early; `detail` is the engine's sentence where it has one
    record    with empty columns from its start on, with all that was measured once it has ended
    """

    job: str
    owner: str
    spec: RunSpec
    state: State
    place: int
    stopping: bool
    progress: Progress | None
    why: Why | None
    detail: str
    record: RunRecord | None

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(policy.name for policy in self.spec.policies)


class Device:
    """The one device that all visitors of this process share. Every method may be called from any thread."""

    def __init__(self, load: Load, start: Start = EngineProcess, now: Callable[[], float] = time.monotonic) -> None:
        """`start` makes the link to an engine, which is told to `load`, and later to load the same with the model
        that a run asks for; `now` is a clock in seconds."""
        self._load = load
        self._start = start
        self._now = now
        self._lock = threading.RLock()
        self._line = Line()
        self._engine = EngineState()
        self._calibrations = Calibrations(now())
        self._link: Link | None = None
        self._deaths = 0  # engine processes in a row that ended before they were ready
        self._closed = threading.Event()
        self._reaped = now()
        with self._lock:
            self._start_engine()
        threading.Thread(target=self._tick, name="reaper", daemon=True).start()

    # ---- for visitors

    @property
    def engine(self) -> EngineState:
        return self._engine

    @property
    def model(self) -> str:
        """Of runs that name none."""
        return self._load.model

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
            stopping = job.stopping is not None and not job.state.over
            place = self._line.place(job)
            return Look(
                job.id,
                job.owner,
                job.spec,
                job.state,
                place,
                stopping,
                job.progress,
                job.why,
                job.detail,
                job.record,
            )

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
            return self._calibrations.of(model or self._load.model)

    def calibrated_in(self, model: str = "") -> float | None:
        """Seconds until this model has been measured, if nobody comes first; a guess. None where it is not
        loaded or cannot be measured."""
        with self._lock:
            wanted = model or self._load.model
            if self._engine.facts is None or self._engine.model != wanted:
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
            link, self._link = self._link, None
        if link is not None:
            link.close()

    # ---- what comes from the engine, in its link's thread

    def hear(self, link: Link, report: Report) -> None:
        with self._lock:
            if link is not self._link:
                return
            match report:
                case Loading():
                    self._engine = replace(self._engine, loading=report)
                case Ready():
                    self._engine, self._deaths = EngineState(self._engine.model, facts=report), 0
                    self._next()
                case Freed(free_bytes) if (facts := self._engine.facts) is not None and facts.memory is not None:
                    memory = facts.memory._replace(free_bytes=free_bytes)
                    self._engine = replace(self._engine, facts=facts._replace(memory=memory))
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
            if link is not self._link or self._closed.is_set():
                return
            self._link = None
            if self._calibrations.going_on:
                self._calibrations.failed(self._now())
            self._deaths = 0 if self._engine.facts else self._deaths + 1
            self._engine = EngineState(self._engine.model)
            if job := self._line.at_work:
                self._line.end(job, State.FAILED, self._now(), Why.ENGINE_DIED, sentence)
            if self._deaths > 1:
                self._give_up(sentence)
            else:
                self._start_engine()

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
        self._link = self._start(self)
        first = next(iter(self._line), None)
        self._tell_to_load(self._link, self._load.model if first is None else self._model_of(first))

    def _tell_to_load(self, link: Link, model: str) -> None:
        self._engine = EngineState(model, loading=Loading("start", 0, 0))
        link.send(replace(self._load, model=model))

    def _model_of(self, job: Job) -> str:
        return job.spec.model or self._load.model

    def _give_up(self, sentence: str) -> None:
        """No such model: all that wait for it fail; the next run that wants it tries again."""
        failed = self._engine.model
        self._engine, self._deaths = EngineState(failed, sentence=sentence), 0
        for job in self._line:
            if self._model_of(job) == failed:
                self._line.end(job, State.FAILED, self._now(), Why.NO_ENGINE, sentence)
        self._next()

    def _next(self) -> None:
        """Put the next run to work, or have its model loaded first."""
        job = self._line.next_up
        if job is None or self._engine.loading is not None or self._closed.is_set():
            return
        if self._link is None:
            self._start_engine()
        elif self._engine.facts is None or self._engine.model != self._model_of(job):
            self._tell_to_load(self._link, self._model_of(job))
        else:
            self._line.start(job, self._now())
            self._link.send(Run(job.id, job.spec))

    def _stop(self, job: Job, why: Why) -> None:
        if job.state is State.WAITING:
            self._end(job, State.CANCELLED, why)
        elif job.state is State.RUNNING and job.stopping is None and self._link is not None:
            job.stopping = why
            self._link.send(Cancel(job.id))

    def _end(self, job: Job, state: State, why: Why | None = None, detail: str = "") -> None:
        self._line.end(job, state, self._now(), why, detail)
        self._next()

    # ---- calibration

    def _calibrate_when_idle(self, now: float) -> None:
        if self._link is None or self._engine.facts is None or any(self._line):
            self._calibrations.busy(now)
        elif self._calibrations.due(self._engine.model, now):
            self._calibrations.begin(self._engine.model, now)
            self._link.send(Calibrate())

    def _calibrated(self, calibration: Calibration) -> None:
        if self._calibrations.going_on:
            self._calibrations.measured(calibration, self._now())
        else:
            self._calibrations.kept(self._engine.model, calibration)

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
