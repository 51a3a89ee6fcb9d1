"""The links from each page to the others."""

from __future__ import annotations

import streamlit as st

from lab.report.words import Words

_KEY = "pages"


def set_pages(pages: dict[str, st.Page]) -> None:
    """The pages of this run of the script, by name; the first is where the address without a path leads."""
    st.session_state[_KEY] = pages


def page_links(here: str, words: Words) -> None:
    """To all pages but this one."""
    pages: dict[str, st.Page] = st.session_state.get(_KEY, {})
    for name, page in pages.items():
        if name != here:
            st.page_link(page, label=words(f"nav.{name}"), width="content")
