"""The pages of the lab. The links between them are drawn by the pages, in their first row (lab.ui.ways)."""

from __future__ import annotations

import streamlit as st

from lab.ui.frame import hold_widgets
from lab.ui.lessons import show_lessons
from lab.ui.page import show_page
from lab.ui.teacher import show_teacher
from lab.ui.ways import set_pages


def show_site() -> None:
    hold_widgets()
    pages = {
        "lab": st.Page(show_page, url_path="lab", default=True),
        "lessons": st.Page(show_lessons, url_path="lessons"),
        "teacher": st.Page(show_teacher, url_path="teacher"),
    }
    set_pages(pages)
    st.navigation(list(pages.values()), position="hidden").run()
