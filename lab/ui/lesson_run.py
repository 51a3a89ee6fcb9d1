"""A scene on a lesson's page: run it here, or see it as it was recorded, on the stage."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import streamlit as st

from lab.analysis.metrics import lane_metrics
from lab.lesson.lesson import Word
from lab.lesson.recorded import recorded_scene
from lab.lesson.scene import Scene
from lab.report.markup import as_typed
from lab.report.provenance import provenance_line
from lab.report.stage_payload import Source, stage_payload
from lab.report.words import Words
from lab.run.lanes import RunSpec
from lab.run.line import State
from lab.run.record import RunRecord
from lab.ui.board import Board, afresh
from lab.ui.device import device, me
from lab.ui.exports import show_downloads
from lab.ui.lesson_visit import visit
from lab.ui.progress import show_engine, show_progress
from lab.ui.result import finished_record
from lab.ui.scene import expected_of, stage_scale
from lab.ui.stage import stage

KEY = "lesson"
TOO_EARLY = "lesson_too_early"  # in the session: a run was asked for, and a guess is missing


def show_scene(
    name: str,
    scene: Scene,
    words: Words,
    *,
    known: Sequence[Word],
    recorded: bool = True,
    unguessed: bool = False,
    on_run: Callable[[], None] = lambda: None,
) -> RunRecord | None:
    """Buttons and stage; the run to speak about, once there is one. `name` is the place that the run is kept under;
    `known`: the words that the stage may use; `recorded`: a run of it ships with the lab and may be shown in place
    of an own one; `unguessed`: a guess is missing, so that the buttons only say so; `on_run` is
    called when a run has been asked for."""
    spec = scene.spec()
    board = _look_after(name, words)
    going = [job for job in board.jobs if (look := device().look(job)) is not None and not look.state.over]
    if not going and board.lanes:
        _keep(name, board)
    record = None if going or unguessed else _record_of(name, recorded)  # it would tell what is to be guessed
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        offer = recorded and not going and recorded_scene(name) is not None
        _buttons(name, spec, words, on_run, offer=offer, going=bool(going), unguessed=unguessed)
        if record is not None:
            show_downloads(record, {}, words)
    if sentence := st.session_state.pop("lesson_error", ""):
        st.error(words("why.wrong", detail=as_typed(words.said(sentence))))
    for job in going:
        show_progress(job, words)
    if not going and record is None:
        show_engine(words, spec, afresh=True)
    _mount(name, spec, board if going else Board(), record, words, known)
    if record is not None:
        with st.container(key="origin"):
            st.text(provenance_line(record, [lane_metrics(record, lane) for lane in record.lanes], words))
    return record


def _buttons(
    name: str,
    spec: RunSpec,
    words: Words,
    on_run: Callable[[], None],
    *,
    offer: bool,
    going: bool,
    unguessed: bool,
) -> None:
    """`offer` the recorded run, where the visitor has none of their own. Who waits for a run may cancel it; to ask
    for it again would only put it at the end of the line."""
    again = name in visit().records
    label = words("lesson.run_again") if again else words("lesson.run")
    run, show = (_too_early, _too_early) if unguessed else (_press, visit().recorded.add)
    args = () if unguessed else (name, spec, on_run)
    st.button(label, type="primary", key="lesson_run", on_click=run, args=args, disabled=going)
    if offer and not again:
        st.button(words("lesson.recorded"), key="lesson_recorded", on_click=show, args=() if unguessed else (name,))


def _too_early() -> None:
    st.session_state[TOO_EARLY] = True


def _press(name: str, spec: RunSpec, on_run: Callable[[], None]) -> None:
    """Always measured for this visitor: a guess is graded on one's own run, not on a neighbour's of equal knobs."""
    here = visit()
    try:
        here.boards[name] = afresh(device(), spec, me())
        here.recorded.discard(name)
        st.session_state["has_run"] = True
        on_run()
    except ValueError as error:
        st.session_state["lesson_error"] = str(error)


def _look_after(name: str, words: Words) -> Board:
    """The board of this place; runs that failed or are forgotten leave it, with a sentence where there is one."""
    board = visit().boards.get(name, Board())
    for job in board.jobs:
        look = device().look(job)
        if look is None:
            board = Board()
        elif look.state in (State.FAILED, State.CANCELLED):
            sentence = words(f"why.{look.why}", detail=as_typed(words.said(look.detail)))
            (st.error if look.state is State.FAILED else st.info)(sentence)
            board = Board()
    visit().boards[name] = board
    return board


def _keep(name: str, board: Board) -> None:
    record = finished_record(board)
    if record is not None and len(record.lanes) == len(board.lanes):
        visit().records[name], visit().made_by[name] = record, board.address


def _record_of(name: str, recorded: bool) -> RunRecord | None:
    own = visit().records.get(name)
    if own is None and recorded and name in visit().recorded:
        return recorded_scene(name)
    return own


def _mount(
    name: str, spec: RunSpec, board: Board, record: RunRecord | None, words: Words, known: Sequence[Word]
) -> None:
    """One stage, whatever it shows. Only runs of one place, measured here, stand on one curve."""
    sources = [Source(job, situation=name) for job in board.jobs]
    lanes = board.lanes
    if record is not None:
        of = f"{KEY}-{zlib.crc32(repr((name, record.provenance)).encode())}"
        situation = name if record.provenance.kind == "measured" else f"{name} {record.provenance.kind}"
        sources, lanes = [Source(of, record, situation=situation)], tuple((of, lane.name) for lane in record.lanes)
    stage(
        stage_payload(
            sources,
            words.language,
            lanes=lanes,
            expected=(expected_of(board) if board.lanes else spec) if record is None else None,
            fresh=True,
            scale=stage_scale(),
            words=known,
            key=KEY,
        )
    )
