"""The run that ships with the lab, for a first visit and for rooms where no model runs; it says "recorded"."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lab.run.record import RunRecord
from lab.run.record_file import as_recorded, load

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "records"


@cache
def recorded(name: str) -> RunRecord | None:
    """None where no such run ships."""
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        return None
    return as_recorded(load(path))
