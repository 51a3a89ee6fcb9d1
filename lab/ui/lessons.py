"""The Lessons page: the list, or one lesson, a step at a time. Everything may be jumped to."""

from __future__ import annotations

import streamlit as st

from lab.lesson.lesson import FOLDER, Lesson, lessons
from lab.lesson.text import lesson_text
from lab.report.words import Words
from lab.ui.frame import open_page
from lab.ui.lesson_steps import show_step
from lab.ui.lesson_views import show_modes
from lab.ui.lesson_visit import Place, go, place, visit


def show_lessons() -> None:
    words = open_page("lessons")
    here = place()
    if here is None:
        _list(words)
    else:
        _lesson(here, words)


def _list(words: Words) -> None:
    st.markdown(words("lesson.welcome"))
    for lesson in lessons():
        text = lesson_text(lesson.folder, words.language)
        title, about = st.columns((3, 8), gap="small", vertical_alignment="center")
        with title:
            done = "✓" if lesson.number in visit().done else ""
            label = f"{lesson.number} · {text.title} {done}"
            st.button(label, key=f"open_{lesson.name}", on_click=go, args=(lesson,), width="stretch")
        with about:
            st.caption(f"{text.about} {words('lesson.minutes', n=lesson.plan.minutes)}")
    with st.expander(words("lesson.modes")):
        show_modes(words)
    _glossary(words)


def _glossary(words: Words) -> None:
    with st.expander(words("lesson.glossary")):
        st.markdown((FOLDER / f"glossary.{words.language}.md").read_text(encoding="utf-8"))


def _lesson(here: Place, words: Words) -> None:
    lesson, text = here.lesson, lesson_text(here.lesson.folder, words.language)
    st.header(f"{lesson.number} · {text.title}", anchor=False)
    if here.step == 0:
        st.markdown(f"*{text.about}* {words('lesson.minutes', n=lesson.plan.minutes)}")
    _steps(here, words)
    with st.container(key="lesson_body"):
        show_step(lesson, here.step, text, words)
    _onward(here, words)
    _glossary(words)


def _steps(here: Place, words: Words) -> None:
    """A dot for each step: to jump."""
    with st.container(horizontal=True, gap="xsmall", key="lesson_steps"):
        st.button(words("lesson.all"), key="lesson_all", on_click=go, args=(None,), width="content")
        for i, step in enumerate(here.lesson.steps):
            st.button(
                f"{i + 1} {words(f'lesson.kind.{step.kind}')}",
                key=f"step_{i}",
                type="primary" if i == here.step else "tertiary",
                on_click=go,
                args=(here.lesson, i),
                width="content",
            )


def _onward(here: Place, words: Words) -> None:
    last = here.step == len(here.lesson.steps) - 1
    with st.container(horizontal=True, key="onward"):
        if here.step:
            back = words("lesson.back")
            st.button(back, key="back", on_click=go, args=(here.lesson, here.step - 1), shortcut="Alt+P")
        if last:
            label = words("lesson.finish_all" if here.lesson is lessons()[-1] else "lesson.finish")
            st.button(label, key="next", type="primary", on_click=_finish, args=(here.lesson,))
        else:
            st.button(
                words("lesson.next"),
                key="next",
                type="primary",
                on_click=go,
                args=(here.lesson, here.step + 1),
                shortcut="Alt+N",
            )


def _finish(lesson: Lesson) -> None:
    """Done; on to the next lesson, or back to the list after the last."""
    visit().done.add(lesson.number)
    later = [x for x in lessons() if x.number > lesson.number]
    go(later[0] if later else None)
