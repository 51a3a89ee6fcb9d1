"""The stage on the Lab page: which runs it shows, its sliders, and what a let-go slider does."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from lab.report.stage_payload import Knob, Source, stage_payload
from lab.report.words import Words
from lab.run.lanes import RunSpec
from lab.run.record import RunRecord
from lab.ui.board import Board
from lab.ui.controls import Choice
from lab.ui.device import be_again, device, me
from lab.ui.knobs import CHANGES, STOPS, Knobs
from lab.ui.predicting import preview_of
from lab.ui.stage import stage

KEY = "stage"
PRESENT_SCALE = 1.25


def show_board(board: Board, choice: Choice, words: Words) -> None:
    """Lanes that run and lanes that have run; the browser fetches their columns itself."""
    situation = situation_of(choice)
    sources = [Source(job, situation=situation) for job in board.jobs]
    _mount(sources, board.lanes, choice.knobs, words, expected=expected_of(board))


def show_expected(choice: Choice, words: Words) -> None:
    """Empty lanes: what a run would look like."""
    _mount([], [], choice.knobs, words, expected=choice.spec)


def expected_of(board: Board) -> RunSpec | None:
    """What is to come where some lane has not begun; None where all have."""
    looks = {job: look for job in board.jobs if (look := device().look(job)) is not None}
    if all(look.record is not None for look in looks.values()):
        return None
    policies = [p for job, name in board.lanes if job in looks for p in looks[job].spec.policies if p.name == name]
    return replace(next(reversed(looks.values())).spec, policies=tuple(policies))


def show_record(record: RunRecord, choice: Choice, words: Words) -> None:
    name = f"kept-{zlib.crc32(record.provenance.created.encode())}"
    _mount([Source(name, record)], [(name, lane.name) for lane in record.lanes], choice.knobs, words)


def show_recorded(record: RunRecord, choice: Choice, words: Words) -> None:
    """A run that ships with the lab, playing."""
    lanes = [("recorded", lane.name) for lane in record.lanes]
    _mount([Source("recorded", record)], lanes, choice.knobs, words, autoplay=True)


def situation_of(choice: Choice) -> str:
    """Results of one model on the same requests stand on one curve, whatever the sliders say."""
    if choice.workload is None:
        return ""
    prompts = "\n".join(f"{r.prompt} {r.prompt_length or ''}" for r in choice.workload.requests)
    return f"{choice.knobs.model} {choice.workload.name} {choice.workload.seed} {zlib.crc32(prompts.encode())}"


def stage_scale() -> float:
    """Of the stage's letters."""
    return PRESENT_SCALE if st.session_state.get("present") else 1.0


def _mount(
    sources: list[Source],
    lanes: Sequence[tuple[str, str]],
    knobs: Knobs,
    words: Words,
    *,
    autoplay: bool = False,
    expected: RunSpec | None = None,
) -> None:
    payload = stage_payload(
        sources,
        words.language,
        lanes=lanes,
        knobs=[Knob(name, STOPS[name], value, CHANGES[name]) for name, value in knobs.on_stage.items()],
        revision=_revision(knobs.rated),
        expected=expected,
        preview=preview_of(knobs),
        owner=me(),
        autoplay=autoplay,
        scale=stage_scale(),
        key=KEY,
    )
    stage(payload, on_knobs=_let_go, on_finished=_nothing, on_owner=_come_back)


def _revision(rated: bool) -> str:
    """Sliders that come or go take their values anew."""
    return f"{st.session_state.get('revision', 0)}{'' if rated else ' without rate'}"


def _nothing() -> None:
    """A run has ended: the rerun that this causes draws its result."""


def _come_back() -> None:
    be_again(st.session_state[KEY].get("owner"))


def _let_go() -> None:
    """The sliders' values become the knobs', and what they concern runs."""
    told = st.session_state[KEY].get("knobs") or {}
    if told.get("revision") not in (_revision(True), _revision(False)):
        return
    changed = Knobs.from_stage(told)
    for name, value in changed.items():
        st.session_state[name] = value
    st.session_state["pressed_run"] = True
