"""Files to take along: of the run that is shown, and of it beside kept runs. Each is made once, however often it is
downloaded, and only when somebody asks for it. No file is written here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from lab.analysis.compare import MOST
from lab.analysis.steps import steps_table
from lab.analysis.tables import csv_text, metrics_table, requests_table
from lab.report.charts.style import picture_name
from lab.report.document import report_html, scenario_of
from lab.report.words import Language, Words
from lab.run.record import RunRecord
from lab.run.record_file import to_json

HTML = "report.html"
MIMES = {"json": "application/json", "csv": "text/csv", "html": "text/html"}


class Exports:
    """The files of these records (all of the first, and one report of all), as bytes, made when first asked for."""

    def __init__(self, records: Sequence[RunRecord], language: Language) -> None:
        self.key = (tuple(records), language)
        first, words = records[0], Words(language)
        self._makers: dict[str, Callable[[], str]] = {
            HTML: lambda: report_html(records, words),
            "record.json": lambda: to_json(first),
            "metrics.csv": lambda: csv_text(metrics_table(first)),
            "requests.csv": lambda: csv_text(requests_table(first)),
            "steps.csv": lambda: csv_text(steps_table(first)),
        }
        self.names = tuple(self._makers)
        self._made: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def file(self, name: str) -> bytes:
        """Its bytes, the same each time. May be called from any thread."""
        with self._lock:
            if name not in self._made:
                self._made[name] = self._makers[name]().encode("utf-8")
            return self._made[name]


def exports(records: Sequence[RunRecord], language: Language, slot: str) -> Exports:
    """Those of this visit for what is shown in `slot`; new ones only where something else is shown."""
    held = st.session_state.get(slot)
    if not isinstance(held, Exports) or held.key != (tuple(records), language):
        held = st.session_state[slot] = Exports(records, language)
    return held


def show_downloads(record: RunRecord, kept: Mapping[str, RunRecord], words: Words) -> None:
    """A menu of files, and a report that sets the shown run beside kept ones."""
    with st.popover(words("keep.download"), width="content"):
        _buttons(exports([record], words.language, "exports"), record, words)
        others = {name: other for name, other in kept.items() if other != record}
        if others:
            _compare(record, others, words)


def _buttons(made: Exports, record: RunRecord, words: Words) -> None:
    for name in made.names:
        label = words("report.button") if name == HTML else name
        _button(made, name, label, record.workload.name, f"get_{name.split('.')[0]}")


def _compare(record: RunRecord, others: Mapping[str, RunRecord], words: Words) -> None:
    chosen = st.multiselect(
        words("compare.choose"),
        list(others),
        max_selections=MOST - 1,
        help=words("compare.hint"),
        key="compare_with",
    )
    if chosen:
        records = [record, *(others[name] for name in chosen)]
        made = exports(records, words.language, "exports_compared")
        _button(made, HTML, words("compare.button"), scenario_of(records), "get_compared")


def _button(made: Exports, name: str, label: str, scenario: str, key: str) -> None:
    stem, _, ending = name.rpartition(".")
    st.download_button(
        label,
        lambda: made.file(name),
        file_name=f"{picture_name(scenario, stem)}.{ending}",
        mime=MIMES[ending],
        on_click="ignore",
        key=key,
    )
