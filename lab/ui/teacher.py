"""The teacher's page: plans, questions, surprises, and links that open each scene."""

from __future__ import annotations

import re

import streamlit as st

from lab.lesson.lesson import FOLDER, lessons
from lab.lesson.text import lesson_text
from lab.report.words import Words
from lab.ui.frame import open_page

_HEADING = re.compile(r"^## [a-z0-9_]+: *", re.MULTILINE)


def show_teacher() -> None:
    words = open_page("teacher")
    text = (FOLDER / f"teacher.{words.language}.md").read_text(encoding="utf-8")
    st.markdown(_linked(_HEADING.sub("### ", text).replace("# ", "## ", 1), words))
    st.markdown(f"### {words('lesson.every_step')}")
    for lesson in lessons():
        titles = lesson_text(lesson.folder, words.language)
        steps = (
            f"[{i} {titles.sections[step.key].heading}](?lesson={lesson.name}&step={i})"
            for i, step in enumerate(lesson.steps, start=1)
        )
        st.markdown(_linked(f"**{lesson.number} · {titles.title}**: {' · '.join(steps)}", words))


def _linked(text: str, words: Words) -> str:
    """Links to steps lead to the page of lessons, in the language that is read here."""
    return re.sub(r"\(\?(lesson=[^)]*)\)", rf"(lessons?\1&lang={words.language})", text)
