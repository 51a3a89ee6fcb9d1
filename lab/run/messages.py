"""What page and engine process say to each other, and how each of it looks as JSON.

Commands go to the engine, reports come back. A record travels without its columns: those were sent as they grew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from lab.run.calibration import Calibration
from lab.run.job import Event, Finished, Grown, Progress, Started
from lab.run.lanes import RunSpec
from lab.run.record import Columns, RunRecord
from lab.run.record_file import from_json, to_json
from lab.spec.model_shape import ModelShape

_SPEC = TypeAdapter(RunSpec)
_CALIBRATION = TypeAdapter(Calibration)
_COLUMNS = tuple(f.name for f in fields(Columns))


# ---- commands


@dataclass(frozen=True, slots=True)
class Load:
    """Load this model; "auto", and None threads, leave the choice to the engine."""

    model: str
    device: str = "auto"
    dtype: str = "auto"
    threads: int | None = None


class Run(NamedTuple):
    job: str
    spec: RunSpec


class Cancel(NamedTuple):
    job: str


class Calibrate(NamedTuple):
    """Measure what steps take, for predictions; whatever is sent next goes first, within a step."""


Command = Load | Run | Cancel | Calibrate


# ---- reports


class Loading(NamedTuple):
    """`done` of `total` bytes or parts of a phase of loading; both 0 where nobody knows."""

    phase: str
    done: int
    total: int


class Memory(NamedTuple):
    """What the engine has found: the loaded model's dimensions, what its weights hold and what is free besides,
    both in bytes."""

    shape: ModelShape
    weight_bytes: int
    free_bytes: int


class Ready(NamedTuple):
    """The model is loaded; jobs may come. `folder` is where its tokenizer lies, "" for a model without one."""

    model: str
    device: str
    dtype: str
    threads: int
    folder: str = ""
    memory: Memory | None = None


class Freed(NamedTuple):
    """A job is over, its KV cache given back; so many bytes are free now."""

    free_bytes: int


class LoadFailed(NamedTuple):
    sentence: str


class JobEvent(NamedTuple):
    job: str
    event: Event


class JobFailed(NamedTuple):
    job: str
    sentence: str


class JobCancelled(NamedTuple):
    job: str


class Calibrating(NamedTuple):
    """`done` of `total` steps are measured."""

    done: int
    total: int


class Calibrated(NamedTuple):
    """What predictions may stand on. Comes after Ready, too, where it was kept from an earlier time."""

    calibration: Calibration


class NotCalibrated(NamedTuple):
    """`sentence` says why it cannot be; "" where a command went first."""

    sentence: str


Report = (
    Loading
    | Ready
    | Freed
    | LoadFailed
    | JobEvent
    | JobFailed
    | JobCancelled
    | Calibrating
    | Calibrated
    | NotCalibrated
)


# ---- as JSON

_READY = TypeAdapter(Ready)


def command_to_json(command: Command) -> Any:
    if isinstance(command, Load):
        return ["load", command.model, command.device, command.dtype, command.threads]
    if isinstance(command, Run):
        return ["run", command.job, _SPEC.dump_python(command.spec)]
    if isinstance(command, Calibrate):
        return ["calibrate"]
    return ["cancel", command.job]


def command_from_json(value: Any) -> Command:
    """Raises ValueError, one sentence, for a command or a spec that is none."""
    match value:
        case ["load", model, device, dtype, threads]:
            return Load(model, device, dtype, threads)
        case ["run", job, spec]:
            return Run(job, _read_spec(spec))
        case ["cancel", job]:
            return Cancel(job)
        case ["calibrate"]:
            return Calibrate()
    raise ValueError(f"not a command: {json.dumps(value)[:80]}")


def _read_spec(value: Any) -> RunSpec:
    try:
        return _SPEC.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"the run cannot be read: {first['msg']}") from None


def report_to_json(report: Report) -> Any:
    if isinstance(report, JobEvent):
        return ["event", report.job, *_event_to_json(report.event)]
    if isinstance(report, Ready):
        return ["Ready", *_READY.dump_python(report)]
    if isinstance(report, Calibrated):
        return ["calibrated", _CALIBRATION.dump_json(report.calibration).decode()]
    return [type(report).__name__, *report]


def report_from_json(value: Any) -> Report:
    """Raises ValueError for what is no report."""
    kinds = (Loading, Freed, LoadFailed, JobFailed, JobCancelled, Calibrating, NotCalibrated)
    plain = {c.__name__: c for c in kinds}
    match value:
        case ["calibrated", str(text)]:
            return Calibrated(_CALIBRATION.validate_json(text))
        case ["event", job, *event]:
            return JobEvent(job, _event_from_json(event))
        case ["Ready", *parts]:
            return _READY.validate_python(parts)
        case [str(name), *parts] if name in plain:
            report: Report = plain[name](*parts)
            return report
    raise ValueError(f"not a report: {json.dumps(value)[:80]}")


def _event_to_json(event: Event) -> list[Any]:
    if isinstance(event, Progress):
        return ["progress", *event]
    if isinstance(event, Grown):
        return ["grown", event.lane, [getattr(event.columns, name) for name in _COLUMNS]]
    return [type(event).__name__.lower(), to_json(_without_columns(event.record))]


def _event_from_json(value: list[Any]) -> Event:
    match value:
        case ["progress", phase, done, total]:
            return Progress(phase, done, total)
        case ["grown", lane, columns]:
            return Grown(lane, Columns(*map(tuple, columns)))
        case ["started", text]:
            return Started(from_json(text))
        case ["finished", text]:
            return Finished(from_json(text))
    raise ValueError(f"not an event: {json.dumps(value)[:80]}")


def _without_columns(record: RunRecord) -> RunRecord:
    return replace(record, lanes=tuple(replace(lane, columns=Columns()) for lane in record.lanes))
