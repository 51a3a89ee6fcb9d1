"""Latency against throughput for the knobs as they are: predicted, and said to be so. To measure it takes minutes
of a device that others share; the command line does that.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import streamlit as st

from lab.analysis.load import Sweep
from lab.engine.coder import Coder
from lab.experiments.load import closed_loop, cut_of, on_calibration, open_loop
from lab.report.charts.load import load_charts, load_settings
from lab.report.load import load_remarks, load_table
from lab.report.markup import as_typed
from lab.report.words import Words
from lab.run.calibration import Calibration, shipped
from lab.run.lanes import RunSpec
from lab.run.predict import source_of
from lab.run.prepare import prepare_apart
from lab.ui.charts import show_charts
from lab.ui.controls import Choice
from lab.ui.device import device, text_of
from lab.ui.knobs import Knobs
from lab.workload.closed_loop import closed_loop as people
from lab.workload.request import Workload

FEWEST = 32  # requests
ANY_RATE = 2.0  # where the scenario has all at once: the sweep stretches the times
USER_TOKENS = 16


def show_load(choice: Choice, words: Words) -> None:
    """Folded; computed when it is opened, and not while something is measured."""
    place = st.expander(words("load.title"), key="load_place", on_change="rerun")
    if not place.open:
        return
    with place:
        if device().measuring:
            st.caption(words("load.not_now"))
        elif choice.spec is not None:
            _show(choice.knobs, choice.spec, words)


def _show(knobs: Knobs, spec: RunSpec, words: Words) -> None:
    calibration = device().calibration(spec.model) or (shipped() if not spec.model else None)
    if calibration is None:
        st.caption(words("load.no_calibration"))
        return
    try:
        sweep = sweep_of(_with_enough(knobs, spec), knobs.think, calibration)
    except ValueError as error:
        st.caption(words("why.wrong", detail=as_typed(words.said(error))))
        return
    st.markdown(words("load.predicted", device=as_typed(calibration.provenance.device)))
    show_charts(load_charts(sweep, words), spec.workload.name, words)
    for said in load_remarks(sweep, words):
        st.caption(as_typed(said))
    st.html(load_table(sweep, words))
    st.text(load_settings(sweep, words))


def _with_enough(knobs: Knobs, spec: RunSpec) -> RunSpec:
    """With so many requests that something is left between the ends, and with times that can be stretched. A trace
    and a visitor's own prompts are as they are."""
    if not knobs.rated or knobs.scenario == "own":
        return spec
    count = max(FEWEST, len(spec.workload.requests), 3 * max(p.max_batch_size for p in spec.policies))
    changed = replace(knobs, requests=count)
    first, last = spec.workload.requests[0].arrival, spec.workload.requests[-1].arrival
    return (changed if last > first else replace(changed, rate=knobs.rate or ANY_RATE)).spec([])


@lru_cache(maxsize=4)
def sweep_of(spec: RunSpec, think_ms: int, calibration: Calibration) -> Sweep:
    """Raises ValueError, one sentence, for what has no such curve."""
    facts = device().engine.facts
    folder = calibration.folder or (facts.folder if facts else "")
    coder = Coder(text_of(folder) if folder else None, calibration.shape.vocab)
    serve, source = on_calibration(spec, calibration), source_of(calibration)

    def ready(workload: Workload) -> Workload:
        return prepare_apart(workload, coder, calibration.fingerprint)[0]

    def asking(users: int, seed: int) -> Workload:
        each = -(-max(FEWEST, 4 * max(seats, users)) // users)
        return ready(people(users, each, think_ms / 1000, max_new_tokens=USER_TOKENS, seed=seed))

    seats = max(p.max_batch_size for p in spec.policies)
    if any(r.follows is not None for r in spec.workload.requests):
        users = sorted({1, 2, max(1, seats // 2), seats, 2 * seats})
        return closed_loop(
            spec.policies,
            asking,
            [spec.workload.seed],
            serve,
            source,
            _silent,
            users=users,
            think_s=think_ms / 1000,
        )
    cut_of(spec.policies, len(spec.workload.requests))
    return open_loop(spec.policies, [ready(spec.workload)], serve, source, _silent)


def _silent(phase: str, done: int, total: int) -> None:
    return
