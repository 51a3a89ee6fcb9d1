"""Charts of two to four groups of records: bars of the key numbers, and latencies mode by mode. Colours are the
modes'; groups are told apart by pattern, dash and letter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from lab.analysis.compare import Group, reading
from lab.analysis.metrics import LaneMetrics
from lab.analysis.timeline import RequestTimes
from lab.report.charts.record import LATENCIES, distribution
from lab.report.charts.steps import short
from lab.report.charts.style import HEIGHT, Chart, dress, plain
from lab.report.palette import mode_colour
from lab.report.provenance import settings_line
from lab.report.words import Words

_PATTERNS = {"A": "", "B": "/", "C": ".", "D": "x"}
_DASHES = {"A": "solid", "B": "dash", "C": "dot", "D": "dashdot"}

BARS: tuple[tuple[str, Callable[[LaneMetrics], float | None], int], ...] = (
    ("throughput", lambda m: m.throughput, 1),
    ("ttft_p50", lambda m: m.ttft.p50, 2),
    ("e2e_p50", lambda m: m.e2e.p50, 2),
    ("e2e_p99", lambda m: m.e2e.p99, 2),
)

Measured = Sequence[tuple[Group, Sequence[LaneMetrics]]]
"""Each group with the metrics of all lanes of all its records."""


def group_name(group: Group, words: Words) -> str:
    """Its letter; a prediction says that it is one."""
    return words("compare.predicted", label=group.label) if group.predicted else group.label


def lane_names(compared: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(lane.name for group in compared for lane in group.first.lanes))


def compare_charts(measured: Measured, words: Words) -> list[Chart]:
    compared = [group for group, _ in measured]
    settings = "\n".join(f"{group_name(g, words)}: {settings_line(g.first, words)}" for g in compared)
    made = [_bars(name, value, places, measured, settings, words) for name, value, places in BARS]
    return made + [_panels(name, value, compared, settings, words) for name, value in LATENCIES[:2]]


def _bars(
    name: str,
    value: Callable[[LaneMetrics], float | None],
    places: int,
    measured: Measured,
    settings: str,
    words: Words,
) -> Chart:
    figure, told = go.Figure(), []
    lanes = lane_names([group for group, _ in measured])
    for group, metrics in measured:
        found = [(lane, reading([value(m) for m in metrics if m.lane == lane])) for lane in lanes]
        known = [(lane, r) for lane, r in found if r is not None]
        label = plain(group_name(group, words))
        figure.add_trace(
            go.Bar(
                x=[plain(words.mode(lane)) for lane, _ in known],
                y=[r.median for _, r in known],
                name=label,
                text=[f"{label}<br>{r.median:,.{places}f}" for _, r in known],
                textposition="outside",
                cliponaxis=False,
                marker={
                    "color": [mode_colour(lane) for lane, _ in known],
                    "pattern": {"shape": _PATTERNS[group.label], "fgcolor": "#ffffff", "size": 7, "solidity": 0.35},
                    "line": {"width": 1, "color": "#5a5f66"},
                },
                error_y={
                    "type": "data", "symmetric": False, "visible": any(r.n > 1 for _, r in known),
                    "array": [r.high - r.median for _, r in known],
                    "arrayminus": [r.median - r.low for _, r in known],
                },
                hovertemplate=f"%{{x}}: %{{y:,.{places}f}}<extra>{label}</extra>",
            )
        )  # fmt: skip
        told += [f"{label} {words.mode(lane)} {r.median:,.{places}f}" for lane, r in known]
    unit = words(f"score.{name}.unit")
    title = words(f"score.{name}.name")
    figure.update_yaxes(title_text=f"{title}, {unit}", rangemode="tozero", zeroline=False, fixedrange=True)
    figure.update_xaxes(fixedrange=True)
    dress(figure, settings, HEIGHT)
    figure.update_layout(barmode="group", showlegend=False)
    return Chart(f"compare_{name}", title, figure, words("compare.bars_note"), "; ".join(told))


def _panels(
    name: str,
    value: Callable[[RequestTimes], float | None],
    compared: Sequence[Group],
    settings: str,
    words: Words,
) -> Chart:
    """One panel a mode, in it a line for each record: which share of the requests took at most so long."""
    lanes = lane_names(compared)
    figure = make_subplots(
        rows=1, cols=len(lanes), shared_yaxes=True, horizontal_spacing=0.03,
        subplot_titles=[plain(words.mode(lane)) for lane in lanes],
    )  # fmt: skip
    for column, lane in enumerate(lanes, start=1):
        for group in compared:
            _add_lines(figure, column, lane, group, value, words)
    figure.update_xaxes(title_text="s", title_standoff=4, rangemode="tozero", zeroline=False)
    figure.update_yaxes(rangemode="tozero", zeroline=False, fixedrange=True)
    figure.update_yaxes(title_text=words("charts.share"), col=1)
    dress(figure, settings, HEIGHT)
    figure.update_layout(showlegend=False)
    told = words("compare.panels_alt", groups=", ".join(g.label for g in compared))
    title = words(f"charts.{name}_title")
    return Chart(f"compare_{name}", title, figure, words("compare.panels_note"), told, wide=True)


def _add_lines(
    figure: go.Figure,
    column: int,
    lane: str,
    group: Group,
    value: Callable[[RequestTimes], float | None],
    words: Words,
) -> None:
    """The first record's line bears the letter; those of its repeats are thin."""
    label = plain(group_name(group, words))
    for i, record in enumerate(group.records):
        if lane not in [each.name for each in record.lanes]:
            continue
        times, shares = distribution(record.lane(lane), record, value)
        if not times:
            continue
        line = {"shape": "hv", "color": mode_colour(lane), "dash": _DASHES[group.label], "width": 1 if i else 2.2}
        figure.add_trace(
            go.Scatter(
                x=short([0.0, *times]), y=[0.0, *shares], mode="lines", line=line, name=label,
                hovertemplate=f"%{{x:.3f}} s: %{{y:.0f}} %<extra>{label}</extra>",
            ),
            row=1, col=column,
        )  # fmt: skip
        if i == 0:
            middle = len(times) * (1 + "ABCD".index(group.label)) // 5
            figure.add_trace(
                go.Scatter(
                    x=[round(times[middle], 5)], y=[shares[middle]], mode="markers+text", text=[label], name=label,
                    textposition="top right", hoverinfo="skip", cliponaxis=False,
                    marker={"color": mode_colour(lane), "size": 7},
                ),
                row=1, col=column,
            )  # fmt: skip
