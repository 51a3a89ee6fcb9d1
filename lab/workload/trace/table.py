"""From the first line of a file, how to read the others: where time and lengths stand in a line of CSV or JSON.

Knows lines, no files. One line is one row, whatever it holds: a stray quotation mark costs its own row only.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from lab.workload.trace.formats import FORMATS, Format, recognise

MOST_LINE = 64 * 1024  # characters

Cells = tuple[object, object, object]


class Table(NamedTuple):
    """How to read a line of this file: its time, prompt and output cells, or None where it has none such."""

    format: Format
    pick: Callable[[str], Cells | None]
    has_header: bool


def table_of(first: str, name: str) -> Table:
    """What the first line that is not blank says of the file called `name`; ValueError, one sentence, where that is
    no trace."""
    if not first:
        raise ValueError(f"{name} is empty; a trace has a line for each request")
    if "\0" in first or "\ufffd" in first:
        raise ValueError(f"{name} is not UTF-8 text; a trace is CSV or JSON lines in UTF-8")
    if len(first) > MOST_LINE:
        raise ValueError(f"{name} has a first line of {len(first):,} characters; at most {MOST_LINE:,} are read")
    is_json = first.lstrip().startswith("{")
    written = list(_json_object(first) or ()) if is_json else _csv_cells(first) or []
    names = [column.strip().lower() for column in written]
    found = recognise(names)
    if found is None:
        begins = ", ".join(map(_plain, written[:6]))
        known = ", or ".join(f"{', '.join(f.columns)} ({f.name})" for f in FORMATS if not f.beside)
        raise ValueError(f"{name} has the columns {begins[:120] or 'of no table'}; a trace has {known}")
    for column in found.columns:
        if names.count(column) > 1:
            raise ValueError(f"{name} has the column {column} {names.count(column)} times; it must have it once")
    at = [names.index(c) if c else None for c in (found.time, found.prompt, found.output)]
    if is_json:
        return Table(found, _json_picker([None if i is None else written[i] for i in at]), False)
    return Table(found, _csv_picker(at, len(written)), True)


def _csv_picker(at: list[int | None], width: int) -> Callable[[str], Cells | None]:
    time, prompt, output = at
    assert prompt is not None
    assert output is not None

    def pick(line: str) -> Cells | None:
        cells = _csv_cells(line)
        if cells is None or len(cells) != width:
            return None
        return "0" if time is None else cells[time], cells[prompt], cells[output]

    return pick


def _json_picker(keys: list[str | None]) -> Callable[[str], Cells | None]:
    def pick(line: str) -> Cells | None:
        found = _json_object(line)
        if found is None:
            return None
        time, prompt, output = (0 if key is None else found.get(key) for key in keys)
        return time, prompt, output

    return pick


def _csv_cells(line: str) -> list[str] | None:
    if '"' not in line:
        return line.rstrip("\n").split(",")
    try:
        return next(csv.reader([line]), None)
    except csv.Error:
        return None


def _json_object(line: str) -> dict[str, object] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def clean_name(text: str) -> str:
    """A file's name, fit for screens and spreadsheets: without path, markup, control character or formula."""
    return _plain(Path(text).name) or "the file"


def _plain(text: str) -> str:
    return re.sub(r"[^\w .-]+", "_", text).strip(" .-_")[:60]
