"""A finished run on the page: the lanes, where the numbers come from, then score, KV cache, answers, requests."""

from __future__ import annotations

import streamlit as st

from lab.analysis.metrics import LaneMetrics, lane_metrics
from lab.run.record import RunRecord
from lab.ui.controls import Choice
from lab.ui.views.answers import answers_table, identity_line
from lab.ui.views.kv import kv_alt, kv_figure
from lab.ui.views.provenance import provenance_line
from lab.ui.views.requests import requests_table
from lab.ui.views.score import score_table
from lab.ui.views.slots import slots_alt, slots_figure
from lab.ui.words import Words

_BAR = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}


def show_result(record: RunRecord, choice: Choice, words: Words) -> None:
    metrics = [lane_metrics(record, lane) for lane in record.lanes]
    st.plotly_chart(
        slots_figure(record, metrics, words), key="slots", config=_BAR, alt=slots_alt(record, metrics, words)
    )
    _show_origin(record, metrics, choice, words)
    tabs = st.tabs([words(f"{name}.tab") for name in ("score", "kv", "answers", "requests_tab")])
    with tabs[0]:
        st.html(score_table(metrics, words))
    with tabs[1]:
        st.plotly_chart(kv_figure(record, words), key="kv_chart", config=_BAR, alt=kv_alt(record, metrics, words))
        st.caption(words("kv.note", bytes=f"{record.provenance.kv_bytes_per_token:,}"))
    with tabs[2]:
        _show_answers(record, words)
    with tabs[3]:
        st.html(requests_table(record.workload, words))


def _show_origin(record: RunRecord, metrics: list[LaneMetrics], choice: Choice, words: Words) -> None:
    """Plain text throughout: a model's name is somebody else's text."""
    lines = [provenance_line(record, metrics, words), identity_line(record, words)]
    if record.provenance.model.startswith("dummy:"):
        lines.append(words("provenance.random"))
    if not _is_of(choice, record):
        lines.append(words("run.changed"))
    lines.append(words("slots.note"))
    with st.container(gap=None, key="origin"):
        for line in lines:
            st.text(line)


def _is_of(choice: Choice, record: RunRecord) -> bool:
    """Would the knobs as they are now give this run?"""
    if choice.spec is None:
        return False
    asked, ran = choice.spec.workload, record.workload
    same_requests = [(r.prompt, r.arrival, r.max_new_tokens) for r in asked.requests] == [
        (r.prompt, r.arrival, r.max_new_tokens) for r in ran.requests
    ]
    return same_requests and choice.spec.policies == tuple(lane.policy for lane in record.lanes)


def _show_answers(record: RunRecord, words: Words) -> None:
    if not record.token_bytes:
        st.caption(words("answers.none"))
        return
    st.html(answers_table(record, words))
    st.caption(words("answers.padded_note"))
