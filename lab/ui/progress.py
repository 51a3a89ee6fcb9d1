"""Small things that change while one waits: the engine, the place in line, how far the run is."""

from __future__ import annotations

import streamlit as st

from lab.report.markup import as_typed
from lab.report.words import Words
from lab.run.engine_side import EngineState
from lab.run.job import Progress
from lab.run.lanes import RunSpec
from lab.run.line import State
from lab.run.look import Expectation, Look
from lab.run.messages import Loading, Ready
from lab.ui.device import device, me
from lab.ui.models import model_name

EVERY = 0.7  # seconds


def show_engine(words: Words, spec: RunSpec | None, *, afresh: bool = False) -> None:
    """One line on the engine and on what a run of this spec would take (`afresh`: of all its lanes, whatever is
    known already); it asks again until there is news that stays."""
    if device().engine.loading is None:
        _engine_line(words, spec, afresh)
    else:
        _loading_engine(words, spec, afresh)


@st.fragment(run_every=EVERY)
def _loading_engine(words: Words, spec: RunSpec | None, afresh: bool) -> None:
    _engine_line(words, spec, afresh)
    if device().engine.loading is None:
        st.rerun()


def _engine_line(words: Words, spec: RunSpec | None, afresh: bool) -> None:
    state = device().engine
    line = engine_text(state, words)
    if spec is not None:
        if state.loading is None and state.model != (spec.model or device().model):
            line += f" · {words('engine.other', model=as_typed(model_name(spec.model)))}"
        expected = device().expect(spec, afresh=afresh)
        line += "" if expected is None else f" · {expected_text(expected, words)}"
    st.caption(line)


def engine_text(state: EngineState, words: Words) -> str:
    if state.facts is not None:
        return ready_text(state.facts, words)
    if state.sentence:
        return f"{words('engine.failed', detail=as_typed(words.said(state.sentence)))} {words('engine.again')}"
    return loading_text(state.loading or Loading("start", 0, 0), state.model, words)


def ready_text(facts: Ready, words: Words) -> str:
    return words(
        "engine.ready",
        model=as_typed(facts.model),
        device=as_typed(facts.device),
        dtype=facts.dtype,
        threads=facts.threads,
    )


def loading_text(loading: Loading, model: str, words: Words) -> str:
    """`model` as in EngineState."""
    key, name = f"engine.{loading.phase}", as_typed(model_name(model))
    if key not in words or (loading.total < 1e6 and "{total}" in words.raw(key)):
        return words("engine.working", model=name)
    return words(key, model=name, done=f"{loading.done / 1e6:.0f}", total=f"{loading.total / 1e6:.0f}")


@st.fragment(run_every=EVERY)
def show_progress(job: str, words: Words) -> None:
    """Until the run is over; then the whole page is drawn once more, with the result."""
    look = device().look(job)
    if look is None or look.state.over:
        st.rerun()
    else:
        with st.container(horizontal=True, vertical_alignment="center", key="progress"):
            st.progress(_part(look), text=progress_text(look, words), width="stretch")
            if look.owner == me():
                st.button(words("run.cancel"), key="cancel", on_click=device().cancel, args=(job,))
        if look.owner != me():
            st.caption(words("run.watching"))


def expected_text(expected: Expectation, words: Words) -> str:
    """What a run would take; the line is named where there is one."""
    run = _duration(expected.run, words)
    if expected.wait < 1:
        return words("run.expected", run=run)
    return words("run.expected_in_line", run=run, wait=_duration(expected.wait, words))


def _duration(seconds: float, words: Words) -> str:
    return words("run.minutes", n=round(seconds / 60)) if seconds >= 100 else words("run.seconds", n=round(seconds))


def progress_text(look: Look, words: Words) -> str:
    if look.stopping:
        return words("run.stopping")
    if look.state is State.WAITING:
        engine = device().engine
        if engine.loading is not None and look.place == 1:
            return f"{words('line.next')} ({loading_text(engine.loading, engine.model, words)})"
        return words("line.place", place=look.place)
    phase = words("phase.starting") if look.progress is None else _phase_text(look.progress, words)
    return f"{', '.join(map(words.mode, look.modes))}: {phase}"


def _phase_text(progress: Progress, words: Words) -> str:
    key = f"phase.{progress.phase}"
    if key not in words:
        return words("phase.starting")
    return words(key, done=progress.done, total=progress.total)


def _part(look: Look) -> float:
    """The answers that are finished, of all; 0 before the lanes run."""
    if look.progress is None or look.progress.phase != "running" or not look.progress.total:
        return 0.0
    return min(1.0, look.progress.done / look.progress.total)
