"""What is seldom changed, folded away under tabs: what runs, who goes first, the window, groups, memory."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lab.report.words import LANGUAGES, Words
from lab.scheduling.hybrid import RULES
from lab.scheduling.order import PRESETS
from lab.scheduling.policy import MODES
from lab.ui.knobs import BOUNDS, DEFAULTS, EDGE, FLAGS, MOST_EDGES, USUAL_REQUESTS, Knobs, turned_by
from lab.ui.models import DUMMY, model_name, other_models

OWN = "own"
_PRESETS = ("first", *PRESETS, OWN)
_PICKED = ("scenario", "model", "preset")  # each language has a box of its own, see `pick`
_TABS = ("what", "order", "window", "groups", "memory")


def show_settings(scenario: str, words: Words) -> DeltaGenerator:
    """Returns the place for what there is to say about memory."""
    say_again(*held_keys(), *(f"{name}_{words.language}" for name in _PICKED if name != "scenario"))
    tabs = st.tabs([words(f"settings.{name}") for name in _TABS])
    for tab, show in zip(tabs, (_what, _order, _window, _groups), strict=False):
        with tab:
            show(scenario, words)
    return tabs[-1]


def held_keys() -> list[str]:
    """The settings in the session, all of them: a widget that is not drawn loses its value."""
    edges = [f"edge_{i}" for i in range(MOST_EDGES)]
    return [*BOUNDS, *FLAGS, "modes", *(f"rules_{name}" for name in MODES), "edges", *edges]


def say_again(*keys: str) -> None:
    """A folded widget is not in the browser; unfolded, it takes the value that the last run of the page has set for
    it, and where that set none it takes none and says so. So each run sets them all."""
    for key in keys:
        if key in st.session_state:
            st.session_state[key] = st.session_state[key]


def knobs_in_session(scenario: str) -> Knobs:
    """The widgets' values, and those that the stage's sliders set last. What was emptied is at its default."""
    state = st.session_state
    numbers = {name: _number_in(state[name], name) for name in BOUNDS}
    return Knobs(
        scenario=scenario,
        modes=tuple(name for name in MODES if name in state["modes"]),
        model=state["model"],
        turned=turned_by({name: state[f"rules_{name}"] for name in MODES}),
        buckets=_buckets(),
        **numbers,  # type: ignore[arg-type]
        **{name: bool(state[name]) for name in FLAGS},
    )


def _number_in(value: float | None, name: str) -> float | None:
    if value is None:
        default: float | None = getattr(DEFAULTS, name)
        return default
    return int(value) if BOUNDS[name].whole else value


def put_in_session(knobs: Knobs) -> None:
    """The widgets' values; before they are drawn."""
    state = st.session_state
    for name in (*BOUNDS, *FLAGS):
        state[name] = getattr(knobs, name)
    state["modes"] = list(knobs.modes)
    for name in MODES:
        state[f"rules_{name}"] = list(knobs.rules(name))
    named = {edges: name for name, edges in PRESETS.items()} | {(): "first"}
    _put_edges(knobs.buckets or PRESETS["small"])
    picked = {"scenario": knobs.scenario, "model": knobs.model, "preset": named.get(knobs.buckets, OWN)}
    for name in _PICKED:
        state[name] = picked[name]
        for language in LANGUAGES:
            state.pop(f"{name}_{language}", None)


# ---- what runs


def _what(scenario: str, words: Words) -> None:
    if others := other_models():
        pick("model", ("", *others), lambda model: _model_label(model, words), words, words("knob.help.model"))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="settings_numbers"):
        number("requests", words, str(USUAL_REQUESTS[scenario]), disabled=scenario == OWN)
        number("seed", words, "0")
        st.button(words("settings.new_seed"), key="new_seed", on_click=_new_seed, width="content")
    st.pills(words("knob.modes"), MODES, selection_mode="multi", key="modes", help=words("knob.help.modes"))
    st.markdown(words("knob.turned"), help=words("knob.help.turned"))
    with st.container(horizontal=True, gap="small", key="rules"):
        for name in MODES:
            st.pills(words(f"mode.{name}.name"), RULES, selection_mode="multi", key=f"rules_{name}")


def _model_label(model: str, words: Words) -> str:
    return words("settings.random", name=model_name(model)) if model.startswith(DUMMY) else model_name(model)


def _new_seed() -> None:
    """Other requests at other times; the address says which, so that they can be had again."""
    st.session_state["seed"] = random.randint(1, int(BOUNDS["seed"].most))


# ---- who goes first


def _order(scenario: str, words: Words) -> None:
    preset = pick("preset", _PRESETS, lambda name: words(f"order.{name}"), words, words("knob.help.buckets"))
    if preset == OWN:
        _edges(words)
    if preset != "first":
        number("bucket_wait", words, words("order.usual_wait"))
    st.toggle(words("knob.priority"), key="priority", help=words("knob.help.priority"))
    if st.session_state["priority"]:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            number("urgent", words, f"{DEFAULTS.urgent}")
            number("ageing", words, f"{DEFAULTS.ageing:g}", disabled=not st.session_state["aged"])
            st.toggle(words("knob.aged"), key="aged", help=words("knob.help.aged"))
        if not st.session_state["aged"]:
            st.caption(words("order.no_ageing"))


def _edges(words: Words) -> None:
    count = st.session_state["edges"]
    for i in range(count):
        st.slider(words("order.edge", n=i + 1), int(EDGE.least), int(EDGE.most), step=8, key=f"edge_{i}")
    with st.container(horizontal=True, gap="small"):
        full, only = count == MOST_EDGES, count == 1
        st.button(words("order.more"), key="more_edges", on_click=_one_more, disabled=full, width="content")
        st.button(words("order.fewer"), key="fewer_edges", on_click=_one_fewer, disabled=only, width="content")


def _buckets() -> tuple[int, ...]:
    preset = st.session_state["preset"]
    if preset != OWN:
        return PRESETS.get(preset, ())
    return tuple(sorted({int(st.session_state[f"edge_{i}"]) for i in range(st.session_state["edges"])}))


def _put_edges(edges: Sequence[int]) -> None:
    st.session_state["edges"] = len(edges)
    for i, edge in enumerate(edges):
        st.session_state[f"edge_{i}"] = edge


def _one_more() -> None:
    edges = _buckets()
    _put_edges([*edges, min(int(EDGE.most), edges[-1] * 2)])


def _one_fewer() -> None:
    _put_edges(_buckets()[:-1] or (int(EDGE.least),))


# ---- the window, and groups


def _window(scenario: str, words: Words) -> None:
    st.caption(words("window.sliders"))
    number("few", words, f"{DEFAULTS.few}")
    st.toggle(words("knob.pickup"), key="pickup", help=words("knob.help.pickup"))


def _groups(scenario: str, words: Words) -> None:
    counts = range(int(BOUNDS["groups"].least), int(BOUNDS["groups"].most) + 1)
    st.segmented_control(words("knob.groups"), counts, key="groups", required=True, help=words("knob.help.groups"))
    alone = st.session_state["groups"] == 1
    st.toggle(words("knob.scattered"), key="scattered", disabled=alone, help=words("knob.help.scattered"))
    st.caption(words("groups.honest"))


# ---- widgets


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


def number(name: str, words: Words, empty: str, *, disabled: bool = False) -> None:
    """A number that may be left empty; `empty` says what holds then."""
    bounds = BOUNDS[name]
    make = int if bounds.whole else float
    st.number_input(
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
