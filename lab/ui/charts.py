"""Charts on the page: two beside each other, each with a menu that saves it as a picture for slides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from lab.report.charts.style import Chart, picture_options
from lab.report.words import Words

_BAR = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
_FORMATS = ("SVG", "PNG")


def show_charts(made: Sequence[Chart], scenario: str, words: Words) -> None:
    """`scenario` is for the names of the files that a chart's menu saves."""
    chosen = st.segmented_control(
        words("report.picture"), _FORMATS, default=_FORMATS[0], required=True, key="picture_format", width="content"
    )
    for row in _rows(made):
        for chart, column in zip(row, st.columns(len(row), gap="medium"), strict=True):
            bar = _BAR | {"toImageButtonOptions": picture_options(scenario, chart.name, str(chosen).lower())}
            with column:
                st.plotly_chart(chart.figure, key=f"chart_{chart.name}", config=bar, alt=chart.alt)
                st.caption(chart.caption)


def _rows(made: Sequence[Chart]) -> Iterator[Sequence[Chart]]:
    """Pairs; what is wide stands alone."""
    narrow = [chart for chart in made if not chart.wide]
    yield from (narrow[i : i + 2] for i in range(0, len(narrow), 2))
    yield from ([chart] for chart in made if chart.wide)
