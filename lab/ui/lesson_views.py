"""What a run may add to its explanation: throughput as bars, load, the four modes."""

from __future__ import annotations

import streamlit as st

from lab.lesson.lesson import FOLDER, Step, scenes
from lab.lesson.measures import see
from lab.lesson.numbers import written
from lab.lesson.text import filled
from lab.report.markup import Html, html, table, with_swatch
from lab.report.palette import mode_colour
from lab.report.words import Words
from lab.ui.lesson_visit import visit


def show_found(step: Step, words: Words) -> None:
    """What a run step adds to its explanation."""
    if step.shows == "bars":
        st.html(_bars(step, words))
    elif step.shows == "curve":
        st.html(_load(step, words))
    elif step.shows == "modes":
        st.markdown(modes_text(words))


def modes_text(words: Words) -> str:
    """The comparison of the four modes, with numbers of the visitor's own run or of the recorded one."""
    text = (FOLDER / f"modes.{words.language}.md").read_text(encoding="utf-8")
    return filled(text, visit().runs(), "modes")


def _bars(step: Step, words: Words) -> str:
    """Throughput of each lane, as long bars."""
    record = visit().runs()[step.scene].record
    found = [(lane.name, see(record, lane.name).metrics.throughput or 0.0) for lane in record.lanes]
    most = max(value for _, value in found)
    rows = [[with_swatch(name, mode_colour(name)), _bar(value / most, mode_colour(name)), written(value, "tok/s")]
            for name, value in found]  # fmt: skip
    name = words("score.throughput.name")
    return table(["", name, ""], rows, kind="bars", caption=name)


def _bar(share: float, colour: str) -> Html:
    return Html(f'<div class="bar" style="width:{share:.1%};background:{html(colour)}"></div>')


def _load(step: Step, words: Words) -> str:
    """Mean end-to-end time of each lane against the rate, for the scenes that were run or are shipped."""
    runs = visit().runs()
    known = [name for name in step.scenes if name in runs]
    lanes = list(scenes()[step.scene].lanes)
    head = [words("lesson.rate"), *(with_swatch(words.mode(x), mode_colour(x)) for x in lanes), ""]
    rows = []
    for name in known:
        taken = runs[name]
        cells = [written(see(taken.record, taken.scene.lane_name(x)).metrics.e2e.mean, "s") for x in lanes]
        own = words("lesson.yours") if name in visit().records else words("lesson.shipped")
        rows.append([f"{taken.scene.rate:g} req/s", *cells, own])
    return table(head, rows, kind="load", caption=words("lesson.load"))
