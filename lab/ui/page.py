"""The Lab page: knobs, the stage, and what the finished lanes say. Or, by a watch link, somebody's stage."""

from __future__ import annotations

import streamlit as st

from lab.report.markup import as_typed
from lab.report.provenance import recorded_when
from lab.report.requests import requests_table
from lab.report.words import Words
from lab.run.line import State, Why
from lab.run.look import Look
from lab.run.record import RunRecord
from lab.ui.board import Board, fill, from_address
from lab.ui.channels import channels, my_link
from lab.ui.controls import Choice, current_language, show_knobs, show_way_back, write_address
from lab.ui.device import device, me
from lab.ui.keep import show_keep, shown_record
from lab.ui.progress import show_engine, show_progress
from lab.ui.recorded import recorded
from lab.ui.result import is_of, show_board_result, show_record_result
from lab.ui.scene import show_board, show_expected, show_record, show_recorded
from lab.ui.style import page_style
from lab.ui.under_load import show_load
from lab.ui.views.modes import modes_table
from lab.ui.watch import show_watched

FIRST = "chat"  # the recorded run that a first visit opens with


def show_page() -> None:
    st.set_page_config(page_title="Batching Lab", page_icon="🚌", layout="wide")
    st.html(page_style(st.session_state.get("present", st.query_params.get("present") == "1")))
    words = Words(current_language())
    watched = st.query_params.get("watch")
    if watched is not None:
        show_watched(watched, words)
        return
    choice, news = show_knobs(words)
    board = _current_board(words)
    pressed = st.session_state.pop("pressed_run", False)
    if pressed and not (pressed == "back" and is_of(choice, board)):  # what is back need not be measured again
        board = _run(choice, board, words)
    board = _drop_what_failed(board, words)
    st.session_state["board"] = board
    channels().show(my_link(), board)
    write_address(choice.knobs, words.language, board.address)
    with news:
        _show_news(board, choice, words)
    _show(board, choice, words)


def _show_news(board: Board, choice: Choice, words: Words) -> None:
    """What is on the stage where that is no run of this visit; how the runs stand that have not ended; else how
    the engine stands, and what a run would take."""
    if not board.lanes and shown_record() is None:
        st.markdown(_first_words(choice, words))
    going = [look.job for look in _looks(board) if not look.state.over]
    for job in going:
        show_progress(job, words)
    if not going:
        show_engine(words, choice.spec)


def _show(board: Board, choice: Choice, words: Words) -> None:
    kept = shown_record()
    if kept is not None:
        st.info(words("keep.shown"))
        show_record(kept, choice, words)
        show_record_result(kept, words)
    elif board.lanes:
        show_board(board, choice, words)
        show_board_result(board, choice, words)
    else:
        _show_first_visit(choice, words)
    show_load(choice, words)
    show_keep(board, words)


def _current_board(words: Words) -> Board:
    """The board of this tab, or the one that its address names."""
    board: Board | None = st.session_state.get("board")
    if board is None:
        named = st.query_params.get("run", "")
        board = from_address(device(), named)
        if named and not board.lanes:
            st.info(words("notice.gone"))
    forgotten = [job for job in board.jobs if device().look(job) is None]
    if forgotten:
        st.info(words("notice.gone"))
    for job in forgotten:
        board = board.without(job)
    return board


def _run(choice: Choice, board: Board, words: Words) -> Board:
    st.session_state["kept_shown"] = None
    if choice.spec is None:
        if choice.workload is None and choice.knobs.scenario in ("own", "trace"):
            st.warning(words("notice.no_prompts" if choice.knobs.scenario == "own" else "notice.no_trace"))
        return board
    try:
        filled = fill(device(), choice.spec, me(), board)
        st.session_state["has_run"] = bool(filled.pending) or st.session_state.get("has_run", False)
        st.session_state["tried"] = choice.knobs
        return filled
    except ValueError as error:
        st.error(words("why.wrong", detail=as_typed(words.said(error))))
        return board


def _drop_what_failed(board: Board, words: Words) -> Board:
    """Runs that ended without a result leave a sentence, and their lanes the board."""
    for job in board.jobs:
        look = device().look(job)
        if look is not None and look.state in (State.FAILED, State.CANCELLED):
            _show_end(look, words)
            board = board.without(job)
    if board.lanes and not any(look.state is not State.FINISHED for look in _looks(board)):
        st.session_state["good"] = st.session_state.get("tried")
    return board


def _looks(board: Board) -> list[Look]:
    return [look for job in board.jobs if (look := device().look(job)) is not None]


def _show_end(look: Look, words: Words) -> None:
    """Why there is no result."""
    assert look.why is not None, f"{look.state} without a reason"
    sentence = words(f"why.{look.why}", detail=as_typed(words.said(look.detail)))
    (st.error if look.state is State.FAILED else st.info)(sentence)
    if look.why is Why.REFUSED:
        show_way_back(words)


def _first_words(choice: Choice, words: Words) -> str:
    record = _first_record(choice)
    if record is None:
        return words("empty.lead", about=words(f"scenario.{choice.knobs.scenario}.about"))
    return words(
        "empty.recorded",
        when=recorded_when(record),
        device=as_typed(record.provenance.device),
        dtype=record.provenance.dtype,
    )


def _first_record(choice: Choice) -> RunRecord | None:
    """The recorded run of the scenario that is chosen, where one ships."""
    return recorded(FIRST) if choice.knobs.scenario == FIRST else None


def _show_first_visit(choice: Choice, words: Words) -> None:
    """A recorded run, playing, or the lanes that will be; the modes and the requests are explained below."""
    record = _first_record(choice)
    if record is None:
        show_expected(choice, words)
    else:
        show_recorded(record, choice, words)
    left, right = st.columns([5, 6], gap="large")
    with left:
        st.markdown(f"**{words('empty.modes')}**")
        st.html(modes_table(choice.knobs, words))
    with right:
        st.markdown(f"**{words('empty.list')}**")
        if choice.workload is not None:
            with st.container(height=300, border=False):
                st.html(requests_table(choice.workload, words))
