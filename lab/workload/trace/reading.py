"""A trace file as times and lengths: what is no trace is refused in one sentence, a bad row is dropped and counted.

A visitor's file is hostile until read. Its size is checked before it is read, each line is one row and is bounded
too, and nothing of its text is kept but numbers.
"""

from __future__ import annotations

import io
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.workload.trace.formats import Format, time_reader, tokens_of
from lab.workload.trace.table import MOST_LINE, Cells, clean_name, table_of

MOST_BYTES = 64 * 1024 * 1024
MOST_ROWS = 2_000_000


class Dropped(StrEnum):
    """Why a row is not replayed: what is wrong with it, or what was asked for."""

    LINE = "line_unreadable"
    TIME = "time_unreadable"
    PROMPT = "prompt_tokens_unreadable"
    OUTPUT = "output_tokens_unreadable"
    NO_PROMPT = "no_prompt_tokens"
    NO_OUTPUT = "no_output_tokens"
    OUTSIDE = "outside_the_slice"
    OVER = "over_the_number_of_requests"


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """The usable rows of a file, in order of time; equal times keep the file's order.

    name     the file's, cleaned: letters, digits, space, dot, hyphen and underscore
    read     rows in the file, blank lines aside; = len(times) + sum of dropped
    times    (n,) seconds since the first; all 0 where the format has none
    prompt, output  (n,) tokens, 1 or more
    moved    rows that stood below a later one: the file was not in order of time
    """

    name: str
    format: Format
    read: int
    dropped: Mapping[Dropped, int]
    times: NDArray[np.float64]
    prompt: NDArray[np.int64]
    output: NDArray[np.int64]
    moved: int

    @property
    def span(self) -> float:
        return float(self.times[-1])


class _Row(NamedTuple):
    time: float
    prompt: int
    output: int


def read_trace_file(path: str | Path) -> Trace:
    """A trace from a file; ValueError, one sentence, where that is none. One larger than 64 MiB is not opened."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} is not a file; give a trace as CSV or JSON lines")
    _check_size(file.stat().st_size, clean_name(file.name))
    with file.open("rb") as source:
        return read_trace(source, file.name)


def read_trace(source: BinaryIO, name: str) -> Trace:
    """A trace from bytes, say an upload called `name`; never more than 64 MiB of them are read. ValueError, one
    sentence, where they are too many or no trace."""
    name = clean_name(name)
    data = source.read(MOST_BYTES + 1)
    _check_size(len(data), name)
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace")
    first = next((line for line in lines if line.strip()), "")
    table = table_of(first, name)
    read_time, per_second = time_reader(table.format.unit)
    times, prompt, output = array("d"), array("q"), array("q")
    dropped: Counter[Dropped] = Counter()
    for number, line in enumerate(lines if table.has_header else chain([first], lines)):
        if number == MOST_ROWS:
            raise ValueError(f"{name} has more than {MOST_ROWS:,} lines; cut a piece out of it")
        if not line.strip():
            continue
        row = _row(line, table.pick, read_time)
        if isinstance(row, Dropped):
            dropped[row] += 1
            continue
        times.append(row.time)
        prompt.append(row.prompt)
        output.append(row.output)
    if not times:
        raise ValueError(f"{name} has no usable row: {said(dropped) or 'its first line is all there is'}")
    return _in_order(name, table.format, dropped, (times, prompt, output), per_second)


def said(dropped: Mapping[Dropped, int]) -> str:
    """The reasons and their numbers, in words."""
    return ", ".join(f"{n:,} × {why.replace('_', ' ')}" for why, n in dropped.items() if n)


def _row(
    line: str, pick: Callable[[str], Cells | None], read_time: Callable[[object], float | None]
) -> _Row | Dropped:
    cells = pick(line) if len(line) <= MOST_LINE else None
    if cells is None:
        return Dropped.LINE
    time, prompt, output = read_time(cells[0]), tokens_of(cells[1]), tokens_of(cells[2])
    if time is None:
        return Dropped.TIME
    if prompt is None:
        return Dropped.PROMPT
    if output is None:
        return Dropped.OUTPUT
    if prompt == 0:
        return Dropped.NO_PROMPT
    return _Row(time, prompt, output) if output else Dropped.NO_OUTPUT


def _in_order(
    name: str,
    known: Format,
    dropped: Mapping[Dropped, int],
    columns: tuple[array[float], array[int], array[int]],
    per_second: float,
) -> Trace:
    times = np.array(columns[0], np.float64)
    prompt, output = (np.array(c, np.int64) for c in columns[1:])
    moved = int((np.diff(times) < 0).sum())
    if moved:
        order = np.argsort(times, kind="stable")
        times, prompt, output = times[order], prompt[order], output[order]
    read = len(times) + sum(dropped.values())
    return Trace(name, known, read, dict(dropped), (times - times[0]) / per_second, prompt, output, moved)


def _check_size(size: int, name: str) -> None:
    if size > MOST_BYTES:
        raise ValueError(f"{name} has more than {MOST_BYTES // 2**20} MiB; cut a piece out of it")
