"""The steps of a lesson as a page shows them: to read, to predict, to run and compare, to try, to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from lab.analysis.metrics import lane_metrics
from lab.lesson.lesson import Lesson, Question, Step, Word, met, scenes
from lab.lesson.text import LessonText, placeholders
from lab.report.score import score_table
from lab.report.tries import tries_table
from lab.report.words import Words
from lab.ui.flow import show_flow
from lab.ui.lesson_claims import show_claims
from lab.ui.lesson_guess import ask, compare
from lab.ui.lesson_run import TOO_EARLY, show_scene
from lab.ui.lesson_try import keep_try, knobs_of
from lab.ui.lesson_views import show_found
from lab.ui.lesson_visit import go, said, visit


def show_step(lesson: Lesson, number: int, text: LessonText, words: Words) -> None:
    step = lesson.steps[number]
    st.subheader(text.sections[step.key].heading, anchor=False)
    draw: Mapping[str, Callable[[Lesson, Step, LessonText, Words], None]] = {
        "text": _read,
        "predict": _predict,
        "run": _run,
        "try": _try,
        "check": _check,
    }
    draw[step.kind](lesson, step, text, words)


def _met(lesson: Lesson, step: Step) -> tuple[Word, ...]:
    return met(lesson, lesson.steps.index(step))


def _read(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(said(lesson, step, text, step.key))
    _say_if_recorded(step, text.sections[step.key].body, words)
    if step.shows == "flow":
        show_flow(words, lit=False)
    elif step.kind == "text":
        show_found(step, words)


def _say_if_recorded(step: Step, body: str, words: Words) -> None:
    """Below a text: that some of its numbers are of a recorded run."""
    if not all(visit().has_run(measure, step.scene) for measure, _ in placeholders(body)):
        st.caption(words("lesson.numbers_recorded"))


def _predict(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(said(lesson, step, text, step.key))
    ask(lesson, step, text, words)


def _run(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(said(lesson, step, text, step.key))
    asked = [q for s, q in lesson.questions if s.scene == step.scene and _just_before(lesson, s, step)]
    missing = [q for q in asked if visit().guess(lesson, q) is None]
    unguessed = bool(missing) and (lesson.name, step.key) not in visit().revealed
    if unguessed:
        _ask_to_guess(lesson, step, missing, text, words)
    scene = scenes()[step.scene]
    ran = show_scene(step.scene, scene, words, known=_met(lesson, step), unguessed=unguessed) is not None
    if step.shows == "flow":
        show_flow(words, lit=True)
    if not ran or unguessed:
        return
    compare(lesson, step, asked, text, words)
    show_found(step, words)
    _explain(lesson, step, text)
    _say_if_recorded(step, text.sections[f"{step.key}_why"].body, words)
    show_claims(step, text, words)


def _explain(lesson: Lesson, step: Step, text: LessonText) -> None:
    """What a run has shown."""
    why = f"{step.key}_why"
    st.markdown(f"#### {text.sections[why].heading}")
    st.markdown(said(lesson, step, text, why))


def _ask_to_guess(lesson: Lesson, step: Step, missing: list[Question], text: LessonText, words: Words) -> None:
    """Which guesses are missing, with the way to them and the way round them."""
    questions = " · ".join(text.sections[question.key].heading for question in missing)
    if st.session_state.pop(TOO_EARLY, False):
        st.warning(words("lesson.too_early", questions=questions))
    else:
        st.info(words("lesson.locked", questions=questions))
    asking = next(i for i, s in enumerate(lesson.steps) if missing[0] in s.questions)
    with st.container(horizontal=True):
        st.button(words("lesson.to_guess"), key="to_guess", on_click=go, args=(lesson, asking))
        revealed, this = visit().revealed, (lesson.name, step.key)
        st.button(words("lesson.reveal"), key="reveal", on_click=revealed.add, args=(this,))


def _just_before(lesson: Lesson, asking: Step, step: Step) -> bool:
    """Is this the run that the questions are about? The first of its scene after them."""
    steps = lesson.steps
    later = steps[steps.index(asking) + 1 :]
    return next((s for s in later if s.kind == "run" and s.scene == asking.scene), None) is step


def _try(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(said(lesson, step, text, step.key))
    place, known = f"try {lesson.name} {step.key}", _met(lesson, step)
    as_set = scenes()[step.scene]
    knobs, asked = knobs_of(place, step, as_set, words), visit().asked
    scene = as_set.turned(knobs)
    record = show_scene(
        place, scene, words, known=known, recorded=False, on_run=lambda: asked.update({place: knobs})
    )
    if record is not None:
        if len(tries := keep_try(place, record)) > 1:
            st.markdown(f"**{words('lesson.tries')}**")
            st.html(tries_table(tries, step.compares, words))
        st.html(score_table([lane_metrics(record, lane) for lane in record.lanes], words, known))
        _explain(lesson, step, text)


def _check(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(said(lesson, step, text, step.key))
    for check in step.checks:
        section = text.sections[check.key]
        with st.container(border=True):
            st.markdown(f"**{section.heading}**")
            chosen = st.radio(
                section.heading,
                range(len(section.choices)),
                index=None,
                format_func=section.choices.__getitem__,
                key=f"check_{lesson.name}_{check.key}_{words.language}",
                label_visibility="collapsed",
                persist_state="session",
            )
            if chosen is not None:
                right = chosen == check.right - 1
                verdict = words("lesson.right") if right else words("lesson.wrong")
                (st.success if right else st.warning)(f"{verdict} {section.after}")
