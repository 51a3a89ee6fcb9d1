"""A validation in words: a report in Markdown, and one JSON object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lab.analysis.accuracy import BOUND, MAIN, METRICS, Cell, goal_met, median_abs_error
from lab.experiments.validate import ANSWERS, PROMPTS, Validation

_NAMES = {
    "throughput": "throughput",
    "mean_batch": "mean batch",
    **{
        f"{m}_{s}": f"{m.upper()} {s.replace('p', 'P')}"
        for m in ("ttft", "tpot", "e2e")
        for s in ("mean", "p50", "p95")
    },
}
_MARKS = {"agrees": "", "differs": " ✗", "inconclusive": " ?"}


def validation_json(v: Validation) -> dict[str, Any]:
    """Seconds, tokens per second, requests per second; errors and spreads are fractions."""
    p = v.calibration.provenance
    return {
        "provenance": asdict(p) | {"versions": dict(p.versions)},
        "settings": {
            "max_batch_size": v.batch_size,
            "requests": v.requests,
            "repeats": v.repeats,
            "seed": v.seed,
            "loads": list(v.loads),
        },
        "replay": {
            "lanes": v.lanes,
            "steps": v.steps,
            "identical": not v.departures,
            "departures": list(v.departures),
        },
        "calibration": {
            "samples": v.calibration.samples,
            "held_out": v.calibration.held_out,
            "median_abs_error": v.calibration.error,
        },
        "capacity_req_s": dict(v.capacity),
        "drift": v.drift,
        "bound": BOUND,
        "cells": [cell._asdict() for cell in v.cells],
        "verdicts": _counts(v.cells),
        "median_abs_error": median_abs_error(v.cells),
        "goal_met": goal_met(v.cells),
    }


def _counts(cells: tuple[Cell, ...]) -> dict[str, int]:
    return {verdict: sum(c.verdict == verdict for c in cells) for verdict in _MARKS}


def validation_text(v: Validation) -> str:
    return "\n".join([*_head(v), *_goal(v), *_measured(v), *_errors(v)])


def _head(v: Validation) -> list[str]:
    p = v.calibration.provenance
    same = "all of them as they were" if not v.departures else f"{len(v.departures)} lanes departed"
    return [
        "# Validation of predictions",
        "",
        f"Written by `python -m lab validate --report docs/validation.md` on {p.created}: {p.model}, {p.dtype}, "
        f"{p.device}, {p.threads} threads, commit {p.commit or 'unknown'}.",
        "",
        f"**The loop.** {v.lanes} measured lanes were run again with their own step times: {v.steps:,} steps, "
        f"{same}.",
        *(f"- {sentence}" for sentence in v.departures),
        "",
        f"**The fit.** {v.calibration.samples} sizes of steps were measured; {v.calibration.held_out} of them, "
        f"held out of the fit, are predicted with a median error of {v.calibration.error:.1%}. While the runs were "
        f"measured the reference step took {v.drift:.2f} times what it took while calibrating.",
        "",
        f"**The runs.** {v.requests} requests, {PROMPTS[0]} to {PROMPTS[1]} prompt tokens, {ANSWERS[0]} to "
        f"{ANSWERS[1]} answer tokens, Poisson arrivals at {', '.join(f'{load:g}' for load in v.loads)} of each "
        f"mode's capacity, {v.batch_size} seats, {v.repeats} repeats. Capacities: "
        + ", ".join(f"{name} {rate:.2f}" for name, rate in v.capacity.items())
        + " requests per second.",
        "",
    ]


def _goal(v: Validation) -> list[str]:
    errors, counts = median_abs_error(v.cells), _counts(v.cells)
    said = "met" if goal_met(v.cells) else "not met"
    return [
        f"**The goal**, a median error of at most {BOUND:.0%} for throughput and mean TTFT, TPOT and E2E, where a "
        f"cell too noisy to judge counts as beyond it, is {said}. Median errors over modes and loads:",
        "",
        "| " + " | ".join(_NAMES[m] for m in METRICS) + " |",
        "|" + "---|" * len(METRICS),
        "| " + " | ".join(f"**{errors[m]:.1%}**" if m in MAIN else f"{errors[m]:.1%}" for m in METRICS) + " |",
        "",
        f"Of {len(v.cells)} cells {counts['agrees']} agree, {counts['differs']} differ, {counts['inconclusive']} "
        "are inconclusive.",
        "",
    ]


def _measured(v: Validation) -> list[str]:
    shown: tuple[tuple[str, Callable[[float], str]], ...] = (
        ("throughput", lambda x: f"{x:.1f}"),
        ("ttft_mean", lambda x: f"{x * 1000:.0f}"),
        ("tpot_mean", lambda x: f"{x * 1000:.1f}"),
        ("e2e_mean", lambda x: f"{x * 1000:.0f}"),
        ("mean_batch", lambda x: f"{x:.2f}"),
    )
    units = {"throughput": ", tok/s", "mean_batch": ""}
    return [
        "## Measured / predicted",
        "",
        "| mode | load | " + " | ".join(_NAMES[m] + units.get(m, ", ms") for m, _ in shown) + " |",
        "|---|---|" + "---|" * len(shown),
        *(
            f"| {name} | {load:g} | "
            + " | ".join(f"{show(c[m].measured)} / {show(c[m].predicted)}" for m, show in shown)
            + " |"
            for (name, load), c in _by_case(v.cells).items()
        ),
        "",
    ]


def _errors(v: Validation) -> list[str]:
    return [
        "## Errors: predicted / measured − 1 ± spread of the repeats",
        "",
        f"In %: the median over the repeats, and its median absolute deviation. Within {BOUND:.0%} it agrees, "
        "or within twice the spread while that is at most 5 %. ✗ differs; ? inconclusive: too noisy to say. "
        "Mean batch: rows computed a step.",
        "",
        "| mode | load | " + " | ".join(_NAMES[m] for m in METRICS) + " |",
        "|---|---|" + "---|" * len(METRICS),
        *(
            f"| {name} | {load:g} | " + " | ".join(_error(c[m]) for m in METRICS) + " |"
            for (name, load), c in _by_case(v.cells).items()
        ),
    ]


def _error(cell: Cell) -> str:
    return f"{cell.error * 100:+.1f} ± {cell.spread * 100:.1f}{_MARKS[cell.verdict]}"


def _by_case(cells: tuple[Cell, ...]) -> dict[tuple[str, float], dict[str, Cell]]:
    found: dict[tuple[str, float], dict[str, Cell]] = {}
    for cell in cells:
        found.setdefault((cell.mode, cell.load), {})[cell.metric] = cell
    return found
