"""A sweep over loads as HTML: its table with Little's law, what is to be said of it, one file with its charts."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

from lab.analysis.load import Cell, Curve, Point, Sweep, never_fills
from lab.report.charts.load import load_charts, load_settings, load_told
from lab.report.charts.style import picture_options
from lab.report.markup import Html, html, table, with_swatch
from lab.report.pack import asset
from lab.report.palette import mode_colour
from lab.report.words import Words

SECONDS: tuple[Callable[[Point], float | None], ...] = (
    lambda p: p.e2e.p50,
    lambda p: p.e2e.p99,
    lambda p: p.ttft.p50,
    lambda p: p.queue_delay.p50,
)
"""The latencies of the table, in its order."""

_COLUMNS = (
    "load",
    "speed",
    "e2e_p50",
    "e2e_p99",
    "ttft_p50",
    "queue_p50",
    "present",
    "arriving",
    "stay",
    "product",
)


def load_table(sweep: Sweep, words: Words) -> str:
    """HTML: a block a mode, a row a load; the knee is marked. L, λ and W are those of the whole run."""
    made: list[list[str]] = []
    for curve in sweep.curves:
        name = with_swatch(words.mode(curve.policy.name), mode_colour(curve.policy.name))
        made.append([name, *[""] * (len(_COLUMNS) - 1)])
        made += [_row(cell, i == curve.knee, sweep, words) for i, cell in enumerate(curve.cells)]
        if curve.at_once:
            made.append(_row(curve.at_once, False, sweep, words))
    return table(
        [words(f"load.column_{c}") for c in _COLUMNS], made, kind="score load", caption=words("load.table")
    )


def _row(cell: Cell, knee: bool, sweep: Sweep, words: Words) -> list[str]:
    load = html(load_told(cell, sweep, words))
    values = [f"{cell.throughput:.1f}", *(f"{v:.2f}" for v in seconds(cell)), *(f"{v:.3f}" for v in little(cell))]
    return [
        Html(f"<mark style='white-space: nowrap'>{load} · {html(words('load.knee'))}</mark>" if knee else load),
        *values,
    ]


def seconds(cell: Cell) -> list[float]:
    """The SECONDS of a cell, medians of its repeats."""
    return [median(of(p) or 0.0 for p in cell.points) for of in SECONDS]


def little(cell: Cell) -> tuple[float, float, float, float]:
    """L, λ, W and λ × W of one run: that of the repeats whose L is in the middle, so that they belong together."""
    found = sorted((p.little for p in cell.points), key=lambda one: one.present)[(len(cell.points) - 1) // 2]
    return found.present, found.rate, found.wait, found.rate * found.wait


def load_remarks(sweep: Sweep, words: Words) -> list[str]:
    """What a reader must know beside the numbers: plain sentences."""
    said = [words("load.little")]
    for curve in sweep.curves:
        said += _remarks(curve, sweep, words)
    if sweep.left_out:
        said.append(words("load.left_out", n=sweep.left_out))
    return said


def _remarks(curve: Curve, sweep: Sweep, words: Words) -> list[str]:
    said = []
    name, policy = words.mode(curve.policy.name), curve.policy
    alone = [c.load for c in curve.cells if sweep.loop == "closed" and c.load and never_fills(policy, c.load)]
    if alone:
        said.append(
            words(
                "load.never_fills",
                mode=name,
                users=", ".join(f"{n:g}" for n in alone),
                seats=policy.max_batch_size,
                window=f"{policy.max_queue_delay * 1e3:g}",
            )
        )
    if not curve.knee_is_inside:
        said.append(words("load.knee_at_edge", mode=name, load=load_told(curve.cells[curve.knee], sweep, words)))
    return said


def load_html(sweep: Sweep, words: Words) -> str:
    """One file that opens without a network: charts, remarks, table."""
    scenario = sweep.setting.workload.name
    figures = []
    for i, chart in enumerate(load_charts(sweep, words)):
        drawn = chart.figure.to_html(
            full_html=False,
            include_plotlyjs=i == 0,
            div_id=chart.name,
            config={"displaylogo": False, "toImageButtonOptions": picture_options(scenario, chart.name, "svg")},
        )
        figures.append(
            f'<figure class="chart wide" role="group" aria-label="{html(chart.alt)}"><h3>{html(chart.title)}</h3>'
            f"{drawn}<figcaption>{html(chart.caption)}</figcaption></figure>"
        )
    named = words(key) if (key := f"scenario.{scenario}.name") in words else scenario
    title = html(f"{words('page.title')} · {words('load.title')} · {named}")
    origin = html(load_settings(sweep, words)).replace("\n", "<br>")
    remarks = "".join(f'<p class="note">{html(said)}</p>' for said in load_remarks(sweep, words))
    return (
        f'<!doctype html><html lang="{words.language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{asset('report.css')}{asset('../page.css')}</style></head><body><h1>{title}</h1>"
        f'<p class="origin"><bdi>{origin}</bdi></p><div class="charts">{"".join(figures)}</div>'
        f"{remarks}{load_table(sweep, words)}</body></html>\n"
    )
