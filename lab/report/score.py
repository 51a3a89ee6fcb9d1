"""The table of metrics: a row a metric with its unit and definition, a column a mode, the best marked."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from lab.analysis.distribution import Summary
from lab.analysis.metrics import LaneMetrics
from lab.report.markup import Html, explained, html, table, with_swatch
from lab.report.palette import lane_colours
from lab.report.words import Words

Value = float | None
_MS, _PERCENT, _MB = 1e3, 100.0, 1e-6


class Row(NamedTuple):
    """`word` is what one must have met to read it, see lab.lesson.lesson.Word; "" = none. `scale` turns its own
    unit into the one shown, with `places` decimals; `better` marks the best."""

    key: str
    word: str
    of: Callable[[LaneMetrics], Value]
    scale: float = 1.0
    places: int = 2
    better: Callable[[Sequence[float]], float] | None = None
    p99_of: Callable[[LaneMetrics], Summary] | None = None


def rows(base: float | None) -> tuple[Row, ...]:
    """All metrics, in the order shown; `base` is the throughput that gains are relative to."""

    def gain(m: LaneMetrics) -> Value:
        return m.throughput / base if base and m.throughput is not None else None

    return (
        Row("throughput", "throughput", lambda m: m.throughput, places=1, better=max),
        Row("gain", "throughput", gain, places=1, better=max),
        Row("makespan", "", lambda m: m.makespan, better=min),
        Row("ttft_p50", "ttft", lambda m: m.ttft.p50, better=min),
        Row("ttft_p99", "p99", lambda m: m.ttft.p99, better=min, p99_of=lambda m: m.ttft),
        Row("tpot_mean", "tpot", lambda m: m.tpot.mean, _MS, 1, min),
        Row("itl_p99", "itl", lambda m: m.itl.p99, _MS, 1, min, lambda m: m.itl),
        Row("e2e_p50", "e2e", lambda m: m.e2e.p50, better=min),
        Row("e2e_p99", "p99", lambda m: m.e2e.p99, better=min, p99_of=lambda m: m.e2e),
        Row("queue_p50", "queue", lambda m: m.queue_delay.p50, better=min),
        Row("occupancy", "occupancy", lambda m: m.slot_occupancy, _PERCENT, 0),
        Row("straggler", "straggler", lambda m: m.straggler_waste, _PERCENT, 0, min),
        Row("padding", "padding", lambda m: m.padding_waste, _PERCENT, 0, min),
        Row("kv_reserved", "kv", lambda m: m.kv_peak_reserved_bytes, _MB, 1),
        Row("kv_used", "kv", lambda m: m.kv_peak_used_bytes, _MB, 1),
        Row("mbu", "mbu", lambda m: m.mbu, _PERCENT, 0),
        Row("steps", "", lambda m: m.steps, places=0),
        Row("refused", "kv", lambda m: m.refused, places=0),
    )


def shown_value(row: Row, value: Value, words: Words) -> str:
    """A metric's value in the row's unit; what is undefined is a dash."""
    return words("score.undefined") if value is None else _figure(value * row.scale, row.places)


def score_table(metrics: Sequence[LaneMetrics], words: Words, known: Container[str] | None = None) -> str:
    """HTML. Only rows whose word is among the `known`, if that is given. What is undefined is a dash, never 0; a
    p99 of fewer than 100 samples says that it is their maximum."""
    base = next((m.throughput for m in metrics if m.lane == "none"), None)
    colours = lane_colours(m.lane for m in metrics)
    head = ["", *(with_swatch(words.mode(m.lane), colours[m.lane]) for m in metrics)]
    beside_the_point = {"gain": base is None, "refused": not any(m.refused for m in metrics)}
    shown = [
        r
        for r in rows(base)
        if not beside_the_point.get(r.key) and (known is None or not r.word or r.word in known)
    ]
    made = [_cells(row, metrics, words) for row in shown]
    return table(head, made, kind="score", caption=words("score.tab"))


def _cells(row: Row, metrics: Sequence[LaneMetrics], words: Words) -> list[str]:
    values = [row.of(m) for m in metrics]
    name = explained(
        words(f"score.{row.key}.name"), words(f"score.{row.key}.unit"), words(f"score.{row.key}.means")
    )
    shown = [shown_value(row, value, words) for value in values]
    best = _best(row, values)
    cells: list[str] = [name]
    for text, value, m in zip(shown, values, metrics, strict=True):
        cell = html(text)
        if value == best:
            cell = f'<b class="best" title="{html(words("score.best"))}">{cell}</b>'
        if row.p99_of is not None and value is not None and (samples := row.p99_of(m)).p99_is_max:
            cell += f" <small>{html(words('score.p99_is_max', n=samples.n))}</small>"
        cells.append(Html(cell))
    return cells


def _figure(value: float, places: int) -> str:
    """Below 1 with a decimal more: a window of some milliseconds should be seen in a column of seconds."""
    return f"{value:,.{places + (places > 1 and 0 < abs(value) < 1)}f}"


def _best(row: Row, values: Sequence[Value]) -> Value | str:
    """The best value; nothing that a value equals where there is none, or all are alike."""
    known = [v for v in values if v is not None]
    if row.better is None or len(set(known)) < 2:
        return "none"
    return row.better(known)
