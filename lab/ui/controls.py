"""The widgets of the knobs, and their echo in the address. What they mean is in lab.ui.knobs."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lab.report.markup import as_code, as_typed
from lab.report.requests import requests_table
from lab.report.words import LANGUAGES, Language, Words, language_of
from lab.run.lanes import RunSpec
from lab.ui.address import Notice, from_query, last_of, to_query
from lab.ui.board import Board
from lab.ui.device import device
from lab.ui.fitting import Sum, refused_sentence, show_memory, sum_of
from lab.ui.hints import hint
from lab.ui.knobs import DEFAULTS, ON_STAGE, SITUATIONS, STOPS, Knobs
from lab.ui.models import other_models
from lab.ui.settings import knobs_in_session, number, pick, put_in_session, show_settings
from lab.ui.traces import show_preview, show_trace
from lab.ui.ways import page_links
from lab.workload.prompts import MAX_OWN_PROMPTS, MAX_PROMPT_CHARACTERS
from lab.workload.request import Workload
from lab.workload.trace.reading import Trace

_LANGUAGE_NAMES = {"en": "EN", "zh": "中文"}
_OWN_CHARACTERS = MAX_OWN_PROMPTS * (MAX_PROMPT_CHARACTERS + 1)


@dataclass(frozen=True, slots=True)
class Choice:
    """What the visitor has set; `workload` and `spec` are None where that cannot be run."""

    knobs: Knobs
    workload: Workload | None
    spec: RunSpec | None


def current_language() -> Language:
    """As chosen; else as the address says; else the browser's."""
    asked = st.query_params.get("lang")
    default: Language = "zh" if asked == "zh" else "en" if asked == "en" else language_of(st.context.locale)
    chosen: Language = st.session_state.setdefault("language", default)
    return chosen


def show_knobs(words: Words) -> tuple[Choice, DeltaGenerator]:
    """What to run, in one row, and under it a place for what there is to say while it runs: the stage must not
    jump. On a tab's first run all is set from its address. The sliders (rate, batch size, window, KV budget) are
    the stage's own; what is seldom changed is folded away."""
    _set_from_address()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="knobs_what"):
        st.title(words("page.title"), anchor=False, width="content")
        page_links("lab", words)
        scenario = _scenario(words)
        list_place = st.container(width="content")
        with st.popover(_settings_label(words), width="content", key="settings"):
            memory_place = show_settings(scenario, words)
        st.button(words("run.button"), type="primary", key="run", on_click=_press_run, width=90)
        st.button(words("run.reset"), key="reset", on_click=_reset, width="content", help=words("run.reset_help"))
        st.space("stretch")
        page_switches(words)
    news = st.container(gap=None, key="news")
    own = _own_prompts(words) if scenario == "own" else []
    if scenario == "closed_loop":
        with st.container(horizontal=True, gap="small", key="users_place"):
            number("users", words, f"{DEFAULTS.users}")
            number("think", words, f"{DEFAULTS.think}")
    trace, preview_place = show_trace(words) if scenario == "trace" else (None, None)
    knobs = knobs_in_session(scenario)
    _show_notices(knobs, words)
    choice = _choice(knobs, own, trace, words)
    with list_place:
        _show_list(choice.workload, words)
    if trace is not None and preview_place is not None:
        with preview_place:
            show_preview(trace, knobs, choice.spec, words)
    return _checked(choice, memory_place, words), news


def _checked(choice: Choice, memory_place: DeltaGenerator, words: Words) -> Choice:
    """What does not fit the memory is refused before it runs; what can do no good is said."""
    found = None if choice.spec is None else sum_of(choice.spec)
    with memory_place:
        show_memory(choice.spec, found, words)
    if choice.spec is not None and (said := hint(choice.spec, words)):
        st.caption(said)
    if found is None or found.fits:
        return choice
    _show_refusal(found, words)
    return Choice(choice.knobs, choice.workload, None)


def _show_refusal(found: Sum, words: Words) -> None:
    st.error(refused_sentence(found, words))
    with st.container(horizontal=True, gap="small", key="ways_back"):
        if found.fit.plan.fits and found.short is not None:
            _offer_budget(found.short.enough_mb, words)
        elif found.fit.largest:
            label = words("memory.take", n=found.fit.largest)
            st.button(label, key="take_largest", on_click=_take_batch, args=(found.fit.largest,), width="content")
        show_way_back(words)


def _offer_budget(enough_mb: float, words: Words) -> None:
    """The smallest stop of the stage's slider that holds a request; its last one sets no budget."""
    stop = next(mb for mb in STOPS["kv_budget_mb"] if mb is None or mb >= enough_mb)
    label = words("memory.take_kv_auto") if stop is None else words("memory.take_kv", mb=f"{stop:g}")
    st.button(label, key="take_budget", on_click=_take_budget, args=(stop,), width="content")


def show_way_back(words: Words) -> None:
    """To the last setting that ran, where there is one and it is not this one."""
    good: Knobs | None = st.session_state.get("good")
    if good is not None and good != knobs_in_session(st.session_state["scenario"]):
        st.button(words("memory.back"), key="way_back", on_click=_take, args=(good, "back"), width="content")


