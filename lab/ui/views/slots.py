"""The seats of every lane over one common time axis: who sits where, what is computed for whom, who waits.

Texture carries the meaning, colour only repeats it: plain = answer tokens, dark = prompt, dots = padding,
diagonals = finished and still computed, pale = an empty seat. The number in a bar is the request.
"""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lab.analysis.metrics import LaneMetrics
from lab.analysis.series import end_of, queue_depth
from lab.analysis.timeline import request_times
from lab.run.record import LaneRecord, RunRecord
from lab.ui.palette import darker, mode_colour, request_colour
from lab.ui.spans import KINDS, Kind, Span, seat_spans, seats_of
from lab.ui.words import Words

ROW_PX = 15
LEAST_PX, MOST_PX = 380, 900
AROUND_PX = 86  # legend, time axis, margins
WAITING_ROW = -1.25  # above seat 0
TRACK = "rgba(128,128,128,0.13)"
INK = "#1A1A1A"


class _Look(NamedTuple):
    pattern: str
    edge: float
    opacity: float


_LOOKS: dict[Kind, _Look] = {
    "prefill": _Look("", 1.0, 1.0),
    "padding": _Look(".", 0.6, 1.0),
    "decode": _Look("", 0.0, 1.0),
    "dead": _Look("/", 0.0, 0.55),
}


def slots_figure(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> go.Figure:
    seats = [seats_of(lane, len(record.workload.requests)) for lane in record.lanes]
    heights = [n + 1.6 for n in seats]
    figure = make_subplots(rows=len(seats), cols=1, shared_xaxes=True, row_heights=heights, vertical_spacing=0.012)
    longest = max((end_of(lane) for lane in record.lanes), default=0.0) or 1.0
    for row, (lane, count) in enumerate(zip(record.lanes, seats, strict=True), start=1):
        _draw_track(figure, row, lane, count, words)
        _draw_waiting(figure, row, record, lane, words)
        for kind in KINDS:
            _draw_kind(figure, row, kind, [s for s in seat_spans(lane) if s.kind == kind], words)
        figure.update_yaxes(
            range=[count - 0.4, -2.0], row=row, col=1, showgrid=False, zeroline=False, showticklabels=False
        )
    _draw_legend(figure, words)
    _label_lanes(figure, record, metrics, longest, words)
    figure.update_xaxes(range=[0, longest * 1.005], showgrid=True, zeroline=False, fixedrange=False)
    figure.update_yaxes(fixedrange=True)
    figure.update_xaxes(title_text=words("slots.time"), title_standoff=4, row=len(seats), col=1)
    figure.update_layout(
        height=int(min(max(sum(heights) * ROW_PX + AROUND_PX, LEAST_PX), MOST_PX)),
        margin={"l": 96, "r": 96, "t": 34, "b": 40},
        barmode="overlay",
        bargap=0.1,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12}},
        uniformtext={"minsize": 9, "mode": "hide"},
        hoverlabel={"align": "left"},
        dragmode="zoom",
    )
    return figure


