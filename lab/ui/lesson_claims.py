"""The claims of a step, judged on the run at hand: what held, and what did not and why that may be."""

from __future__ import annotations

import streamlit as st

from lab.lesson.expression import unit
from lab.lesson.judge import judge
from lab.lesson.lesson import Claim, Step
from lab.lesson.numbers import written
from lab.lesson.text import LessonText
from lab.report.words import Words
from lab.ui.lesson_visit import visit


def show_claims(step: Step, text: LessonText, words: Words) -> None:
    runs = visit().runs()
    for claim in step.claims:
        verdict = judge(claim, runs, step.scene)
        if verdict is None:
            continue
        section = text.sections[claim.key]
        came = _plain(verdict.found, claim)
        if unit(claim.measure) == "x":
            came = words("lesson.ratio", n=came)
        where = words("lesson.here" if visit().has_run(claim.measure, step.scene) else "lesson.recorded_there")
        said = {"claim": section.heading, "where": where, "came": came, "bound": bound(claim, words)}
        if verdict.held:
            st.markdown(words("lesson.held", **said))
        else:
            st.markdown(words("lesson.not_held", why=section.body, **said))


def _plain(value: float, claim: Claim) -> str:
    """The claim's number; a ratio as a mere number, for its heading says of what."""
    of = unit(claim.measure)
    return f"{float(f'{value:.3g}'):g}" if of == "x" else written(value, of)


def bound(claim: Claim, words: Words) -> str:
    """What the claim expects of its number."""
    least, most = (None if x is None else _plain(x, claim) for x in (claim.least, claim.most))
    if least is not None and most is not None:
        return words("lesson.bound.exactly" if least == most else "lesson.bound.both", least=least, most=most)
    return words("lesson.bound.most", most=most) if least is None else words("lesson.bound.least", least=least)
