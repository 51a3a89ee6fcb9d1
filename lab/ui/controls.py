"""The widgets of the knobs, and their echo in the address. What they mean is in lab.ui.knobs."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lab.report.markup import as_code, as_typed
from lab.report.requests import requests_table
from lab.report.words import LANGUAGES, Language, Words, language_of
from lab.run.lanes import RunSpec
from lab.scheduling.policy import MODES
from lab.ui.knobs import BOUNDS, DEFAULTS, Knobs, Notice, from_query, to_query
from lab.workload.prompts import MAX_OWN_PROMPTS, MAX_PROMPT_CHARACTERS
from lab.workload.request import Workload
from lab.workload.scenarios import SCENARIOS

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
    """What to run, in one row, and under it Run with a place for what there is to say while it runs: the stage
    must not jump. On a tab's first run all is set from its address. The sliders (rate, batch size, window, KV
    budget) are the stage's own."""
    _set_from_address()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="knobs_what"):
        st.title(words("page.title"), anchor=False, width="content")
        scenario = _scenario(words)
        list_place = st.container(width="content")
        requests = _number("requests", words, str(SCENARIOS[scenario].requests), disabled=scenario == "own")
        seed = _number("seed", words, "0")
        modes = st.pills(
            words("knob.modes"), MODES, selection_mode="multi", key="modes", help=words("knob.help.modes")
        )
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="knobs_run"):
        st.button(words("run.button"), type="primary", key="run", on_click=_press_run, width=100)
        st.button(words("run.reset"), key="reset", on_click=_reset, width="content")
        news = st.container(width="stretch", key="news")
        _page_switches(words)
    own = _own_prompts(words) if scenario == "own" else []
    knobs = _knobs(scenario, tuple(m for m in MODES if m in modes), requests, seed)
    _show_notices(words)
    choice = _choice(knobs, own, words)
    with list_place:
        _show_list(choice.workload, words)
    return choice, news


def _scenario(words: Words) -> str:
    """A browser keeps a choice by its label, so each language has a select box of its own; the value is one."""
    key = f"scenario_{words.language}"
    if key not in st.session_state:
        st.session_state[key] = st.session_state["scenario"]
    chosen: str = st.selectbox(
        words("scenario.label"),
        list(SCENARIOS),
        format_func=lambda name: words(f"scenario.{name}.name"),
        key=key,
        width=170,
        help=words(f"scenario.{st.session_state[key]}.about"),
    )
    st.session_state["scenario"] = chosen
    return chosen


def _page_switches(words: Words) -> None:
    st.toggle(words("page.present"), key="present", help=words("page.present_help"))
    st.segmented_control(
        words("page.language"),
        LANGUAGES,
        format_func=_LANGUAGE_NAMES.__getitem__,
        key="language",
        label_visibility="collapsed",
        required=True,
    )


def _knobs(scenario: str, modes: tuple[str, ...], requests: float | None, seed: float | None) -> Knobs:
    """The widgets' values, and those that the stage's sliders set last."""
    state = st.session_state
    return Knobs(
        scenario=scenario,
        modes=modes,
        batch=int(state["batch"]),
        window=int(state["window"]),
        rate=state["rate"],
        requests=None if requests is None else int(requests),
        seed=DEFAULTS.seed if seed is None else int(seed),
        kv=state["kv"],
    )


def _reset() -> None:
    """All knobs as on a first visit; the scenario stays. The stage takes its sliders' values anew."""
    for name in BOUNDS:
        st.session_state[name] = getattr(DEFAULTS, name)
    st.session_state["modes"] = list(DEFAULTS.modes)
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
    knobs, notices = from_query(st.query_params.to_dict())
    for name in ("scenario", *BOUNDS):
        st.session_state[name] = getattr(knobs, name)
    st.session_state["modes"] = list(knobs.modes)
    st.session_state["present"] = st.query_params.get("present") == "1"
    st.session_state["notices"] = [(notice, st.session_state[notice.knob]) for notice in notices]


def _show_notices(words: Words) -> None:
    """What was wrong in the address, until the visitor moves that knob."""
    held = [notice for notice, value in st.session_state["notices"] if st.session_state[notice.knob] == value]
    if held:
        st.info(" ".join(_sentence(notice, words) for notice in held))


def _sentence(notice: Notice, words: Words) -> str:
    label = words("scenario.label" if notice.knob == "scenario" else f"knob.{notice.knob}")
    return words(f"notice.{notice.kind}", knob=label, given=as_code(notice.given), taken=notice.taken)


def _own_prompts(words: Words) -> list[str]:
    text: str = st.text_area(
        words("knob.own", most=MAX_OWN_PROMPTS),
        key="own",
        height=110,
        max_chars=_OWN_CHARACTERS,
        placeholder=words("knob.own_example"),
        persist_state="session",
    )
    return text[:_OWN_CHARACTERS].splitlines()


def _number(name: str, words: Words, empty: str, *, disabled: bool = False) -> float | None:
    """A number that may be left empty; `empty` says what holds then."""
    bounds = BOUNDS[name]
    make = int if bounds.whole else float
    chosen: float | None = st.number_input(
        words(f"knob.{name}"),
        min_value=make(bounds.least),
        max_value=make(bounds.most),
        value=None,
        step=make(1),
        format="%d" if bounds.whole else "%g",
        key=name,
        placeholder=empty,
        help=words(f"knob.help.{name}"),
        disabled=disabled,
        width=120,
    )
    return chosen


def _choice(knobs: Knobs, own: list[str], words: Words) -> Choice:
    """What can be made of the knobs, and a sentence where that is nothing."""
    if not knobs.modes:
        st.warning(words("notice.no_modes"))
        return Choice(knobs, None, None)
    if knobs.scenario == "own" and not any(line.strip() for line in own):
        return Choice(knobs, None, None)
    try:
        spec = knobs.spec(own)
    except ValueError as error:
        st.warning(words("why.wrong", detail=as_typed(error)))
        return Choice(knobs, None, None)
    return Choice(knobs, spec.workload, spec)


def _show_list(workload: Workload | None, words: Words) -> None:
    count = 0 if workload is None else len(workload.requests)
    with st.popover(words("requests.show", n=count), disabled=workload is None, width="content"):
        if workload is not None:
            st.html(requests_table(workload, words))
