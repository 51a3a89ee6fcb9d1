"""What is seldom changed, folded away: the model, the number of requests, the seed, the modes and their rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import streamlit as st

from lab.report.words import Words
from lab.scheduling.hybrid import RULES
from lab.scheduling.policy import MODES
from lab.ui.knobs import BOUNDS
from lab.ui.models import DUMMY, model_name, other_models
from lab.workload.scenarios import SCENARIOS


def show_settings(scenario: str, words: Words) -> None:
    _say_again("requests", "seed", "modes", *(f"rules_{name}" for name in MODES), f"model_{words.language}")
    if others := other_models():
        pick("model", ("", *others), lambda model: _model_label(model, words), words, words("knob.help.model"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings_numbers"):
        _number("requests", words, str(SCENARIOS[scenario].requests), disabled=scenario == "own")
        _number("seed", words, "0")
        st.button(words("settings.new_seed"), key="new_seed", on_click=_new_seed, width="content")
    st.pills(words("knob.modes"), MODES, selection_mode="multi", key="modes", help=words("knob.help.modes"))
    st.markdown(words("knob.turned"), help=words("knob.help.turned"))
    with st.container(horizontal=True, gap="small", key="rules"):
        for name in MODES:
            st.pills(words(f"mode.{name}.name"), RULES, selection_mode="multi", key=f"rules_{name}")


def _say_again(*keys: str) -> None:
    """A folded widget is not in the browser; unfolded, it takes the value that the last run of the page has set for
    it, and where that set none it takes none and says so. So each run sets them all."""
    for key in keys:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def pick(
    name: str,
    options: Sequence[str],
    label_of: Callable[[str], str],
    words: Words,
    about: str,
    *,
    collapsed: bool = False,
) -> str:
    """A select box; its choice is st.session_state[name]. A browser keeps a choice by its label, so each language
    has a box of its own; the value is one."""
    key = f"{name}_{words.language}"
    if key not in st.session_state:
        st.session_state[key] = st.session_state[name]
    chosen: str = st.selectbox(
        words(f"knob.{name}"),
        options,
        format_func=label_of,
        key=key,
        help=about,
        label_visibility="collapsed" if collapsed else "visible",
    )
    st.session_state[name] = chosen
    return chosen


def _model_label(model: str, words: Words) -> str:
    return words("settings.random", name=model_name(model)) if model.startswith(DUMMY) else model_name(model)


def _new_seed() -> None:
    """Other requests at other times; the address says which, so that they can be had again."""
    st.session_state["seed"] = random.randint(1, int(BOUNDS["seed"].most))


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
        width=140,
    )
    return chosen
