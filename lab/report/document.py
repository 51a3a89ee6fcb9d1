"""The report: one HTML file that opens from disk without a network, of one record or of two to four side by side.

Everything that somebody typed is escaped or packed, scripts run by their hashes alone, and nothing is requested.
The same records give the same bytes. Refuses to know where the file goes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lab.analysis.compare import Group, groups
from lab.analysis.metrics import LaneMetrics, lane_metrics
from lab.report.charts.compare import Measured, compare_charts, group_name
from lab.report.charts.record import charts
from lab.report.charts.style import SLIDE, Chart, picture_name
from lab.report.compare import compare_table, settings_table
from lab.report.identity import identity_line
from lab.report.pack import FOLDER, asset, packed, packed_json, plotly_js, plotly_packed, script_hash
from lab.report.provenance import provenance_line
from lab.report.requests import requests_table
from lab.report.score import rows, score_table
from lab.report.stage_assets import stage_css, stage_js
from lab.report.stage_payload import Source, stage_payload
from lab.report.words import Words
from lab.run.record import RunRecord
from lab.run.record_file import as_recorded

MODE_BAR = {"displaylogo": False, "modeBarButtonsToRemove": ["toImage", "select2d", "lasso2d", "autoScale2d"]}
REQUEST_CHARACTERS = 300  # of a prompt in the list; the stage's panel has all of it
_UI = ("svg", "png")

_templates = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def report_html(records: Sequence[RunRecord], words: Words) -> str:
    """The file's text. Whoever reads it is elsewhere, so what was measured is shown as recorded.

    Raises ValueError for no record or more than four.
    """
    records = [as_recorded(record) for record in records]
    compared = groups(records)
    measured: Measured = [
        (group, [m for record in group.records for m in metrics_of(record)]) for group in compared
    ]
    drawn = record_charts(records, words)
    stage = stage_js() + asset("stage.js")
    scripts = {"boot": asset("unpack.js") + asset("report.js"), "stage": stage, "plotly": plotly_js()}
    return _templates.get_template("report.html").render(
        language=words.language,
        words=words,
        title=_title(compared),
        policy=" ".join(map(script_hash, scripts.values())),
        css=Markup(asset("report.css") + asset("../page.css")),
        stage_css=Markup(stage_css()),
        boot=Markup(scripts["boot"]),
        parts=[_part(group, words) for group in compared],
        mixed=len({group.predicted for group in compared}) > 1,
        repeated=any(len(group.records) > 1 for group in compared),
        table=Markup(compare_table(measured, words)) if len(compared) > 1 else None,
        settings=Markup(settings_table(compared, words)),
        charts=drawn,
        glossary=[
            (words(f"score.{row.key}.name"), words(f"score.{row.key}.unit"), words(f"score.{row.key}.means"))
            for row in rows(None)
        ],
        plotly=Markup(plotly_packed()),
        stage=Markup(packed(stage)),
        data=Markup(packed_json(_data(compared, drawn, words))),
    )


def record_charts(records: Sequence[RunRecord], words: Words) -> list[Chart]:
    """Of one setting its own charts, of several those that compare them."""
    compared = groups(records)
    if len(compared) == 1:
        first = compared[0].first
        return charts(first, metrics_of(first), words)
    return compare_charts(_measured(compared), words)


def scenario_of(records: Sequence[RunRecord]) -> str:
    """The names of their workloads, for titles and files."""
    return " ".join(dict.fromkeys(record.workload.name for record in records))


def metrics_of(record: RunRecord) -> list[LaneMetrics]:
    """Of each of its lanes."""
    return [lane_metrics(record, lane) for lane in record.lanes]


def _measured(compared: Sequence[Group]) -> Measured:
    return [(group, [m for record in group.records for m in metrics_of(record)]) for group in compared]


def _title(compared: Sequence[Group]) -> str:
    return scenario_of([group.first for group in compared])


def _part(group: Group, words: Words) -> dict[str, Any]:
    """What is told of each group by itself, of its first record."""
    record, metrics = group.first, metrics_of(group.first)
    return {
        "label": group.label,
        "name": group_name(group, words),
        "repeats": len(group.records),
        "origin": provenance_line(record, metrics, words),
        "source": record.workload.source,
        "identity": identity_line(record, words),
        "random": record.provenance.model.startswith("dummy:"),
        "score": Markup(score_table(metrics, words)),
        "requests": Markup(requests_table(record.workload, words, most=REQUEST_CHARACTERS)),
    }


def _data(compared: Sequence[Group], drawn: Sequence[Chart], words: Words) -> dict[str, Any]:
    scenario = _title(compared)
    return {
        "text": {name: words(f"report.{name}") for name in _UI},
        "stages": {
            group.label: stage_payload([Source(group.label, group.first)], words.language, key="report")
            for group in compared
        },
        "charts": [
            {
                "name": chart.name,
                "file": picture_name(scenario, chart.name),
                "figure": json.loads(chart.figure.to_json()),
            }
            for chart in drawn
        ],
        "slide": SLIDE,
        "config": MODE_BAR,
    }
