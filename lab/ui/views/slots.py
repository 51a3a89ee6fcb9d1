"""The seats of every lane over one common time axis: who sits where, what is computed for whom, who waits."""

from __future__ import annotations

import math

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lab.analysis.metrics import LaneMetrics
from lab.analysis.series import end_of
from lab.run.record import RunRecord
from lab.ui.palette import mode_colour
from lab.ui.spans import seats_of
from lab.ui.views.slot_bars import WAITING_ROW, draw_lane, draw_legend
from lab.ui.words import Words

USUAL_PX, ROOMY_PX, CROWDED_PX = 13.5, 22.0, 7.0  # a seat's height: usual, with few seats, with many
NUMBERED_PX = 10.0  # lower seats carry no numbers
LEAST_LANE_PX = 38.0
SCREEN_PX = 430.0  # the lanes fill about this much
AROUND_PX = 76  # legend, time axis, margins
EXTRA_SEATS = 1.9  # what a lane is higher than its seats: the strip of those who wait
DIGIT = 0.012  # of the time axis: the room that a digit needs


def slots_figure(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> go.Figure:
    seats = [seats_of(lane, len(record.workload.requests)) for lane in record.lanes]
    seat_px = _seat_height(sum(seats) + EXTRA_SEATS * len(seats))
    heights = [max(LEAST_LANE_PX, seat_px * (n + EXTRA_SEATS)) for n in seats]
    figure = make_subplots(rows=len(seats), cols=1, shared_xaxes=True, row_heights=heights, vertical_spacing=0.012)
    longest = max((end_of(lane) for lane in record.lanes), default=0.0) or 1.0
    for row, (lane, count) in enumerate(zip(record.lanes, seats, strict=True), start=1):
        readable = seat_px >= NUMBERED_PX or count == 1
        draw_lane(figure, row, record, lane, count, longest * DIGIT if readable else math.inf, words)
        figure.update_yaxes(range=[count - 0.4, -2.0], row=row, col=1)
    draw_legend(figure, words)
    _label_lanes(figure, record, metrics, words)
    figure.update_yaxes(showgrid=False, zeroline=False, showticklabels=False, fixedrange=True)
    figure.update_xaxes(range=[0, longest * 1.005], showgrid=True, zeroline=False)
    figure.update_xaxes(title_text=words("slots.time"), title_standoff=4, row=len(seats), col=1)
    figure.update_layout(
        height=int(sum(heights) + AROUND_PX),
        margin={"l": 96, "r": 96, "t": 28, "b": 36},
        barmode="overlay",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12}},
        hoverlabel={"align": "left"},
        dragmode="zoom",
    )
    return figure


def _seat_height(seats: float) -> float:
    """Pixels: the usual height, more where few seats leave room, less where many would fill two screens."""
    fitting = SCREEN_PX / seats
    return min(ROOMY_PX, fitting) if fitting > USUAL_PX else max(CROWDED_PX, min(USUAL_PX, 2 * fitting))


def slots_alt(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> str:
    times = ", ".join(f"{m.lane} {m.makespan:.2f} s" for m in metrics if m.makespan is not None)
    return words("slots.alt", lanes=len(metrics), times=times)


def _label_lanes(figure: go.Figure, record: RunRecord, metrics: list[LaneMetrics], words: Words) -> None:
    """Left the mode, in its colour; right what it achieved."""
    base = next((m.throughput for m in metrics if m.lane == "none"), None)
    requests = len(record.workload.requests)
    for row, (lane, m) in enumerate(zip(record.lanes, metrics, strict=True), start=1):
        axis = "" if row == 1 else str(row)
        low, high = figure.layout[f"yaxis{axis}"].domain
        place = {"xref": "paper", "yref": f"y{axis}", "showarrow": False}
        left = {"x": -0.012, "xanchor": "right", **place}
        middle = (seats_of(lane, requests) - 1) / 2
        figure.add_annotation(text=f"<b>{lane.name}</b>", y=middle, font={"size": 14}, **left)
        figure.add_annotation(text=words("slots.waiting"), y=WAITING_ROW, font={"size": 10}, **left)
        figure.add_annotation(
            text=_achieved(m, base, words), x=1.01, y=middle, xanchor="left", align="left", **place
        )
        figure.add_shape(
            type="rect", xref="paper", yref="paper", x0=-0.008, x1=-0.003, y0=low, y1=high,
            fillcolor=mode_colour(lane.name), line={"width": 0},
        )  # fmt: skip


def _achieved(m: LaneMetrics, base: float | None, words: Words) -> str:
    if m.throughput is None or m.makespan is None:
        return ""
    parts = [f"<b>{words('slots.speed', speed=f'{m.throughput:.1f}')}</b>"]
    if base and m.lane != "none":
        parts.append(words("slots.times", factor=f"{m.throughput / base:.1f}"))
    parts.append(words("slots.ended", seconds=f"{m.makespan:.2f}"))
    return parts[0] + "<br>" + "  ".join(parts[1:])
