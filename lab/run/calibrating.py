"""When is the engine to measure itself, and what has it found so far? Told the time; unlocked: a Device owns it.

Runs go first: an engine measures when nobody has been in line for a while, and is dropped by whoever comes. Once a
model has been measured, it is measured anew only when a run's reference steps say that the machine has become
faster or slower, and not too often: on a busy machine they say so all the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from lab.run.calibration import Calibration
from lab.run.messages import Calibrating

IDLE_SECONDS = 4.0  # with nobody in line, until an engine is measured
AGAIN_SECONDS = 600.0  # from one measurement, or failure, until the next
USUAL_SECONDS = 40.0  # that a measurement takes: a guess, until it has begun


class Calibrations:
    """By the name that a model is loaded by."""

    def __init__(self, now: float) -> None:
        self._found: dict[str, Calibration] = {}
        self._tried: dict[str, float] = {}  # when a model was measured, or could not be
        self._settled: set[str] = set()  # models that need not be measured again
        self._model = ""  # that is being measured
        self._idle_since = now
        self._began: float | None = None
        self._progress: Calibrating | None = None

    def of(self, model: str) -> Calibration | None:
        return self._found.get(model)

    @property
    def going_on(self) -> bool:
        return self._began is not None

    # ---- when

    def busy(self, now: float) -> None:
        """Somebody is in line, or a model is being loaded."""
        self._idle_since = now

    def due(self, model: str, now: float) -> bool:
        idle = now - self._idle_since >= IDLE_SECONDS
        return idle and not self.going_on and self._wanted(model, now)

    def _wanted(self, model: str, now: float) -> bool:
        return model not in self._settled and now - self._tried.get(model, -AGAIN_SECONDS) >= AGAIN_SECONDS

    def seconds_left(self, model: str, now: float) -> float | None:
        """Until a model that has not been measured will have been, if nobody comes; None where it will not be."""
        if self._began is None:
            wait = max(0.0, self._idle_since + IDLE_SECONDS - now)
            return wait + USUAL_SECONDS if self._wanted(model, now) else None
        if self._progress is None or not self._progress.done:
            return USUAL_SECONDS
        done, total = self._progress
        return (now - self._began) / done * (total - done)

    # ---- what happens

    def begin(self, model: str, now: float) -> None:
        self._model, self._began, self._progress = model, now, None

    def hear(self, progress: Calibrating) -> None:
        self._progress = progress

    def kept(self, model: str, calibration: Calibration) -> None:
        """From an earlier time; it is to be checked."""
        self._found[model] = calibration

    def measured(self, calibration: Calibration, now: float) -> None:
        """What `begin` began is there, or what was kept is as good."""
        self._found[self._model] = calibration
        self._settled.add(self._model)
        self._tried[self._model] = now
        self.stop()

    def failed(self, now: float) -> None:
        self._tried[self._model] = now
        self.stop()

    def stop(self) -> None:
        """It was dropped: to be taken up again."""
        self._began = self._progress = None

    def check(self, model: str, reference_step_s: Sequence[float]) -> None:
        """A run has measured how fast the machine is."""
        known = self._found.get(model)
        if known is not None and reference_step_s and known.stale(median(reference_step_s)):
            self._settled.discard(model)
