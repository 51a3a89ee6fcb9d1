"""The page behind a watch link: its owner's stage, live, without knobs. Each viewer replays as they like."""

from __future__ import annotations

import streamlit as st

from lab.report.stage_payload import Source, stage_payload
from lab.report.words import Words
from lab.ui.board import Board
from lab.ui.channels import channels
from lab.ui.scene import expected_of
from lab.ui.stage import stage

EVERY = 2.0  # seconds between two looks for a new board


def show_watched(token: str, words: Words) -> None:
    st.title(words("page.title"), anchor=False)
    board = channels().board(token)
    _look_again(token, board)
    if board is None:
        st.info(words("watch.gone"))
    elif not board.lanes:
        st.info(words("watch.nothing_yet"))
    else:
        st.caption(words("watch.note"))
        sources = [Source(job) for job in board.jobs]
        expected = expected_of(board)
        stage(stage_payload(sources, words.language, lanes=board.lanes, expected=expected, key="watched"))


@st.fragment(run_every=EVERY)
def _look_again(token: str, shown: Board | None) -> None:
    if channels().board(token) != shown:
        st.rerun()
