"""The trace formats that are read, each known by the names of its columns, and what their cells mean.

Knows no file. A cell is what stood in one: text from a CSV file, any JSON value from JSON lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

Unit = Literal["date and time", "s", "ms", "none"]

MOST_TOKENS = 1_000_000  # of one request; a row with more is no request that anyone served
LATEST = 1e13  # of a time written as a number: a date in milliseconds is 2e12

_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Format:
    """A format and its columns, in lower case.

    time    column of arrivals; None where the file has lengths only
    unit    of a time. "date and time" is ISO 8601 with or without a zone (without one: UTC)
    beside  further columns that tell it from a format with the same three
    """

    name: str
    unit: Unit
    time: str | None
    prompt: str
    output: str
    beside: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*((self.time,) if self.time else ()), self.prompt, self.output, *self.beside)


_AZURE = ("timestamp", "contexttokens", "generatedtokens")
_BURST = ("timestamp", "request tokens", "response tokens")
_LENGTHS = ("timestamp", "input_length", "output_length")
_VIDUR = ("num_prefill_tokens", "num_decode_tokens")

# Of two formats that both fit, the one that names more columns stands first.
FORMATS = (
    Format("Azure 2025 multimodal", "date and time", *_AZURE, beside=("numimages",)),
    Format("Azure 2023 / 2024", "date and time", *_AZURE),
    Format("BurstGPT 3", "s", *_BURST, beside=("session id",)),
    Format("BurstGPT", "s", *_BURST),
    Format("Qwen-Bailian", "s", *_LENGTHS, beside=("turn",)),
    Format("Mooncake", "ms", *_LENGTHS),
    Format("Vidur", "s", "arrived_at", *_VIDUR),
    Format("Vidur, lengths only", "none", None, *_VIDUR),
)


def recognise(columns: Iterable[str]) -> Format | None:
    """The format with these column names, whatever their order and however many stand beside them."""
    names = set(columns)
    return next((f for f in FORMATS if names.issuperset(f.columns)), None)


def time_reader(unit: Unit) -> tuple[Callable[[object], float | None], float]:
    """A function from a cell to a time (None where it is none), and how many of its units make a second.

    Dates come as whole microseconds since 1970, so that differences are exact.
    """
    if unit == "date and time":
        return _microseconds, 1e6
    return _time, 1000.0 if unit == "ms" else 1.0


def tokens_of(cell: object) -> int | None:
    """A whole number from 0 to MOST_TOKENS; None for what is none."""
    number = _number(cell)
    return int(number) if number is not None and number.is_integer() and 0 <= number <= MOST_TOKENS else None


def _microseconds(cell: object) -> float | None:
    if not isinstance(cell, str):
        return None
    try:
        when = datetime.fromisoformat(cell.strip())
        passed = (when if when.tzinfo else when.replace(tzinfo=UTC)) - _START
    except (ValueError, OverflowError):
        return None
    return float((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds)


def _time(cell: object) -> float | None:
    number = _number(cell)
    return number if number is not None and 0 <= number <= LATEST else None


def _number(cell: object) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, str | int | float) or (isinstance(cell, str) and "_" in cell):
        return None
    try:
        number = float(cell)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
