"""`trace`: what a file of real requests holds, and what a run would replay of it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from lab.cli.options import path
from lab.cli.output import print_json
from lab.cli.trace_options import add_trace_options, cut_of
from lab.run.expect import RECORDED_PRICE, work_of
from lab.run.lanes import RunSpec
from lab.scheduling.policy import MODES, mode
from lab.workload.request import MAX_REQUESTS
from lab.workload.trace.preview import Concern, Lengths, Preview, preview
from lab.workload.trace.replay import Cut, workload_of

_COMPUTING = "four modes, 8 seats, SmolLM2-135M: predicted from a price recorded on two CPU cores"

_CONCERNS = {
    Concern.SORTED: "{moved:,} rows came before the row above them; the trace was sorted by time",
    Concern.NO_TIMES: "the file has lengths and no times: all requests arrive at once",
    Concern.TICKS: "arrivals are rounded to ticks of a second or more, which hides what a wait window does",
    Concern.QUIET: "the slice has less than 5 % of the trace's mean rate",
    Concern.EMPTY: "no request is left: take another slice",
    Concern.TOO_MANY: "a run takes {most} requests at most: take a slice (--from, --to), or --requests {most}",
}


def add_to(commands: Any) -> None:
    command = commands.add_parser("trace", help="show what a request trace holds, and what would be replayed of it")
    command.add_argument("file", type=path, metavar="FILE", help="CSV or JSON lines, known by its columns")
    command.add_argument("--requests", type=int, metavar="N", help="the first N of the slice (default: all)")
    add_trace_options(command)
    command.add_argument("--json", action="store_true", help="one JSON object on stdout")
    command.set_defaults(command=trace)


def trace(options: argparse.Namespace) -> int:
    made = cut_of(options, options.file)
    found, seconds = preview(made), computing_seconds(made)
    if options.json:
        print_json(_json(found, made.replay.said, seconds))
    else:
        print(_text(found, made.replay.said, seconds))
    return 0


def computing_seconds(made: Cut) -> float | None:
    """Of what `run` would do with its default modes and seats, at a recorded price; None where it would refuse."""
    try:
        spec = RunSpec(workload_of(made, "trace"), tuple(map(mode, MODES)))
    except ValueError:
        return None
    return work_of(spec) * RECORDED_PRICE


def _json(found: Preview, said: str, seconds: float | None) -> dict[str, Any]:
    """`dropped` is a number, so that read = kept + dropped; `dropped_because` has its parts."""
    return {
        "name": found.name,
        "format": found.format,
        "unit": found.unit,
        "read": found.read,
        "kept": found.kept,
        "dropped": sum(found.dropped.values()),
        "dropped_because": dict(found.dropped),
        "span_s": found.span,
        "rate": found.rate,
        "prompt_tokens": None if found.prompt is None else asdict(found.prompt),
        "output_tokens": None if found.output is None else asdict(found.output),
        "gap_cv": found.gap_cv,
        "dispersion": found.dispersion,
        "peak_per_s": found.peak,
        "file_span_s": found.file_span,
        "file_rate": found.file_rate,
        "changed": said,
        "expected": {"arrivals_s": found.span, "computing_s": seconds, "computing_of": _COMPUTING},
        "notes": _notes(found),
    }


def _text(found: Preview, said: str, seconds: float | None) -> str:
    lines = [
        f"{found.name}: {found.format}, times in {found.unit}",
        f"whole file  {_rate(found.file_span, found.file_rate)}",
        f"changed     {said or 'nothing'}",
        f"rows        {found.read:,} read = {found.kept:,} kept + {sum(found.dropped.values()):,} dropped",
        *(f"            {n:,} {why.replace('_', ' ')}" for why, n in found.dropped.items()),
        f"arrivals    {_rate(found.span, found.rate)}, at most {found.peak} in one second",
        f"burstiness  variance ÷ mean per second {_two(found.dispersion)}, CV of the gaps {_two(found.gap_cv)} "
        "(Poisson: 1 and 1)",
        f"prompts     {_lengths(found.prompt)}",
        f"answers     {_lengths(found.output)}",
        f"duration    {_duration(found.span, seconds)}",
        *(f"note        {note}" for note in _notes(found)),
    ]
    return "\n".join(lines)


def _duration(span: float, seconds: float | None) -> str:
    computing = "" if seconds is None else f"; computing takes some {seconds:.0f} s ({_COMPUTING})"
    return f"arrivals end after {span:,.1f} s of each lane's clock, where waiting costs no time{computing}"


def _notes(found: Preview) -> list[str]:
    return [_CONCERNS[concern].format(moved=found.moved, most=MAX_REQUESTS) for concern in found.concerns]


def _rate(span: float, rate: float | None) -> str:
    return f"{span:,.1f} s" if rate is None else f"{span:,.1f} s, {rate:.3g} requests per second"


def _lengths(lengths: Lengths | None) -> str:
    if lengths is None:
        return "–"
    capped = f", {lengths.capped:,} cut to the cap" if lengths.capped else ""
    return (
        f"{lengths.mean:.0f} tokens in the mean, p50 {lengths.p50:.0f}, p95 {lengths.p95:.0f}, max {lengths.max:,}"
        f", {lengths.total:,} in all{capped}"
    )


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"
