"""A scene with some knobs freed, to be run as the learner likes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from lab.analysis.metrics import lane_metrics
from lab.lesson.lesson import Step
from lab.lesson.scene import Scene
from lab.report.tries import Try
from lab.report.words import Words
from lab.run.record import RunRecord
from lab.ui.lesson_visit import visit

MOST_TRIES = 8

STOPS: Mapping[str, tuple[float, ...]] = {
    "batch": (1, 2, 3, 4, 6, 8, 12, 16, 24, 32),
    "window": (0, 10, 20, 50, 100, 200, 500),
    "requests": (1, 4, 8, 16, 24, 32),
    "rate": (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 32),
    "kv": (4, 6, 9, 12, 16, 24, 48),
}


def knobs_of(place: str, step: Step, scene: Scene, words: Words) -> Mapping[str, float]:
    """As the learner has set them, by sliders. `place`: where these keep their values."""
    moved: dict[str, float] = {}
    with st.container(horizontal=True, gap="medium"):
        for knob in step.knobs:
            stops = STOPS[knob]
            first = _as_set(scene, knob)
            moved[knob] = st.select_slider(
                words(f"knob.{knob}"),
                sorted({*stops, first}),
                value=first,
                key=f"{place} {knob}",
                format_func=lambda v: f"{v:g}",
                persist_state="session",
                width=320,
            )
    return moved


def keep_try(place: str, record: RunRecord) -> Sequence[Try]:
    """The tries at this place, this run among them, the newest last."""
    tries = visit().tries.setdefault(place, [])
    run = visit().made_by[place]
    if run not in (one.run for one in tries):
        lanes = tuple(lane_metrics(record, lane) for lane in record.lanes)
        tries.append(Try(run, visit().asked[place], lanes))
        del tries[:-MOST_TRIES]
    return tries


def _as_set(scene: Scene, knob: str) -> float:
    """Where the knob stands in the lesson."""
    if knob in ("batch", "window"):
        return max(float(getattr(lane, knob)) for lane in scene.lanes.values() if lane.mode != "none")
    found: float | None = getattr(scene, knob)
    assert found is not None, f"{knob} is freed, but the scene does not set it"
    return found
