"""Time in the system against the rate of arrivals: single runs beside the curve that is predicted for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from lab.experiments.rates import RateCurve, RatePoint
from lab.report.charts.labels import label_places
from lab.report.charts.style import HEIGHT, Chart, dress, mode_dash, mode_symbol, plain
from lab.report.palette import mode_colour
from lab.report.words import Words


class RateRun(NamedTuple):
    """A run that took place; `own`: the reader's, and not one that ships with the lab."""

    lane: str
    point: RatePoint
    own: bool


def rate_chart(curves: Sequence[RateCurve], runs: Sequence[RateRun], device: str, words: Words) -> Chart:
    """`device` is the one whose step times the curves are predicted from."""
    figure = go.Figure()
    lines = [([p.rate for p in c.points], [p.mean_e2e for p in c.points]) for c in curves]
    for curve, line, place in zip(curves, lines, label_places(lines), strict=True):
        _add_line(figure, curve, line, words)
        _add_runs(figure, [run for run in runs if run.lane == curve.lane], words)
        figure.add_annotation(
            x=place.x, y=place.y, text=f"<b>{plain(words.mode(curve.lane))}</b>", showarrow=False, yshift=12,
            xanchor="right" if place.side == "left" else "left",
        )  # fmt: skip
    figure.update_xaxes(title_text=words("rates.rate"), title_standoff=6, zeroline=False, rangemode="tozero")
    figure.update_yaxes(title_text=words("rates.stay"), zeroline=False, rangemode="tozero", fixedrange=True)
    dress(figure, words("rates.predicted", device=device), HEIGHT)
    figure.update_layout(showlegend=False)
    return Chart("rates", words("rates.title"), figure, words("rates.note"), _alt(curves, words), wide=True)


def _add_line(figure: go.Figure, curve: RateCurve, line: tuple[list[float], list[float]], words: Words) -> None:
    colour, label = mode_colour(curve.lane), plain(words.mode(curve.lane))
    hover = f"%{{x:g}} req/s: %{{y:.2f}} s<extra>{label}</extra>"
    figure.add_trace(
        go.Scatter(
            x=line[0], y=line[1], mode="lines", name=label, hovertemplate=hover, opacity=0.6,
            line={"color": colour, "dash": mode_dash(curve.lane), "width": 2},
        )
    )  # fmt: skip
    if curve.knee is None:
        return
    ring = {"symbol": "circle-open", "size": 19, "color": colour, "line": {"width": 2.5}}
    figure.add_trace(
        go.Scatter(
            x=[curve.knee.rate], y=[curve.knee.mean_e2e], mode="markers+text", marker=ring,
            hoverinfo="skip", cliponaxis=False, name=words("load.knee"),
            text=[plain(words("load.knee"))], textposition="bottom right", textfont={"color": colour},
        )
    )  # fmt: skip


def _add_runs(figure: go.Figure, runs: Sequence[RateRun], words: Words) -> None:
    for own in (True, False):
        shown = [run for run in runs if run.own is own]
        if not shown:
            continue
        lane, symbol = shown[0].lane, mode_symbol(shown[0].lane)
        name = words("lesson.yours" if own else "lesson.shipped")
        figure.add_trace(
            go.Scatter(
                x=[run.point.rate for run in shown], y=[run.point.mean_e2e for run in shown], mode="markers",
                marker={"symbol": symbol if own else f"{symbol}-open", "color": mode_colour(lane), "size": 11},
                name=name, cliponaxis=False,
                hovertemplate=f"%{{x:g}} req/s: %{{y:.2f}} s<extra>{plain(words.mode(lane))}, {name}</extra>",
            )
        )  # fmt: skip


def _alt(curves: Sequence[RateCurve], words: Words) -> str:
    return words("rates.alt", lanes="; ".join(_told(curve, words) for curve in curves))


def _told(curve: RateCurve, words: Words) -> str:
    first, last, mode = curve.points[0], curve.points[-1], words.mode(curve.lane)
    told = words(
        "rates.alt_line",
        mode=mode,
        start=f"{first.mean_e2e:.2f}",
        first=f"{first.rate:g}",
        end=f"{last.mean_e2e:.2f}",
        last=f"{last.rate:g}",
    )
    return told if curve.knee is None else f"{told}, {words('rates.alt_knee', rate=f'{curve.knee.rate:g}')}"
