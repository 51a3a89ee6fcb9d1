"""One style for all charts: a mode has its colour, dash and marker everywhere, so that grey print tells them apart.

Text in a figure is shown as it is: what Plotly would read as markup is escaped.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import plotly.graph_objects as go

from lab.report.charts.labels import label_places
from lab.report.palette import mode_colour
from lab.scheduling.hybrid import base_of

HEIGHT = 320
SLIDE = {"width": 960, "height": 540, "scale": 2}
"""Of an exported picture, in CSS pixels: 16 to 9, its letters large enough for a projector."""

_DASHES = {"none": "dot", "static": "dash", "dynamic": "dashdot", "continuous": "solid"}
_SYMBOLS = {"none": "circle", "static": "square", "dynamic": "diamond", "continuous": "triangle-up"}
_SMALL = 10
_CAPTION_CHARACTERS, _CAPTION_LINE_PX = 96, 13
_TURNS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # marks that turn the direction of what follows


class Chart(NamedTuple):
    """`title` stands above, `caption` below; `alt` says in words what it shows; `wide`: in a row alone."""

    name: str
    title: str
    figure: go.Figure
    caption: str
    alt: str
    wide: bool = False


class Line(NamedTuple):
    """One mode's line: steps at x, to the heights y. `hover` is a template for a point."""

    mode: str
    label: str
    x: Sequence[float]
    y: Sequence[float]
    hover: str


def plain(text: str) -> str:
    """As it may stand in a figure: one line, no markup, nothing that turns the words around it."""
    return escape(_TURNS.sub("", " ".join(text.split())), quote=False)


def mode_dash(name: str) -> str:
    return _DASHES.get(base_of(name), "longdash")


def mode_symbol(name: str) -> str:
    return _SYMBOLS.get(base_of(name), "x")


def mode_line(name: str) -> dict[str, Any]:
    return {"shape": "hv", "color": mode_colour(name), "dash": mode_dash(name), "width": 2}


def line_figure(lines: Sequence[Line], x: str, y: str, settings: str) -> go.Figure:
    """Lines with their names on them, axes from 0 that say their unit, and under it the settings."""
    figure = go.Figure()
    places = label_places([(line.x, line.y) for line in lines])
    for line, (at_x, at_y, side) in zip(lines, places, strict=True):
        name = plain(line.label)
        shared = {"legendgroup": line.mode, "name": name}
        extra = f"{line.hover}<extra>{name}</extra>"
        figure.add_trace(
            go.Scatter(x=line.x, y=line.y, mode="lines", line=mode_line(line.mode), hovertemplate=extra, **shared)
        )
        marker = {"symbol": mode_symbol(line.mode), "color": mode_colour(line.mode), "size": 9}
        figure.add_trace(
            go.Scatter(
                x=[at_x], y=[at_y], mode="markers+text", marker=marker, text=[name], textposition=f"top {side}",
                showlegend=False, hoverinfo="skip", cliponaxis=False, **shared,
            )
        )  # fmt: skip
    figure.update_xaxes(title_text=x, title_standoff=6, zeroline=False, rangemode="tozero")
    figure.update_yaxes(title_text=y, zeroline=False, rangemode="tozero", fixedrange=True)
    dress(figure, settings, HEIGHT)
    return figure


def dress(figure: go.Figure, settings: str, height: int, left: int = 60) -> None:
    """What all charts share: the legend above, the settings (a paragraph a line) below."""
    told = [line for part in settings.split("\n") for line in textwrap.wrap(part, _CAPTION_CHARACTERS)]
    figure.add_annotation(
        text="<br>".join(map(plain, told)), xref="paper", yref="paper", x=0, y=0, xshift=8 - left, yshift=-44,
        xanchor="left", yanchor="top", align="left", showarrow=False, font={"size": _SMALL},
    )  # fmt: skip
    figure.update_layout(
        height=height + _CAPTION_LINE_PX * len(told),
        margin={"l": left, "r": 20, "t": 30, "b": 46 + _CAPTION_LINE_PX * len(told)},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        template="plotly_white",
        uirevision="kept",
    )


def picture_name(scenario: str, chart: str) -> str:
    """Of a file, without its ending; safe on every system."""
    words = re.sub(r"[^\w]+", "-", scenario.lower(), flags=re.ASCII).strip("-")[:40]
    return "-".join(filter(None, ("batching-lab", words, chart)))


def picture_options(scenario: str, chart: str, format: str) -> dict[str, Any]:
    """For the button in a chart's menu: Plotly's toImageButtonOptions."""
    return {"format": format, "filename": picture_name(scenario, chart), **SLIDE}