def _take_batch(size: int) -> None:
    _take(replace(knobs_in_session(st.session_state["scenario"]), batch=size))


def _take_budget(mb: float | None) -> None:
    _take(replace(knobs_in_session(st.session_state["scenario"]), kv=mb))


def _take(knobs: Knobs, pressed: str = "run") -> None:
    """These knobs, on the widgets and on the stage's sliders, and run them."""
    put_in_session(knobs)
    st.session_state["revision"] = st.session_state.get("revision", 0) + 1
    st.session_state["pressed_run"] = pressed


def _settings_label(words: Words) -> str:
    """Says how many of them a link has brought, or were set: nothing is changed in silence."""
    knobs = knobs_in_session(st.session_state["scenario"])
    shown = ("scenario", *ON_STAGE.values())
    hidden = [f.name for f in fields(Knobs) if f.name not in shown and not f.name.startswith("trace_")]
    changed = sum(getattr(knobs, name) != getattr(DEFAULTS, name) for name in hidden)
    return words("settings.changed", n=changed) if changed else words("settings.button")


def _scenario(words: Words) -> str:
    about = words(f"scenario.{st.session_state['scenario']}.about")
    with st.container(width=190, key="scenario_place"):
        return pick(
            "scenario", SITUATIONS, lambda name: words(f"scenario.{name}.name"), words, about, collapsed=True
        )


def page_switches(words: Words) -> None:
    """Letters for a projector, and the language."""
    st.toggle(words("page.present"), key="present", help=words("page.present_help"))
    st.segmented_control(
        words("page.language"),
        LANGUAGES,
        format_func=_LANGUAGE_NAMES.__getitem__,
        key="language",
        label_visibility="collapsed",
        required=True,
    )


def _reset() -> None:
    """All knobs as on a first visit; the scenario stays. The stage takes its sliders' values anew, and a run that
    this tab has going is cancelled."""
    board: Board | None = st.session_state.get("board")
    if board is not None and board.pending:
        device().cancel(board.pending)
    put_in_session(replace(DEFAULTS, scenario=st.session_state["scenario"]))
    st.session_state["revision"] = st.session_state.get("revision", 0) + 1


def write_address(knobs: Knobs, language: Language, runs: str) -> None:
    """The address opens the page as it is now; a visitor's own prompts stay out of it."""
    query = to_query(knobs)
    if language != language_of(st.context.locale):
        query["lang"] = language
    if runs:
        query["run"] = runs
    if st.session_state["present"]:
        query["present"] = "1"
    if query != st.query_params.to_dict():
        st.query_params.from_dict(query)


def _press_run() -> None:
    st.session_state["pressed_run"] = True


def _set_from_address() -> None:
    if "notices" in st.session_state:
        return
    query, repeated = last_of({name: st.query_params.get_all(name) for name in st.query_params})
    knobs, wrong = from_query(query, other_models())
    notices = [*repeated, *wrong]
    put_in_session(knobs)
    st.session_state["present"] = st.query_params.get("present") == "1"
    st.session_state["notices"] = [(notice, getattr(knobs, notice.knob)) for notice in notices]


def _show_notices(knobs: Knobs, words: Words) -> None:
    """What was wrong in the address, until the visitor moves that knob."""
    held = [notice for notice, value in st.session_state["notices"] if getattr(knobs, notice.knob) == value]
    if held:
        st.info(" ".join(_sentence(notice, words) for notice in held))


def _sentence(notice: Notice, words: Words) -> str:
    return words(
        f"notice.{notice.kind}", knob=words(f"knob.{notice.knob}"), given=as_code(notice.given), taken=notice.taken
    )


def _own_prompts(words: Words) -> list[str]:
    text: str = st.text_area(
        words("knob.own", most=MAX_OWN_PROMPTS),
        key="own",
        height=110,
        placeholder=words("knob.own_example"),
        persist_state="session",
    )
    if len(text) > _OWN_CHARACTERS:  # a limit of the widget's own would drop all of it without a word
        st.warning(words("notice.own_long", given=f"{len(text):,}", taken=f"{_OWN_CHARACTERS:,}"))
    return text[:_OWN_CHARACTERS].splitlines()


def _choice(knobs: Knobs, own: list[str], trace: Trace | None, words: Words) -> Choice:
    """What can be made of the knobs, and a sentence where that is nothing."""
    if not knobs.modes:
        st.warning(words("notice.no_modes"))
        return Choice(knobs, None, None)
    nothing = knobs.scenario == "own" and not any(line.strip() for line in own)
    if nothing or (knobs.scenario == "trace" and trace is None):
        return Choice(knobs, None, None)
    try:
        spec = knobs.spec(own, trace)
    except ValueError as error:
        st.warning(words("why.wrong", detail=as_typed(words.said(error))))
        return Choice(knobs, None, None)
    return Choice(knobs, spec.workload, spec)


def _show_list(workload: Workload | None, words: Words) -> None:
    count = 0 if workload is None else len(workload.requests)
    with st.popover(words("requests.show", n=count), disabled=workload is None, width="content"):
        if workload is not None:
            if f"scenario.{workload.name}.about" in words:
                st.caption(words(f"scenario.{workload.name}.about"))
            st.html(requests_table(workload, words))
