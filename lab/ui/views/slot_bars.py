"""The bars of the seats: one texture a kind of work, one tint a request.

Texture carries the meaning, colour only repeats it: plain = answer tokens, dark = prompt, dots = padding,
diagonals = finished and still computed, pale = an empty seat. The number in a bar is the request.
"""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go

from lab.analysis.series import end_of, queue_depth
from lab.analysis.timeline import request_times
from lab.run.record import LaneRecord, RunRecord
from lab.ui.palette import darker, request_colour
from lab.ui.spans import KINDS, Kind, Span, seat_spans
from lab.ui.words import Words

BAR = 0.9  # of a seat; without it a trace with few bars draws them wider
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


def draw_lane(
    figure: go.Figure, row: int, record: RunRecord, lane: LaneRecord, seats: int, numbered: float, words: Words
) -> None:
    """All bars of a lane into its panel. Answers longer than `numbered` seconds a digit show their request."""
    _draw_track(figure, row, lane, seats)
    _draw_waiting(figure, row, record, lane, words)
    spans = seat_spans(lane)
    for kind in KINDS:
        _draw_kind(figure, row, kind, [s for s in spans if s.kind == kind], words)
    _draw_numbers(figure, row, spans, numbered)


def _draw_track(figure: go.Figure, row: int, lane: LaneRecord, seats: int) -> None:
    """Every seat while the lane is open: what is not painted over was empty."""
    bars = go.Bar(
        base=[0.0] * seats,
        x=[end_of(lane)] * seats,
        y=list(range(seats)),
        width=BAR,
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
        customdata=[p[2] for p in pieces],
        hovertemplate=words("slots.hover_waiting") + "<extra></extra>",
        showlegend=False,
    )
    figure.add_trace(bars, row=row, col=1)


def _draw_kind(figure: go.Figure, row: int, kind: Kind, spans: list[Span], words: Words) -> None:
    look = _LOOKS[kind]
    colours = [request_colour(s.request) for s in spans]
    bars = go.Bar(
        base=[s.start for s in spans],
        x=[s.end - s.start for s in spans],
        y=[s.seat for s in spans],
        width=BAR,
        orientation="h",
        opacity=look.opacity,
        marker=_marker(kind, colours),
        hovertemplate=[_hover(s, words) for s in spans],
        showlegend=False,
    )
    figure.add_trace(bars, row=row, col=1)


def _marker(kind: Kind, colours: list[str]) -> dict[str, object]:
    look = _LOOKS[kind]
    return {
        "color": [darker(c) for c in colours] if kind == "prefill" else colours,
        "line": {"width": look.edge, "color": INK},
        "pattern": {"shape": look.pattern, "fgcolor": INK, "fillmode": "overlay", "size": 5, "solidity": 0.25},
    }


def _draw_numbers(figure: go.Figure, row: int, spans: list[Span], numbered: float) -> None:
    """The request's number in every answer that has room for it."""
    roomy = [s for s in spans if s.kind == "decode" and s.end - s.start > numbered * len(str(s.request))]
    numbers = go.Scatter(
        x=[(s.start + s.end) / 2 for s in roomy],
        y=[s.seat for s in roomy],
        text=[str(s.request) for s in roomy],
        mode="text",
        textfont={"size": 11, "color": INK},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_trace(numbers, row=row, col=1)


def _hover(span: Span, words: Words) -> str:
    key = "slots.hover_padding" if span.kind == "padding" else "slots.hover"
    return words(key, request=span.request, kind=words(f"slots.{span.kind}")) + "<extra></extra>"


def draw_legend(figure: go.Figure, words: Words) -> None:
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
