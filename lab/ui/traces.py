"""A visitor's own request trace: uploaded, read under bounds, cut, and summed up before it runs. Nothing is kept of
it but arrivals and lengths, and that only for this visit.
"""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from lab.report.markup import as_typed, table
from lab.report.words import Words
from lab.run.expect import RECORDED_PRICE, work_of
from lab.run.lanes import RunSpec
from lab.ui.device import device
from lab.ui.knobs import Knobs
from lab.ui.settings import number
from lab.workload.request import MAX_REQUESTS
from lab.workload.trace.preview import Lengths, Preview, preview
from lab.workload.trace.reading import Trace, read_trace
from lab.workload.trace.replay import cut

MOST_UPLOAD_MB = 20
_CUTS = (
    ("trace_start", "0"),
    ("trace_end", "–"),
    ("trace_scale", "0.0625"),
    ("trace_prompt_cap", "–"),
    ("trace_answer_cap", "–"),
    ("trace_gap", "–"),
    ("trace_speed", "1"),
)


def show_trace(words: Words) -> tuple[Trace | None, DeltaGenerator]:
    """Where it comes from and how it is cut; returns the trace, if there is one, and a place for its preview."""
    with st.expander(words("trace.title"), expanded=True, key="trace_place"):
        left, right = st.columns([2, 3], gap="medium")
        with left:
            st.file_uploader(
                words("trace.file"),
                max_upload_size=MOST_UPLOAD_MB,
                key="trace_file",
                on_change=_take_file,
                help=words("trace.formats"),
            )
            if sentence := st.session_state.get("trace_error"):
                st.error(words("trace.unreadable", detail=as_typed(words.said(sentence))))
            if current_trace() is not None:
                with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="trace_cuts"):
                    for name, empty in _CUTS:
                        number(name, words, empty)
    return current_trace(), right


def current_trace() -> Trace | None:
    trace: Trace | None = st.session_state.get("trace")
    return trace


def _take_file() -> None:
    """Before the page is drawn. A damaged, empty or hostile file is one sentence."""
    file = st.session_state["trace_file"]
    st.session_state["trace"], st.session_state["trace_error"] = None, ""
    if file is None:
        return
    try:
        st.session_state["trace"] = read_trace(file, file.name)
    except ValueError as error:
        st.session_state["trace_error"] = str(error)


def show_preview(trace: Trace, knobs: Knobs, spec: RunSpec | None, words: Words) -> None:
    try:
        found = preview(cut(trace, knobs.replay))
    except ValueError:
        return  # the knobs' own sentence says why
    st.html(table([], _rows(found, spec, words), kind="trace", caption=words("trace.title")))
    for concern in found.concerns:
        st.caption(words(f"trace.concern.{concern}", moved=f"{found.moved:,}", most=MAX_REQUESTS))


def _rows(found: Preview, spec: RunSpec | None, words: Words) -> list[list[str]]:
    dropped = sum(found.dropped.values())
    rows = words("trace.rows", read=f"{found.read:,}", kept=f"{found.kept:,}", dropped=f"{dropped:,}")
    reasons = ", ".join(f"{n:,} × {words(f'trace.dropped.{why}')}" for why, n in found.dropped.items())
    told = {
        "format": f"{found.name}: {found.format}, {words(f'trace.unit.{found.unit.split()[0]}')}",
        "file": _rate(found.file_span, found.file_rate, words),
        "kept": f"{rows} ({reasons})" if reasons else rows,
        "arrivals": _rate(found.span, found.rate, words),
        "bursts": words("trace.bursty", dispersion=_two(found.dispersion), cv=_two(found.gap_cv), peak=found.peak),
        "prompts": _lengths(found.prompt, words),
        "answers": _lengths(found.output, words),
        "duration": _duration(found.span, spec, words),
    }
    return [[words(f"trace.row.{name}"), text] for name, text in told.items()]


def _rate(span: float, rate: float | None, words: Words) -> str:
    if rate is None:
        return words("trace.span", span=f"{span:,.1f}")
    return words("trace.span_rate", span=f"{span:,.1f}", rate=f"{rate:.3g}")


def _lengths(lengths: Lengths | None, words: Words) -> str:
    if lengths is None:
        return "–"
    said = words(
        "trace.lengths",
        mean=f"{lengths.mean:.0f}",
        p50=f"{lengths.p50:.0f}",
        p95=f"{lengths.p95:.0f}",
        max=f"{lengths.max:,}",
    )
    return f"{said} {words('trace.capped', n=f'{lengths.capped:,}')}" if lengths.capped else said


def _duration(span: float, spec: RunSpec | None, words: Words) -> str:
    arrivals = words("trace.arrivals_end", span=f"{span:,.1f}")
    if spec is None:
        return arrivals
    expected = device().expect(spec)
    if expected is not None:
        return f"{arrivals} {words('trace.computing', seconds=f'{expected.run:.0f}')}"
    return f"{arrivals} {words('trace.computing_recorded', seconds=f'{work_of(spec) * RECORDED_PRICE:.0f}')}"


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"
