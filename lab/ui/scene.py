"""The stage on the Lab page: which runs it shows, its sliders, and what a let-go slider does."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import streamlit as st

from lab.report.stage_payload import Knob, Source
from lab.report.words import Words
from lab.run.record import RunRecord
from lab.ui.board import Board
from lab.ui.controls import Choice
from lab.ui.knobs import STOPS, Knobs
from lab.ui.stage import stage

KEY = "stage"
PRESENT_SCALE = 1.25


def show_board(board: Board, choice: Choice, words: Words) -> None:
    """Lanes that run and lanes that have run; the browser fetches their columns itself."""
    situation = situation_of(choice)
    sources = [Source(job, situation=situation) for job in board.jobs]
    _mount(sources, board.lanes, choice.knobs, words)


def show_record(record: RunRecord, choice: Choice, words: Words) -> None:
    name = f"kept-{zlib.crc32(record.provenance.created.encode())}"
    _mount([Source(name, record)], [(name, lane.name) for lane in record.lanes], choice.knobs, words)


def show_recorded(record: RunRecord, choice: Choice, words: Words) -> None:
    """A run that ships with the lab, playing."""
    lanes = [("recorded", lane.name) for lane in record.lanes]
    _mount([Source("recorded", record)], lanes, choice.knobs, words, autoplay=True)


def situation_of(choice: Choice) -> str:
    """Results on the same requests stand on one curve, whatever the sliders say."""
    if choice.workload is None:
        return ""
    prompts = "\n".join(r.prompt for r in choice.workload.requests)
    return f"{choice.workload.name} {choice.workload.seed} {zlib.crc32(prompts.encode())}"


def _mount(
    sources: list[Source], lanes: Sequence[tuple[str, str]], knobs: Knobs, words: Words, autoplay: bool = False
) -> None:
    stage(
        sources,
        words.language,
        lanes=lanes,
        knobs=[Knob(name, STOPS[name], value) for name, value in knobs.on_stage.items()],
        revision=str(st.session_state.get("revision", 0)),
        autoplay=autoplay,
        scale=PRESENT_SCALE if st.session_state.get("present") else 1.0,
        key=KEY,
        on_knobs=_let_go,
        on_finished=_nothing,
    )


def _nothing() -> None:
    """A run has ended: the rerun that this causes draws its result."""


def _let_go() -> None:
    """The sliders' values become the knobs', and what they concern runs."""
    told = st.session_state[KEY].get("knobs") or {}
    if str(told.get("revision")) != str(st.session_state.get("revision", 0)):
        return
    changed = Knobs.from_stage(told)
    for name, value in changed.items():
        st.session_state[name] = value
    st.session_state["pressed_run"] = True
