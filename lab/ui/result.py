"""Below the stage: where the numbers come from, then score, charts, answers, requests of what has finished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from lab.analysis.fairness import starved
from lab.analysis.metrics import lane_metrics
from lab.analysis.timeline import request_times
from lab.report.charts.record import charts
from lab.report.identity import identity_line
from lab.report.provenance import local_time, provenance_line
from lab.report.requests import requests_table
from lab.report.score import score_table
from lab.report.words import Words
from lab.run.line import State
from lab.run.record import RunRecord
from lab.ui.board import MOST_DRIFT, Board, drift, merged
from lab.ui.charts import show_charts
from lab.ui.controls import Choice
from lab.ui.device import device


def finished_records(board: Board) -> dict[str, RunRecord]:
    looks = {job: device().look(job) for job in board.jobs}
    return {
        job: look.record
        for job, look in looks.items()
        if look is not None and look.state is State.FINISHED and look.record is not None
    }


def finished_record(board: Board) -> RunRecord | None:
    """The board's finished lanes as one record."""
    return merged(finished_records(board), board)


def show_board_result(board: Board, choice: Choice, words: Words) -> None:
    records = finished_records(board)
    record = merged(records, board)
    if record is None:
        return
    apart = drift(list(records.values()))
    if apart > MOST_DRIFT:
        st.warning(words("run.drift", percent=f"{apart:.0%}"))
    if not is_of(choice, board):
        st.info(words("run.changed"))
    show_record_result(record, words, _earlier(records, board, words))


def _earlier(records: Mapping[str, RunRecord], board: Board, words: Words) -> list[str]:
    """A line for each run that brought lanes which were not measured again: which, and when that was."""
    created = {job: record.provenance.created for job, record in records.items()}
    latest = board.pending if board.pending in records else max(created, key=created.__getitem__)
    lines = []
    for job in created.keys() - {latest}:
        modes = [words.mode(name) for by, name in board.lanes if by == job]
        lines.append(words("provenance.earlier", modes=", ".join(modes), time=local_time(created[job])))
    return sorted(lines)


def _show_starved(record: RunRecord, words: Words) -> None:
    """By name: who was passed over for longer than the order of the queue promises."""
    for lane in record.lanes:
        times = request_times(record.workload, lane)
        hungry = [times[i] for i in starved(lane, times)]
        if hungry:
            never = lane.policy.order.by_priority and lane.policy.order.ageing is None
            longest = max(r.queue_delay or 0.0 for r in hungry)
            st.warning(
                words(
                    "starved.off" if never else "starved.lane",
                    mode=words.mode(lane.name),
                    requests=", ".join(str(r.id) for r in hungry),
                    waited=f"{longest:.1f}",
                )
            )


def show_record_result(record: RunRecord, words: Words, earlier: Sequence[str] = ()) -> None:
    """`earlier` are lines on where lanes come from that are older than the record says."""
    metrics = [lane_metrics(record, lane) for lane in record.lanes]
    _show_starved(record, words)
    _show_origin([provenance_line(record, metrics, words), *earlier, identity_line(record, words)], record, words)
    tabs = st.tabs([words(f"{name}.tab") for name in ("score", "charts", "requests_tab")])
    with tabs[0]:
        st.html(score_table(metrics, words))
    with tabs[1]:
        show_charts(charts(record, metrics, words), record.workload.name, words)
    with tabs[2]:
        st.html(requests_table(record.workload, words))


def _show_origin(lines: list[str], record: RunRecord, words: Words) -> None:
    """Plain text throughout: a model's name is somebody else's text."""
    if record.provenance.model.startswith("dummy:"):
        lines = [*lines, words("provenance.random")]
    with st.container(gap=None, key="origin"):
        for line in lines:
            st.text(line)


def is_of(choice: Choice, board: Board) -> bool:
    """Would the knobs as they are now give these lanes? Not where there are none."""
    asked = choice.spec
    if asked is None or not board.lanes:
        return False
    ran = {job: look.spec for job in board.jobs if (look := device().look(job)) is not None}
    lanes = {policy for job, name in board.lanes for policy in ran[job].policies if policy.name == name}
    same = all(replace(spec, policies=asked.policies) == asked for spec in ran.values())
    return same and lanes <= set(asked.policies)
