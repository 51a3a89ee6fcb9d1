"""What a step may add to its words: throughput as bars, a ladder of lanes, load, compilations, the four modes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

import streamlit as st

from lab.engine.compiled_call import CompiledCall
from lab.experiments.rates import RateCurve, rate_curves, rate_point
from lab.experiments.recompiles import RECORDED, Recompiles, read_recompiles
from lab.lesson.expression import Taken
from lab.lesson.ladder import Rung, ladder
from lab.lesson.lesson import FOLDER, Step, scenes
from lab.lesson.measures import LIST, see
from lab.lesson.numbers import written
from lab.lesson.text import filled
from lab.report.charts.rates import RateRun, rate_chart
from lab.report.markup import Html, as_typed, html, table, with_swatch
from lab.report.palette import lane_colours, mode_colour
from lab.report.provenance import day_of
from lab.report.words import Words
from lab.run.calibration import Calibration, shipped
from lab.run.lanes import RunSpec
from lab.ui.charts import show_charts
from lab.ui.device import device
from lab.ui.lesson_visit import visit
from lab.workload.request import Workload

MODES = "modes"  # the scene that compares them


def show_found(step: Step, words: Words) -> None:
    """What it adds, if anything; of a run step there is a run."""
    if step.shows == "bars":
        st.html(_bars(step, words))
    elif step.shows == "ladder":
        _show_ladders(step, words)
    elif step.shows == "curve":
        _show_curve(step, words)
        st.html(_load(step, words))
    elif step.shows == "compiles":
        _show_compiles(words)
    elif step.shows == "modes":
        show_modes(words)


def show_modes(words: Words) -> None:
    """The comparison of the four modes, with numbers of their own run or the recorded one, and whence."""
    text = (FOLDER / f"modes.{words.language}.md").read_text(encoding="utf-8")
    runs = visit().runs()
    st.markdown(filled(text, runs, MODES))
    made = runs[MODES].record.provenance
    kind = "measured" if MODES in visit().records else "recorded"
    device = as_typed(made.device)
    st.caption(words(f"lesson.modes_here.{kind}", when=day_of(made.created), device=device, dtype=made.dtype))


def _bars(step: Step, words: Words) -> str:
    """Throughput of each lane, as long bars."""
    record = visit().runs()[step.scene].record
    found = [(lane.name, see(record, lane.name).metrics.throughput or 0.0) for lane in record.lanes]
    most = max(value for _, value in found)
    colours = lane_colours(name for name, _ in found)
    rows = [
        [with_swatch(words.mode(name), colours[name]), _bar(value / most, colours[name]), written(value, "tok/s")]
        for name, value in found
    ]
    name = words("score.throughput.name")
    return table(["", name, ""], rows, kind="bars", caption=name)


def _bar(share: float, colour: str) -> Html:
    return Html(f'<div class="bar" style="width:{share:.1%};background:{html(colour)}"></div>')


def _show_ladders(step: Step, words: Words) -> None:
    """What each rung gave and added, ladder by ladder, all to one scale."""
    taken = visit().runs()[step.scene]
    climbed = {key: ladder(lanes, taken) for key, lanes in step.rungs.items()}
    most = max(rung.throughput for rungs in climbed.values() for rung in rungs)
    for key, rungs in climbed.items():
        st.markdown(f"**{words(f'lesson.rungs.{key}')}**")
        st.html(_ladder(rungs, most, words(f"lesson.rungs.{key}"), words))


def _ladder(rungs: tuple[Rung, ...], most: float, caption: str, words: Words) -> str:
    head = ["rung", "throughput", "gained", "urgent"]
    rows = []
    for below, rung in zip((None, *rungs), rungs, strict=False):
        kept = min(rung.throughput, below.throughput if below else 0.0)
        colour = mode_colour(rung.lane)
        bar = _added_bar(kept / most, (rung.throughput - kept) / most, colour)
        cells = [Html(f"{bar}{html(written(rung.throughput, 'tok/s'))}"), written(rung.gained, "x")]
        rows.append([with_swatch(words.mode(rung.lane), colour), *cells, written(rung.urgent_wait, "s")])
    return table([words(f"lesson.rungs.{x}") for x in head], rows, kind="ladder", caption=caption)


def _added_bar(kept: float, added: float, colour: str) -> Html:
    """Pale as far as the rung below reaches, bright beyond."""
    parts = ((kept, "kept"), (added, "added"))
    return Html(
        '<div class="bar">'
        + "".join(f'<i class="{x}" style="width:{share:.1%};background:{html(colour)}"></i>' for share, x in parts)
        + "</div>"
    )


def _show_curve(step: Step, words: Words) -> None:
    """The visitor's runs, and those that ship, on the curve that is predicted for the same requests: for this
    machine, or, as long as all are recorded, for the one on which they were."""
    runs, here = visit().runs(), visit().runs()[step.scene]
    known = {name: runs[name] for name in step.scenes if name in runs}
    own = any(name in visit().records for name in known)
    calibration = (device().calibration() if own else None) or shipped()
    try:
        curves = _curves(here.scene.spec(), here.record.workload, calibration)
    except ValueError as error:  # the scene does not fit the model that was calibrated
        st.caption(words("why.wrong", detail=as_typed(error)))
        return
    show_charts(
        [rate_chart(curves, _points(known), calibration.provenance.device, words)], here.record.workload.name, words
    )


@lru_cache(maxsize=8)
def _curves(spec: RunSpec, workload: Workload, calibration: Calibration) -> tuple[RateCurve, ...]:
    return rate_curves(spec, workload, calibration)


def _points(known: Mapping[str, Taken]) -> list[RateRun]:
    """At the rates at which the requests really came."""
    return [
        RateRun(lane.name, rate_point(taken.record, lane.name, rate), name in visit().records)
        for name, taken in known.items()
        if (rate := LIST["rate"][1](taken.record)) is not None
        for lane in taken.record.lanes
    ]


@cache
def _recompiles() -> Recompiles:
    return read_recompiles(RECORDED.read_text(encoding="utf-8"))


def _show_compiles(words: Words) -> None:
    """First calls of a compiled step, as they were recorded."""
    found = _recompiles()
    st.html(_compiles(found, words))
    st.caption(
        words(
            "lesson.compiles.origin",
            device=as_typed(found.device),
            date=day_of(found.created),
            torch=found.torch,
            model=found.model,
            threads=found.threads,
        )
    )


def _compiles(found: Recompiles, words: Words) -> str:
    both = (found.fixed, found.dynamic)
    longest = max(call.first_s for calls in both for call in calls)
    rows = [
        [str(calls[0].rows), *(_compiled(call, longest, words) for call in calls)]
        for calls in zip(*both, strict=True)
    ]
    totals = [words("lesson.compiles.total", n=sum(c.compilations for c in calls)) for calls in both]
    head = [words(f"lesson.compiles.{x}") for x in ("rows", "fixed", "dynamic")]
    return table(head, [*rows, ["", *totals]], kind="compiles", caption=words("lesson.compiles.label"))


def _compiled(call: CompiledCall, longest: float, words: Words) -> Html:
    time = written(call.first_s, "s")
    told = words("lesson.compiles.compiled", time=time) if call.compilations else time
    return Html(f"{_bar(call.first_s / longest, 'currentColor')}{html(told)}")


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
        rows.append([written(LIST["rate"][1](taken.record), "req/s"), *cells, own])
    return table(head, rows, kind="load", caption=words("lesson.load"))