def slots_alt(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> str:
    times = ", ".join(f"{m.lane} {m.makespan:.2f} s" for m in metrics if m.makespan is not None)
    return words("slots.alt", lanes=len(metrics), times=times)


def _draw_track(figure: go.Figure, row: int, lane: LaneRecord, seats: int, words: Words) -> None:
    """Every seat while the lane is open: what is not painted over was empty."""
    bars = go.Bar(
        base=[0.0] * seats,
        x=[end_of(lane)] * seats,
        y=list(range(seats)),
        orientation="h",
        marker={"color": TRACK, "line": {"width": 0}},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_trace(bars, row=row, col=1)


def _draw_waiting(figure: go.Figure, row: int, record: RunRecord, lane: LaneRecord, words: Words) -> None:
    """The queue as a strip over the seats: how many wait, in number and depth of grey."""
    series = queue_depth(lane, request_times(record.workload, lane))
    ends = (*series.times[1:], end_of(lane))
    pieces = [(t, e - t, v) for t, e, v in zip(series.times, ends, series.values, strict=False) if v and e > t]
    bars = go.Bar(
        base=[p[0] for p in pieces],
        x=[p[1] for p in pieces],
        y=[WAITING_ROW] * len(pieces),
        width=0.8,
        orientation="h",
        marker={
            "color": [f"rgba(128,128,128,{min(0.85, 0.3 + 0.06 * p[2]):.2f})" for p in pieces],
            "line": {"width": 0},
        },
        text=[str(p[2]) for p in pieces],
        customdata=[p[2] for p in pieces],
        hovertemplate=words("slots.hover_waiting") + "<extra></extra>",
        showlegend=False,
        **_text_in_bars(None),
    )
    figure.add_trace(bars, row=row, col=1)


def _draw_kind(figure: go.Figure, row: int, kind: Kind, spans: list[Span], words: Words) -> None:
    look = _LOOKS[kind]
    colours = [request_colour(s.request) for s in spans]
    bars = go.Bar(
        base=[s.start for s in spans],
        x=[s.end - s.start for s in spans],
        y=[s.seat for s in spans],
        orientation="h",
        opacity=look.opacity,
        marker=_marker(kind, colours),
        text=[str(s.request) if kind != "padding" else "" for s in spans],
        hovertemplate=[_hover(s, words) for s in spans],
        showlegend=False,
        **_text_in_bars("#FFFFFF" if kind == "prefill" else INK),
    )
    figure.add_trace(bars, row=row, col=1)


def _marker(kind: Kind, colours: list[str]) -> dict[str, object]:
    look = _LOOKS[kind]
    return {
        "color": [darker(c) for c in colours] if kind == "prefill" else colours,
        "line": {"width": look.edge, "color": INK},
        "pattern": {"shape": look.pattern, "fgcolor": INK, "fillmode": "overlay", "size": 5, "solidity": 0.25},
    }


def _text_in_bars(colour: str | None) -> dict[str, object]:
    font = {"size": 11} if colour is None else {"size": 11, "color": colour}
    return {
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": font,
        "constraintext": "inside",
    }


def _hover(span: Span, words: Words) -> str:
    key = "slots.hover_padding" if span.kind == "padding" else "slots.hover"
    return words(key, request=span.request, kind=words(f"slots.{span.kind}")) + "<extra></extra>"


def _draw_legend(figure: go.Figure, words: Words) -> None:
    """One entry a texture, in no request's colour."""
    for kind in ("decode", "prefill", "padding", "dead"):
        marker = _marker(kind, ["#BFBFBF"]) | {"color": "#5F5F5F" if kind == "prefill" else "#BFBFBF"}
        figure.add_trace(
            go.Bar(x=[None], y=[None], orientation="h", name=words(f"slots.{kind}"), marker=marker), row=1, col=1
        )
    track = {"color": TRACK, "line": {"width": 0}}
    figure.add_trace(
        go.Bar(x=[None], y=[None], orientation="h", name=words("slots.empty"), marker=track), row=1, col=1
    )
    figure.update_layout(legend_itemclick=False, legend_itemdoubleclick=False)


def _label_lanes(
    figure: go.Figure, record: RunRecord, metrics: list[LaneMetrics], longest: float, words: Words
) -> None:
    """Left the mode, in its colour; right what it achieved; at each lane's end, when that was."""
    base = next((m.throughput for m in metrics if m.lane == "none"), None)
    for row, (lane, m) in enumerate(zip(record.lanes, metrics, strict=True), start=1):
        axis = "y" if row == 1 else f"y{row}"
        low, high = figure.layout[axis.replace("y", "yaxis")].domain
        place = {"xref": "paper", "yref": "paper", "y": (low + high) / 2, "showarrow": False}
        name = f"<b>{lane.name}</b>"
        figure.add_annotation(x=-0.012, xanchor="right", text=name, font={"size": 14}, **place)
        figure.add_shape(
            type="rect", xref="paper", yref="paper", x0=-0.008, x1=-0.003, y0=low, y1=high,
            fillcolor=mode_colour(lane.name), line={"width": 0},
        )  # fmt: skip
        figure.add_annotation(x=1.01, xanchor="left", align="left", text=_achieved(m, base, words), **place)


def _achieved(m: LaneMetrics, base: float | None, words: Words) -> str:
    if m.throughput is None or m.makespan is None:
        return ""
    parts = [f"<b>{words('slots.speed', speed=f'{m.throughput:.1f}')}</b>"]
    if base and m.lane != "none":
        parts.append(words("slots.times", factor=f"{m.throughput / base:.1f}"))
    parts.append(words("slots.ended", seconds=f"{m.makespan:.2f}"))
    return parts[0] + "<br>" + "  ".join(parts[1:])
