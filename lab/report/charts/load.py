"""Latency against throughput, a line a mode and a point a load: the curve of every queue, with its knee."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import plotly.graph_objects as go

from lab.analysis.load import Cell, Curve, Point, Sweep
from lab.report.charts.labels import label_places
from lab.report.charts.style import HEIGHT, Chart, dress, mode_dash, mode_symbol, plain
from lab.report.palette import mode_colour
from lab.report.provenance import settings_line
from lab.report.words import Words

LATENCIES: tuple[tuple[str, Callable[[Point], float]], ...] = (
    ("p50", lambda p: p.e2e.p50 or 0.0),
    ("p99", lambda p: p.e2e.p99 or 0.0),
)


_PIECES = 12


def load_charts(sweep: Sweep, words: Words) -> list[Chart]:
    return [_chart(name, latency, sweep, words) for name, latency in LATENCIES]


def load_settings(sweep: Sweep, words: Words) -> str:
    """Under what the sweep was measured: plain text, two lines."""
    loop = words(f"load.loop_{sweep.loop}", think=f"{sweep.think_s:g}")
    seeds = ", ".join(map(str, sweep.seeds))
    how = words("load.how", loop=loop, seeds=seeds, cut=sweep.cut)
    return f"{how}\n{settings_line(sweep.setting, words)}"


def load_told(cell: Cell, sweep: Sweep, words: Words) -> str:
    """A load in words, such as "2.5 requests/s" or "4 users"."""
    if cell.load is None:
        return words("load.at_once")
    return words(f"load.load_{sweep.loop}", load=f"{cell.load:g}")


def _chart(name: str, latency: Callable[[Point], float], sweep: Sweep, words: Words) -> Chart:
    figure = go.Figure()
    lines = [_line(curve, latency) for curve in sweep.curves]
    for curve, line, place in zip(sweep.curves, lines, label_places(list(map(_dense, lines))), strict=True):
        _add_curve(figure, curve, line, latency, sweep, words)
        _add_knee(figure, curve, line, words)
        colour, label = mode_colour(curve.policy.name), plain(words.mode(curve.policy.name))
        figure.add_annotation(
            x=place.x, y=place.y, text=f"<b>{label}</b>", showarrow=False, yshift=12,
            xanchor="right" if place.side == "left" else "left",
        )  # fmt: skip
        if curve.at_once:
            figure.add_vline(curve.capacity, line={"color": colour, "width": 1, "dash": "dot"}, opacity=0.6)
    figure.update_xaxes(title_text=words("load.throughput"), title_standoff=6, zeroline=False, rangemode="tozero")
    figure.update_yaxes(title_text=words(f"load.{name}"), zeroline=False, rangemode="tozero", fixedrange=True)
    dress(figure, load_settings(sweep, words), HEIGHT + 60)
    figure.update_layout(showlegend=False)
    note = words(f"load.note_{sweep.loop}")
    few = sweep.curves[0].cells[0].points[0].e2e
    if name == "p99" and few.p99_is_max:
        note = f"{note} {words('load.p99_is_max', n=few.n)}"
    return Chart(f"load_{name}", words(f"load.{name}_title"), figure, note, _alt(sweep, lines, words), wide=True)


def _line(curve: Curve, latency: Callable[[Point], float]) -> tuple[list[float], list[float]]:
    return [c.throughput for c in curve.cells], [c.middle(latency) for c in curve.cells]


def _dense(line: tuple[list[float], list[float]]) -> tuple[list[float], list[float]]:
    """Points close together on the straight pieces between loads, from left to right."""
    points = sorted(zip(*line, strict=True))
    made = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        made += [(x0 + (x1 - x0) * k / _PIECES, y0 + (y1 - y0) * k / _PIECES) for k in range(1, _PIECES + 1)]
    return [x for x, _ in made], [y for _, y in made]


def _add_curve(
    figure: go.Figure,
    curve: Curve,
    line: tuple[list[float], list[float]],
    latency: Callable[[Point], float],
    sweep: Sweep,
    words: Words,
) -> None:
    name, label = curve.policy.name, plain(words.mode(curve.policy.name))
    spreads = [[latency(p) for p in cell.points] for cell in curve.cells]
    x, y = line
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines+markers", name=label,
            line={"color": mode_colour(name), "dash": mode_dash(name), "width": 2},
            marker={"symbol": mode_symbol(name), "color": mode_colour(name), "size": 8},
            error_y={
                "type": "data", "symmetric": False, "visible": len(sweep.seeds) > 1, "thickness": 1,
                "array": [max(s) - m for s, m in zip(spreads, y, strict=True)],
                "arrayminus": [m - min(s) for s, m in zip(spreads, y, strict=True)],
            },
            customdata=[plain(load_told(cell, sweep, words)) for cell in curve.cells],
            hovertemplate=f"%{{customdata}}: %{{x:.1f}} tok/s, %{{y:.2f}} s<extra>{label}</extra>",
        )
    )  # fmt: skip


def _add_knee(figure: go.Figure, curve: Curve, line: tuple[list[float], list[float]], words: Words) -> None:
    ring = {"symbol": "circle-open", "size": 17, "color": mode_colour(curve.policy.name), "line": {"width": 2.5}}
    figure.add_trace(
        go.Scatter(
            x=[line[0][curve.knee]], y=[line[1][curve.knee]], mode="markers", marker=ring, hoverinfo="skip",
            cliponaxis=False, name=words("load.knee"),
        )
    )  # fmt: skip


def _alt(sweep: Sweep, lines: list[tuple[list[float], list[float]]], words: Words) -> str:
    knees = [
        words(
            "load.alt_knee",
            mode=words.mode(curve.policy.name),
            load=load_told(curve.cells[curve.knee], sweep, words),
            speed=f"{x[curve.knee]:.1f}",
            seconds=f"{y[curve.knee]:.2f}",
        )
        for curve, (x, y) in zip(sweep.curves, lines, strict=True)
    ]
    return words("load.alt", knees="; ".join(knees))
