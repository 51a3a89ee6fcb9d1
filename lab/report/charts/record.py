"""Charts of a finished record: latency distribution, queue, tokens and KV cache over time. One style for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from lab.analysis.metrics import LaneMetrics
from lab.analysis.series import LaneSeries, Series, end_of, lane_series
from lab.analysis.timeline import RequestTimes, request_times
from lab.report.kv import kv_alt, kv_figure
from lab.report.palette import mode_colour
from lab.report.words import Words
from lab.run.record import LaneRecord, RunRecord

HEIGHT = 300


class Chart(NamedTuple):
    """`alt` says in words what the figure shows; `caption` stands under it."""

    name: str
    figure: go.Figure
    caption: str
    alt: str


def charts(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> list[Chart]:
    latencies = (("ttft", lambda r: r.ttft), ("e2e", lambda r: r.e2e))
    made = [_distribution(name, value, record, words) for name, value in latencies]
    made.append(_over_time("queue", lambda s: s.queue, record, words))
    made.append(_over_time("tokens", lambda s: s.tokens, record, words))
    note = words("kv.note", bytes=f"{record.provenance.kv_bytes_per_token:,}")
    made.append(Chart("kv", kv_figure(record, words), note, kv_alt(record, metrics, words)))
    return made


def _distribution(
    name: str, value: Callable[[RequestTimes], float | None], record: RunRecord, words: Words
) -> Chart:
    """The share of requests that were at most so long under way: a step for each request."""
    figure, told = go.Figure(), []
    for lane in record.lanes:
        times = sorted(v for r in request_times(record.workload, lane) if (v := value(r)) is not None)
        if not times:
            continue
        shares = [100 * (i + 1) / len(times) for i in range(len(times))]
        _add(figure, lane, [0.0, *times], [0.0, *shares], "%{x:.2f} s: %{y:.0f} %")
        told.append(f"{lane.name} {times[(len(times) - 1) // 2]:.2f} s")
    _dress(figure, words(f"charts.{name}"), words("charts.share"))
    return Chart(name, figure, words(f"charts.{name}_note"), words("charts.alt_median", medians=", ".join(told)))


def _over_time(name: str, of: Callable[[LaneSeries], Series], record: RunRecord, words: Words) -> Chart:
    figure, told = go.Figure(), []
    for lane in record.lanes:
        series = of(lane_series(record.workload, lane))
        x, y = [0.0, *series.times], [0, *series.values]
        _add(figure, lane, [*x, max(end_of(lane), x[-1])], [*y, y[-1]], "%{x:.2f} s: %{y}")
        told.append(f"{lane.name} {series.peak}")
    _dress(figure, words("slots.time"), words(f"charts.{name}"))
    return Chart(name, figure, words(f"charts.{name}_note"), words("charts.alt_peak", peaks=", ".join(told)))


def _add(figure: go.Figure, lane: LaneRecord, x: Sequence[float], y: Sequence[float], hover: str) -> None:
    line = {"shape": "hv", "color": mode_colour(lane.name), "width": 2}
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", name=lane.name, line=line, hovertemplate=f"{hover}<extra>{lane.name}</extra>"
        )
    )


def _dress(figure: go.Figure, x: str, y: str) -> None:
    figure.update_xaxes(title_text=x, zeroline=False, rangemode="tozero")
    figure.update_yaxes(title_text=y, zeroline=False, rangemode="tozero", fixedrange=True)
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 60, "r": 20, "t": 30, "b": 40},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        uirevision="kept",
    )
