"""A record as strict JSON and back to an equal record. Reads nothing but files it is handed, bounded in size."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lab.run.record import RunRecord
from lab.run.record_check import check_record

SCHEMA = 1
PART = ".part"
MOST_BYTES = 200_000_000
_RECORD = TypeAdapter(RunRecord)
_ENDLESS = ("max_queue_delay", "overtake_limit")  # the knobs that may be unlimited; null in the file


def to_json(record: RunRecord) -> str:
    """Strict JSON (no NaN, no Infinity): an unlimited window is written as null."""
    content = {"schema": SCHEMA, **_RECORD.dump_python(record)}
    for lane in content["lanes"]:
        for knob in _ENDLESS:
            if math.isinf(lane["policy"][knob]):
                lane["policy"][knob] = None
    return json.dumps(content, allow_nan=False, separators=(",", ":"))


def from_json(text: str) -> RunRecord:
    """Raises ValueError, one sentence, where the text is not a record of this schema or contradicts itself."""
    try:
        content = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not a record: {error}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        found = content.get("schema") if isinstance(content, dict) else type(content).__name__
        raise ValueError(f"the record has schema {found!r}; this version reads schema {SCHEMA}")
    try:
        for lane in content["lanes"]:
            lane["policy"] |= {k: math.inf for k in _ENDLESS if lane["policy"].get(k, 0) is None}
        record = _RECORD.validate_python(content)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"the record is damaged: {error!r}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"the record is damaged: {where}: {first['msg']}") from None
    check_record(record)
    return record


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not strict JSON")


def as_recorded(record: RunRecord) -> RunRecord:
    """For whoever reads it elsewhere or later: measured becomes recorded, and what was predicted stays so."""
    if record.provenance.kind != "measured":
        return record
    return replace(record, provenance=replace(record.provenance, kind="recorded"))


def save(record: RunRecord, path: Path) -> None:
    write_whole(path, to_json(record))


def part_of(path: Path) -> Path:
    """Where a file lies until it is whole."""
    return path.with_name(path.name + PART)


def write_whole(path: Path, text: str) -> None:
    """All of the text or nothing: a reader never sees half a file."""
    part = part_of(path)
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def load(path: Path) -> RunRecord:
    """Raises ValueError, with the path, where the file is missing, too large or not a record."""
    try:
        if path.exists() and not path.is_file():  # a device or a pipe may have no end
            raise ValueError("it is no file")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise ValueError(f"it has {size:,} bytes, at most {MOST_BYTES:,} are read")
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read the record {path}: {error}") from None
