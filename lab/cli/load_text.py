"""The table of `load`, for people: a block a mode, a row a load, the knee marked, Little's law beside it."""

from __future__ import annotations

from lab.analysis.load import Cell, Curve, Point, Sweep
from lab.report.charts.load import load_settings, load_told
from lab.report.load import little, load_remarks, seconds
from lab.report.words import Words

_HEAD = (
    f"{'':24}{'tok/s':>8}{'P50, s':>9}{'P99, s':>9}{'TTFT P50':>10}{'queue P50':>11}{'mean batch':>12}"
    f"{'L':>10}{'λ, 1/s':>9}{'W, s':>9}{'λ × W':>10}"
)


def load_text(sweep: Sweep, words: Words) -> str:
    lines = [load_settings(sweep, words)]
    for curve in sweep.curves:
        lines += ["", *_block(curve, sweep, words)]
    return "\n".join([*lines, "", words("load.mean_batch"), *load_remarks(sweep, words)])


def _block(curve: Curve, sweep: Sweep, words: Words) -> list[str]:
    when = words("load.at_once") if curve.at_once else "at most"
    lines = [f"{words.mode(curve.policy.name)}: {curve.capacity:.1f} tok/s {when}", _HEAD]
    lines += [_row(cell, i == curve.knee, sweep, words) for i, cell in enumerate(curve.cells)]
    return [*lines, *([_row(curve.at_once, False, sweep, words)] if curve.at_once else [])]


def _row(cell: Cell, knee: bool, sweep: Sweep, words: Words) -> str:
    p50, p99, ttft, queue = seconds(cell)
    present, rate, stay, product = little(cell)
    mark = f"  ◄ {words('load.knee')}" if knee else ""
    return (
        f"  {load_told(cell, sweep, words):22}{cell.throughput:8.1f}{p50:9.2f}{p99:9.2f}{ttft:10.2f}{queue:11.2f}"
        f"{cell.middle(_batch):12.1f}{present:10.3f}{rate:9.3f}{stay:9.3f}{product:10.3f}{mark}"
    )


def _batch(p: Point) -> float:
    return p.batch
