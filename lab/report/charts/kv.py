"""KV cache over time, one panel a lane on common axes: what is reserved, and what of it is used."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lab.analysis.metrics import LaneMetrics
from lab.analysis.series import end_of, lane_series
from lab.report.charts.steps import thinned
from lab.report.charts.style import dress, plain
from lab.report.palette import mode_colour
from lab.report.provenance import settings_line
from lab.report.words import Words
from lab.run.record import RunRecord

LANE_PX = 92
AROUND_PX = 90
LEFT_PX = 140


def kv_figure(record: RunRecord, words: Words) -> go.Figure:
    figure = make_subplots(rows=len(record.lanes), cols=1, shared_xaxes=True, vertical_spacing=0.03)
    megabytes = record.provenance.kv_bytes_per_token / 1e6
    longest = max((end_of(lane) for lane in record.lanes), default=0.0) or 1.0
    most = 0.0
    for row, lane in enumerate(record.lanes, start=1):
        series = lane_series(record.workload, lane)
        colour, name_of_mode = mode_colour(lane.name), plain(words.mode(lane.name))
        most = max(most, series.kv_reserved.peak * megabytes)
        drawn = (("reserved", series.kv_reserved, "dash", 0.12), ("used", series.kv_used, "solid", 0.45))
        for name, one, dash, fill in drawn:
            x, y = thinned(one, end_of(lane), megabytes)
            line = go.Scatter(
                x=x, y=y, mode="lines", name=words(f"kv.{name}"), legendgroup=name, showlegend=False,
                line={"shape": "hv", "color": colour, "dash": dash, "width": 1.6},
                fill="tozeroy", fillcolor=_faded(colour, fill),
                hovertemplate=f"{words(f'kv.{name}')} %{{y:.1f}} MB, %{{x:.2f}} s<extra>{name_of_mode}</extra>",
            )  # fmt: skip
            figure.add_trace(line, row=row, col=1)
        axis = "" if row == 1 else str(row)
        figure.add_annotation(
            text=f"<b>{name_of_mode}</b>", xref="paper", yref=f"y{axis} domain", x=-0.055, y=0.5,
            xanchor="right", showarrow=False, font={"size": 14},
        )  # fmt: skip
    _draw_legend(figure, words)
    figure.update_yaxes(range=[0, most * 1.1 or 1.0], nticks=3, fixedrange=True, ticksuffix=" MB", zeroline=False)
    figure.update_xaxes(range=[0, longest * 1.005], zeroline=False)
    figure.update_xaxes(title_text=words("slots.time"), title_standoff=4, row=len(record.lanes), col=1)
    dress(figure, settings_line(record, words), LANE_PX * len(record.lanes) + AROUND_PX, LEFT_PX)
    figure.update_layout(
        legend={
            "title_text": f"{words('kv.tab')}  ",
            "entrywidth": 90,
            "itemclick": False,
            "itemdoubleclick": False,
        }
    )
    return figure


def kv_alt(record: RunRecord, metrics: list[LaneMetrics], words: Words) -> str:
    peaks = ", ".join(
        f"{words.mode(m.lane)} {m.kv_peak_reserved_bytes / 1e6:.1f} / {m.kv_peak_used_bytes / 1e6:.1f} MB"
        for m in metrics
    )
    return words("kv.alt", peaks=peaks)


def _draw_legend(figure: go.Figure, words: Words) -> None:
    """Line styles mean the same in every panel, so the legend shows them in no mode's colour."""
    for name, dash in (("reserved", "dash"), ("used", "solid")):
        line = {"color": "#808080", "dash": dash, "width": 1.6}
        entry = go.Scatter(x=[None], y=[None], mode="lines", name=words(f"kv.{name}"), line=line)
        figure.add_trace(entry, row=1, col=1)


def _faded(colour: str, part: float) -> str:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({r},{g},{b},{part})"
