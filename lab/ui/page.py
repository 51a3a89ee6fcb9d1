"""The page: knobs, then the run in progress or its result, or what to do first."""

from __future__ import annotations

import streamlit as st

from lab.run.line import State
from lab.run.visitors import Look
from lab.ui.controls import Choice, current_language, show_knobs, write_address
from lab.ui.device import device, me
from lab.ui.markup import as_typed
from lab.ui.progress import show_engine, show_progress
from lab.ui.result import show_result
from lab.ui.style import STYLE
from lab.ui.views.modes import modes_table
from lab.ui.views.requests import requests_table
from lab.ui.words import Words


def show_page() -> None:
    st.set_page_config(page_title="Batching Lab", page_icon="🚌", layout="wide")
    st.html(STYLE)
    words = Words(current_language())
    choice = show_knobs(words)
    look = _current_run(words)
    if st.session_state.pop("pressed_run", False):
        look = _submit(choice, words)
    write_address(choice.knobs, words.language, look.job if look else None)
    if look is None:
        _show_first_visit(choice, words)
    elif not look.state.over:
        show_progress(look.job, words)
        _show_modes_and_requests(choice, words)
    elif look.state is State.FINISHED and look.record is not None:
        show_result(look.record, choice, words)
    else:
        _show_end(look, words)
        _show_first_visit(choice, words)


def _current_run(words: Words) -> Look | None:
    """The run of this tab, or the one that its address names."""
    job = st.session_state.get("job") or st.query_params.get("run")
    if job is None:
        return None
    look = device().look(job)
    if look is None:
        st.info(words("notice.gone"))
    st.session_state["job"] = None if look is None else job
    return look


def _submit(choice: Choice, words: Words) -> Look | None:
    if choice.spec is None:
        return None
    try:
        job = device().submit(choice.spec, me())
    except ValueError as error:
        st.error(words("why.wrong", detail=as_typed(error)))
        return None
    st.session_state["job"] = job
    return device().look(job)


def _show_end(look: Look, words: Words) -> None:
    """Why there is no result."""
    assert look.why is not None, f"{look.state} without a reason"
    sentence = words(f"why.{look.why}", detail=as_typed(look.detail))
    (st.error if look.state is State.FAILED else st.info)(sentence)


def _show_first_visit(choice: Choice, words: Words) -> None:
    with st.container(key="first_visit"):
        st.subheader(words("empty.title"), anchor=False)
        st.markdown(words("empty.lead"))
        show_engine(words)
        _show_modes_and_requests(choice, words)


def _show_modes_and_requests(choice: Choice, words: Words) -> None:
    left, right = st.columns([5, 6], gap="large")
    with left:
        st.markdown(f"**{words('empty.modes')}**")
        st.html(modes_table(choice.knobs, words))
    with right:
        st.markdown(f"**{words('empty.list')}**")
        if choice.workload is not None:
            with st.container(height=300, border=False):
                st.html(requests_table(choice.workload, words))
