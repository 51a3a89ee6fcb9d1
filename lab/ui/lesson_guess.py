"""A learner's guesses on a lesson's page: asked for before a run, and set beside what came of it."""

from __future__ import annotations

import streamlit as st

from lab.lesson.judge import grade
from lab.lesson.lesson import Lesson, Question, Step
from lab.lesson.numbers import figures
from lab.lesson.text import LessonText, filled
from lab.report.words import Words
from lab.ui.lesson_visit import visit

_UNIT_KEYS = {
    "s": "s",
    "ms": "ms",
    "tok/s": "tok_s",
    "req/s": "req_s",
    "n": "n",
    "%": "percent",
    "x": "times",
    "MB": "mb",
}


def ask(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    """The questions of a step, with what has been guessed already."""
    for question in step.questions:
        with st.container(border=True):
            _ask(lesson, step, question, text, words)
    st.caption(words("lesson.guess_note"))


def _ask(lesson: Lesson, step: Step, question: Question, text: LessonText, words: Words) -> None:
    section = text.sections[question.key]
    st.markdown(f"**{section.heading}**")
    st.markdown(filled(section.asks, visit().runs(), step.scene))
    key, place = f"guess_{lesson.name}_{question.key}", (lesson.name, question.key)
    known = visit().guesses.get(place)
    if question.edges:
        key = f"{key}_{words.language}"
    if known is not None and key not in st.session_state:  # set at every run, it would undo a quick second choice
        st.session_state[key] = int(known) if question.edges else float(known)
    if question.edges:
        st.radio(
            section.heading,
            range(len(section.choices)),
            index=None,
            format_func=section.choices.__getitem__,
            key=key,
            on_change=_note,
            args=(place, key),
            label_visibility="collapsed",
        )
    else:
        label = words("lesson.your_guess", unit=_unit(question, words))
        st.number_input(label, value=None, key=key, format="%g", on_change=_note, args=(place, key), width=220)


def _note(place: tuple[str, str], key: str) -> None:
    """Before the page is drawn: whoever types a number and presses "Next" at once is on the next page by then."""
    if (given := st.session_state[key]) is not None:
        visit().guesses[place] = given
    else:
        visit().guesses.pop(place, None)


def compare(lesson: Lesson, step: Step, asked: list[Question], text: LessonText, words: Words) -> None:
    """What was guessed beside what came."""
    for question in asked:
        guess, section = visit().guess(lesson, question), text.sections[question.key]
        if guess is None or (found := grade(question, guess, visit().runs(), step.scene)) is None:
            continue
        if found.choice is None:
            said, came = (_number(x, question, words) for x in (guess, found.actual))
        else:
            said = section.choices[int(guess)]
            came = f"{section.choices[found.choice]} ({_exactly(found.actual, question, words)})"
        own = visit().has_run(question.measure, step.scene)
        key = "lesson.compared" if own else "lesson.compared_recorded"
        sentence = words(key, heading=section.heading, said=said, came=came)
        if found.factor is not None and not found.right:
            sentence += " " + words("lesson.factor", factor=figures(found.factor))
        show, icon = (st.success, "target") if found.right else (st.warning, "straighten")
        show(sentence, icon=f":material/{icon}:")


def _unit(question: Question, words: Words) -> str:
    return words(f"lesson.unit.{_UNIT_KEYS[question.unit]}")


def _number(value: float, question: Question, words: Words) -> str:
    return _with_unit(figures(value), question, words)


def _exactly(value: float, question: Question, words: Words) -> str:
    """With a figure more than elsewhere: it may lie close to the border of two choices."""
    return f"×{value:.4g}" if question.unit == "x" else _with_unit(f"{value:.4g}", question, words)


def _with_unit(number: str, question: Question, words: Words) -> str:
    if question.unit == "n":
        return number
    return f"{number} %" if question.unit == "%" else f"{number} {_unit(question, words)}"
