"""A sweep over loads as a flat table, one row a run, and as strict JSON. What is undefined is None."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lab.analysis.facts import FACTS_COLUMNS, Cell, lane_facts
from lab.analysis.load import Cell as Load
from lab.analysis.load import Curve, Point, Sweep, never_fills
from lab.analysis.tables import Table

LOAD_COLUMNS = {
    "lane": "name of the mode",
    "loop": "open: requests come at a rate; closed: users ask again after their answer",
    "rate_requests_per_s": "open loop: the rate; empty = all requests at once",
    "users": "closed loop: their number",
    "think_s": "closed loop: from an answer to the next question",
    "repeat_seed": "of this run's prompts, lengths and arrivals",
    "cut": "requests at either end of the run that latencies and throughput leave out, at least",
    "throughput_tokens_per_s": "useful tokens per second between the cuts",
    "e2e_p50_s": "end to end: last token - scheduled arrival; nearest-rank percentiles",
    "e2e_p99_s": "of fewer than 100 requests their longest",
    "e2e_mean_s": "of the requests between the cuts",
    "e2e_n": "how many these are",
    "ttft_p50_s": "time to first token",
    "ttft_p99_s": "of fewer than 100 requests their longest",
    "queue_delay_p50_s": "first scheduled - arrival",
    "batch": "requests that left together, on average",
    "busy_s": "seconds that the device computed",
    "little_present": "L, of the whole run: requests in the house on average",
    "little_rate_per_s": "lambda: requests / seconds of the run",
    "little_wait_s": "W: mean of last token - arrival",
    "little_error": "|L - lambda W| / L",
    "knee": "the load with the most throughput / mean latency",
    **FACTS_COLUMNS,
}


def load_rows(sweep: Sweep) -> Table:
    """See LOAD_COLUMNS; the first row of each mode says under what it ran."""
    return [row for curve in sweep.curves for row in _curve_rows(sweep, curve)]


def _curve_rows(sweep: Sweep, curve: Curve) -> Table:
    cells = [*curve.cells, *([curve.at_once] if curve.at_once else [])]
    rows = [
        _row(sweep, curve, cell, i == curve.knee, seed, point)
        for i, cell in enumerate(cells)
        for seed, point in zip(sweep.seeds, cell.points, strict=True)
    ]
    facts = lane_facts(sweep.setting, sweep.setting.lane(curve.policy.name))
    return [row | (dict.fromkeys(FACTS_COLUMNS) if i else facts) for i, row in enumerate(rows)]


def _row(sweep: Sweep, curve: Curve, cell: Load, knee: bool, seed: int, p: Point) -> dict[str, Cell]:
    is_open = sweep.loop == "open"
    cells: tuple[Cell, ...] = (
        curve.policy.name,
        sweep.loop,
        cell.load if is_open else None,
        None if is_open or cell.load is None else int(cell.load),
        None if is_open else sweep.think_s,
        seed,
        sweep.cut,
        p.throughput,
        p.e2e.p50,
        p.e2e.p99,
        p.e2e.mean,
        p.e2e.n,
        p.ttft.p50,
        p.ttft.p99,
        p.queue_delay.p50,
        p.batch,
        p.busy_s,
        p.little.present,
        p.little.rate,
        p.little.wait,
        p.little.error,
        knee,
    )
    return dict(zip(LOAD_COLUMNS, cells, strict=False))  # those of the lane follow


def load_json(sweep: Sweep) -> dict[str, Any]:
    """Units are in the names; the rows of the table, by mode and load."""
    p, workload = sweep.setting.provenance, sweep.setting.workload
    return {
        "provenance": asdict(p) | {"versions": dict(p.versions)},
        "workload": {
            "name": workload.name,
            "requests": len(workload.requests),
            "seeds": list(sweep.seeds),
            "source": workload.source,
        },
        "loop": sweep.loop,
        "think_s": sweep.think_s if sweep.loop == "closed" else None,
        "cut": sweep.cut,
        "left_out": sweep.left_out,
        "knee_rule": "the measured load with the most throughput / mean end-to-end latency (Kleinrock's power)",
        "modes": {curve.policy.name: _curve_json(sweep, curve) for curve in sweep.curves},
    }


def _curve_json(sweep: Sweep, curve: Curve) -> dict[str, Any]:
    knee = curve.cells[curve.knee]
    return {
        "max_batch_size": curve.policy.max_batch_size,
        "capacity_tok_s": curve.capacity,
        "knee": {
            "load": knee.load,
            "throughput_tok_s": knee.throughput,
            "e2e_mean_s": knee.mean_e2e,
            "inside": curve.knee_is_inside,
        },
        "loads": [_cell_json(sweep, curve, cell) for cell in curve.cells],
        "all_at_once": None if curve.at_once is None else _cell_json(sweep, curve, curve.at_once),
    }


def _cell_json(sweep: Sweep, curve: Curve, cell: Load) -> dict[str, Any]:
    """`load` is a rate or a number of users; a list has one entry a repeat."""
    return {
        "load": cell.load,
        "throughput_tok_s": [p.throughput for p in cell.points],
        "e2e_s": [asdict(p.e2e) for p in cell.points],
        "ttft_s": [asdict(p.ttft) for p in cell.points],
        "queue_delay_s": [asdict(p.queue_delay) for p in cell.points],
        "batch": [p.batch for p in cell.points],
        "busy_s": [p.busy_s for p in cell.points],
        "little": [
            {"L": p.little.present, "lambda_per_s": p.little.rate, "W_s": p.little.wait, "error": p.little.error}
            for p in cell.points
        ],
        "window_is_pure_delay": (
            sweep.loop == "closed" and cell.load is not None and never_fills(curve.policy, cell.load)
        ),
    }
