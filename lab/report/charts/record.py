"""Charts of one record: latency distributions, queue, tokens and KV cache over time."""

from __future__ import annotations

from collections.abc import Callable

from lab.analysis.metrics import LaneMetrics
from lab.analysis.series import LaneSeries, Series, end_of, lane_series
from lab.analysis.timeline import RequestTimes, request_times
from lab.report.charts.kv import kv_alt, kv_figure
from lab.report.charts.steps import short, thinned
from lab.report.charts.style import Chart, Line, line_figure
from lab.report.provenance import settings_line
from lab.report.words import Words
from lab.run.record import LaneRecord, RunRecord

LATENCIES: tuple[tuple[str, Callable[[RequestTimes], float | None]], ...] = (
    ("ttft", lambda r: r.ttft),
    ("e2e", lambda r: r.e2e),
    ("tpot", lambda r: r.tpot),
)


def charts(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> list[Chart]:
    made = [_distribution(name, value, record, words) for name, value in LATENCIES]
    made.append(_over_time("queue", lambda s: s.queue, record, words))
    made.append(_over_time("tokens", lambda s: s.tokens, record, words)._replace(wide=True))
    note = words("kv.note", bytes=f"{record.provenance.kv_bytes_per_token:,}")
    figure, alt = kv_figure(record, words), kv_alt(record, metrics, words)
    made.append(Chart("kv", words("kv.tab"), figure, note, alt, wide=True))
    return made


def distribution(
    lane: LaneRecord, record: RunRecord, value: Callable[[RequestTimes], float | None]
) -> tuple[list[float], list[float]]:
    """Sorted values and the share (%) of requests that had at most so much: a step for each that has a value."""
    times = sorted(v for r in request_times(record.workload, lane) if (v := value(r)) is not None)
    return times, [100 * (i + 1) / len(times) for i in range(len(times))]


def _distribution(
    name: str, value: Callable[[RequestTimes], float | None], record: RunRecord, words: Words
) -> Chart:
    lines, told = [], []
    for lane in record.lanes:
        times, shares = distribution(lane, record, value)
        if not times:
            continue
        label = words.mode(lane.name)
        lines.append(Line(lane.name, label, short([0.0, *times]), [0.0, *shares], "%{x:.3f} s: %{y:.0f} %"))
        told.append(f"{label} {times[(len(times) - 1) // 2]:.2f} s")
    figure = line_figure(lines, words(f"charts.{name}"), words("charts.share"), settings_line(record, words))
    alt = words("charts.alt_median", medians=", ".join(told))
    return Chart(name, words(f"charts.{name}_title"), figure, words(f"charts.{name}_note"), alt)


def _over_time(name: str, of: Callable[[LaneSeries], Series], record: RunRecord, words: Words) -> Chart:
    lines, told = [], []
    for lane in record.lanes:
        series = of(lane_series(record.workload, lane))
        x, y = thinned(series, end_of(lane))
        lines.append(Line(lane.name, words.mode(lane.name), x, y, "%{x:.2f} s: %{y}"))
        told.append(f"{words.mode(lane.name)} {series.peak}")
    figure = line_figure(lines, words("slots.time"), words(f"charts.{name}"), settings_line(record, words))
    alt = words("charts.alt_peak", peaks=", ".join(told))
    return Chart(name, words(f"charts.{name}_title"), figure, words(f"charts.{name}_note"), alt)
