"""What all pages have around them: the navigation, and, on pages without knobs, language and letter size."""

from __future__ import annotations

import streamlit as st

from lab.report.words import Words, language_of
from lab.ui.controls import current_language, page_switches
from lab.ui.settings import held_keys
from lab.ui.style import page_style
from lab.ui.ways import page_links

# A widget that is not drawn loses its value: these of the Lab page shall be there when the visitor comes back.
_HELD = ("present", "language", *held_keys())


def open_page(name: str) -> Words:
    """Title row of a page without knobs. Returns the strings of the language that is read."""
    st.set_page_config(page_title="Batching Lab", page_icon="🚌", layout="wide")
    st.session_state.setdefault("language", current_language())
    st.session_state.setdefault("present", st.query_params.get("present") == "1")
    st.html(page_style(bool(st.session_state["present"])))
    words = Words(current_language())
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"row_{name}"):
        st.title(words(f"nav.{name}"), anchor=False, width="content")
        page_links(name, words)
        st.space("stretch")
        page_switches(words)
    _echo(words)
    return words


def _echo(words: Words) -> None:
    """Language and size in the address, as on the Lab page."""
    wanted = {
        "lang": "" if words.language == language_of(st.context.locale) else words.language,
        "present": "1" if st.session_state["present"] else "",
    }
    for name, value in wanted.items():
        if value and st.query_params.get(name) != value:
            st.query_params[name] = value
        elif not value and name in st.query_params:
            del st.query_params[name]


def hold_widgets() -> None:
    """Call it in every run, before the page is drawn."""
    for name in _HELD:
        if name in st.session_state:
            st.session_state[name] = st.session_state[name]
