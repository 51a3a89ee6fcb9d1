"""Small things that change while one waits: the engine, the place in line, how far the run is."""

from __future__ import annotations

import streamlit as st

from lab.report.markup import as_typed
from lab.report.words import Words
from lab.run.job import Progress
from lab.run.line import State
from lab.run.messages import Loading, Ready
from lab.run.visitors import EngineState, Expectation, Look
from lab.ui.device import device, me

EVERY = 0.7  # seconds


def show_engine(words: Words) -> None:
    """One line on the engine; it asks again until there is news that stays."""
    state = device().engine
    if state.facts is not None or state.sentence:
        _engine_line(state, words)
    else:
        _loading_engine(words)


@st.fragment(run_every=EVERY)
def _loading_engine(words: Words) -> None:
    state = device().engine
    _engine_line(state, words)
    if state.facts is not None or state.sentence:
        st.rerun()


def _engine_line(state: EngineState, words: Words) -> None:
    st.caption(engine_text(state, words))


def engine_text(state: EngineState, words: Words) -> str:
    if state.facts is not None:
        return ready_text(state.facts, words)
    if state.sentence:
        return f"{words('engine.failed', detail=as_typed(state.sentence))} {words('engine.again')}"
    return words("engine.start") if state.loading is None else loading_text(state.loading, words)


def ready_text(facts: Ready, words: Words) -> str:
    return words(
        "engine.ready",
        model=as_typed(facts.model),
        device=as_typed(facts.device),
        dtype=facts.dtype,
        threads=facts.threads,
    )


def loading_text(loading: Loading, words: Words) -> str:
    key = f"engine.{loading.phase}"
    if key not in words or (loading.total == 0 and "{total}" in words.raw(key)):
        return words("engine.working", phase=loading.phase)
    return words(key, done=f"{loading.done / 1e6:.0f}", total=f"{loading.total / 1e6:.0f}")


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
        loading = device().engine.loading
        if loading is not None and look.place == 1:
            return f"{words('line.next')} ({loading_text(loading, words)})"
        return words("line.place", place=look.place)
    phase = words("phase.starting") if look.progress is None else _phase_text(look.progress, words)
    return f"{', '.join(words(f'mode.{name}.name') for name in look.modes)}: {phase}"


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
