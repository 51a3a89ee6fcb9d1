"""What a visitor has guessed, run and finished in the lessons, as long as the tab is open. No widgets.

The address holds where they are and which lessons they have finished; what they guessed stays with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from lab.lesson.expression import Runs, Taken, names
from lab.lesson.lesson import Lesson, Question, Step, lessons, scenes
from lab.lesson.recorded import recorded_runs
from lab.lesson.text import LessonText, filled
from lab.report.tries import Try
from lab.run.record import RunRecord
from lab.ui.board import Board


@dataclass(slots=True)
class Visit:
    """Boards and records by place: a scene's name, or "try LESSON STEP" for a scene with knobs that were moved.

    guesses    by the lesson's name and the question's key
    recorded   scenes whose recorded run the visitor asked for
    revealed   steps that are to be explained without a guess
    made_by    by place, the run that its record is of
    tries      by place, the oldest first; asked: the knobs with which the last of them was asked for
    """

    guesses: dict[tuple[str, str], float] = field(default_factory=dict)
    boards: dict[str, Board] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    revealed: set[tuple[str, str]] = field(default_factory=set)
    done: set[int] = field(default_factory=set)
    made_by: dict[str, str] = field(default_factory=dict)
    tries: dict[str, list[Try]] = field(default_factory=dict)
    asked: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def guess(self, lesson: Lesson, question: Question) -> float | None:
        return self.guesses.get((lesson.name, question.key))

    def has_run(self, measure: str, here: str) -> bool:
        """Does this measure of the step at hand rest on the visitor's own runs alone?"""
        return all((name.scene or here) in self.records for name in names(measure))

    def runs(self) -> Runs:
        """The visitor's own run of every scene, where there is one; else the recorded one."""
        own = {name: Taken(scene, self.records[name]) for name, scene in scenes().items() if name in self.records}
        return {**recorded_runs(), **own}


def said(lesson: Lesson, step: Step, text: LessonText, key: str) -> str:
    """A section with the visitor's numbers."""
    return filled(text.sections[key].body, visit().runs(), step.scene, lesson.claims_by_key)


def visit() -> Visit:
    made: Visit = st.session_state.setdefault("lessons", Visit())
    if not made.done:
        made.done.update(_numbers(st.query_params.get("done", "")))
    return made


def _numbers(text: str) -> set[int]:
    known = {lesson.number for lesson in lessons()}
    return {int(part) for part in text.split(".") if part.isdecimal() and len(part) < 4 and int(part) in known}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the lessons: `step` counts from 0."""

    lesson: Lesson
    step: int


def place() -> Place | None:
    """As the address says; None for the list of lessons. What it cannot mean is corrected."""
    name = st.query_params.get("lesson")
    lesson = next((x for x in lessons() if x.name == name), None)
    if lesson is None:
        return None
    step = st.query_params.get("step", "1")
    number = int(step) if step.isdecimal() and len(step) < 4 else 1
    return Place(lesson, min(max(number, 1), len(lesson.steps)) - 1)


def go(lesson: Lesson | None, step: int = 0) -> None:
    """To a step of a lesson, or to the list. The address follows."""
    kept: Mapping[str, str] = {k: v for k, v in st.query_params.to_dict().items() if k in ("lang", "present")}
    there = {} if lesson is None else {"lesson": lesson.name, "step": str(step + 1)}
    done = ".".join(map(str, sorted(visit().done)))
    st.query_params.from_dict({**kept, **there, **({"done": done} if done else {})})
