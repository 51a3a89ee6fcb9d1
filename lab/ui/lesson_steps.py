"""The steps of a lesson as a page shows them: to read, to predict, to run and compare, to try, to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from lab.analysis.metrics import lane_metrics
from lab.lesson.expression import unit
from lab.lesson.judge import grade, judge
from lab.lesson.lesson import Claim, Lesson, Question, Step, Word, met, scenes
from lab.lesson.numbers import figures, written
from lab.lesson.scene import Scene
from lab.lesson.text import LessonText, filled, placeholders
from lab.report.score import score_table
from lab.report.words import Words
from lab.ui.flow import show_flow
from lab.ui.lesson_run import TOO_EARLY, show_scene
from lab.ui.lesson_views import show_found
from lab.ui.lesson_visit import go, visit

STOPS: Mapping[str, tuple[float, ...]] = {
    "batch": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
    "window": (0, 10, 20, 50, 100, 200, 500),
    "requests": (1, 4, 8, 16, 24, 32),
    "rate": (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 32),
    "kv": (4, 6, 9, 12, 16, 24, 48),
}


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


def _said(lesson: Lesson, step: Step, text: LessonText, key: str) -> str:
    return filled(text.sections[key].body, visit().runs(), step.scene, lesson.claims_by_key)


def _met(lesson: Lesson, step: Step) -> tuple[Word, ...]:
    return met(lesson, lesson.steps.index(step))


def _read(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(_said(lesson, step, text, step.key))
    _say_if_recorded(step, text.sections[step.key].body, words)
    if step.shows == "flow":
        show_flow(words)
    elif step.kind == "text":
        show_found(step, words)


def _say_if_recorded(step: Step, body: str, words: Words) -> None:
    """Below a text: that some of its numbers are of a recorded run."""
    if not all(visit().has_run(measure, step.scene) for measure, _ in placeholders(body)):
        st.caption(words("lesson.numbers_recorded"))


def _predict(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(_said(lesson, step, text, step.key))
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
        label = words("lesson.your_guess", unit=words(f"lesson.unit.{_UNIT_KEYS[question.unit]}"))
        st.number_input(label, value=None, key=key, format="%g", on_change=_note, args=(place, key), width=220)


def _note(place: tuple[str, str], key: str) -> None:
    """Before the page is drawn: whoever types a number and presses "Next" at once is on the next page by then."""
    if (given := st.session_state[key]) is not None:
        visit().guesses[place] = given
    else:
        visit().guesses.pop(place, None)


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


def _run(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(_said(lesson, step, text, step.key))
    asked = [q for s, q in lesson.questions if s.scene == step.scene and _just_before(lesson, s, step)]
    missing = [q for q in asked if visit().guess(lesson, q) is None]
    unguessed = bool(missing) and (lesson.name, step.key) not in visit().revealed
    if unguessed:
        _ask_to_guess(lesson, step, missing, text, words)
    scene = scenes()[step.scene]
    ran = show_scene(step.scene, scene, words, known=_met(lesson, step), unguessed=unguessed) is not None
    if step.shows == "flow":
        show_flow(words)
    if not ran or unguessed:
        return
    _compare(lesson, step, asked, text, words)
    show_found(step, words)
    st.markdown(f"#### {text.sections[f'{step.key}_why'].heading}")
    st.markdown(_said(lesson, step, text, f"{step.key}_why"))
    _say_if_recorded(step, text.sections[f"{step.key}_why"].body, words)
    _claims(step, text, words)


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


def _compare(lesson: Lesson, step: Step, asked: list[Question], text: LessonText, words: Words) -> None:
    """What was guessed beside what came."""
    for question in asked:
        guess, section = visit().guess(lesson, question), text.sections[question.key]
        if guess is None or (found := grade(question, guess, visit().runs(), step.scene)) is None:
            continue
        name = "" if question.unit == "n" else f" {words(f'lesson.unit.{_UNIT_KEYS[question.unit]}')}"
        if found.choice is not None:
            said = section.choices[int(guess)]
            number = (
                f"{found.actual:.4g}"  # a digit more than elsewhere: it may lie close to the border of two choices
            )
            came = f"{section.choices[found.choice]} ({f'×{number}' if question.unit == 'x' else number + name})"
        else:
            said, came = f"{figures(guess)}{name}", f"{figures(found.actual)}{name}"
        own = visit().has_run(question.measure, step.scene)
        key = "lesson.compared" if own else "lesson.compared_recorded"
        sentence = words(key, heading=section.heading, said=said, came=came)
        if found.factor is not None and not found.right:
            sentence += " " + words("lesson.factor", factor=figures(found.factor))
        show, icon = (st.success, "target") if found.right else (st.warning, "straighten")
        show(sentence, icon=f":material/{icon}:")


def _claims(step: Step, text: LessonText, words: Words) -> None:
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
        said = {"claim": section.heading, "where": where, "came": came, "bound": _bound(claim, words)}
        if verdict.held:
            st.markdown(words("lesson.held", **said))
        else:
            st.markdown(words("lesson.not_held", why=section.body, **said))


def _plain(value: float, claim: Claim) -> str:
    """The claim's number; a ratio as a mere number, for its heading says of what."""
    of = unit(claim.measure)
    return f"{float(f'{value:.3g}'):g}" if of == "x" else written(value, of)


def _bound(claim: Claim, words: Words) -> str:
    """What the claim expects of its number."""
    least, most = (None if x is None else _plain(x, claim) for x in (claim.least, claim.most))
    if least is not None and most is not None:
        return words("lesson.bound.exactly" if least == most else "lesson.bound.both", least=least, most=most)
    return words("lesson.bound.most", most=most) if least is None else words("lesson.bound.least", least=least)


def _try(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(_said(lesson, step, text, step.key))
    scene, known = _with_knobs(step, scenes()[step.scene], words), _met(lesson, step)
    record = show_scene(f"try {step.scene}", scene, words, known=known, recorded=False)
    if record is not None:
        st.html(score_table([lane_metrics(record, lane) for lane in record.lanes], words, known))
        why = f"{step.key}_why"
        st.markdown(f"#### {text.sections[why].heading}")
        st.markdown(_said(lesson, step, text, why))


def _with_knobs(step: Step, scene: Scene, words: Words) -> Scene:
    moved: dict[str, float] = {}
    with st.container(horizontal=True, gap="medium"):
        for knob in step.knobs:
            stops = STOPS[knob]
            first = _as_set(scene, knob)
            moved[knob] = st.select_slider(
                words(f"knob.{knob}"),
                sorted({*stops, first}),
                value=first,
                key=f"try_{step.scene}_{knob}",
                format_func=lambda v: f"{v:g}",
                persist_state="session",
                width=320,
            )
    return scene.turned(moved)


def _as_set(scene: Scene, knob: str) -> float:
    """Where the knob stands in the lesson."""
    if knob in ("batch", "window"):
        return max(float(getattr(lane, knob)) for lane in scene.lanes.values() if lane.mode != "none")
    found: float | None = getattr(scene, knob)
    assert found is not None, f"{knob} is freed, but the scene does not set it"
    return found


def _check(lesson: Lesson, step: Step, text: LessonText, words: Words) -> None:
    st.markdown(_said(lesson, step, text, step.key))
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
