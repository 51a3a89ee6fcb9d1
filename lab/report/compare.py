"""Groups of records side by side, as HTML: a row a number, a block a mode; and settings, marked where different."""

from __future__ import annotations

from collections.abc import Sequence

from lab.analysis.compare import Difference, Group, Reading, difference, reading, settings
from lab.analysis.facts import Cell
from lab.report.charts.compare import Measured, group_name, lane_names
from lab.report.markup import Html, html, table, with_swatch
from lab.report.palette import mode_colour
from lab.report.score import Row, rows
from lab.report.words import Words


def compare_table(measured: Measured, words: Words) -> str:
    """HTML: medians of the repeats with their range, and how far from group A, beside the repeats' spread."""
    compared = [group for group, _ in measured]
    head = ["", *(group_name(group, words) for group in compared)]
    made: list[list[str]] = []
    for lane in lane_names(compared):
        made.append([with_swatch(words.mode(lane), mode_colour(lane)), *[""] * len(compared)])
        for row in rows(None):
            readings = [reading([row.of(m) for m in metrics if m.lane == lane]) for _, metrics in measured]
            if any(readings):
                made.append(_cells(row, readings, words))
    return table(head, made, kind="score compare", caption=words("compare.title"))


def _cells(row: Row, readings: Sequence[Reading | None], words: Words) -> list[str]:
    name = Html(f"{html(words(f'score.{row.key}.name'))} <small>{html(words(f'score.{row.key}.unit'))}</small>")
    return [name, *(_cell(row, r, readings[0] if i else None, words) for i, r in enumerate(readings))]


def _cell(row: Row, r: Reading | None, against: Reading | None, words: Words) -> Html:
    if r is None:
        return Html(html(words("score.undefined")))
    made = f"<b>{r.median * row.scale:,.{row.places}f}</b>"
    if r.n > 1:
        low, high = (f"{v * row.scale:,.{row.places}f}" for v in (r.low, r.high))
        made += f" <small>{html(words('compare.range', low=low, high=high, n=r.n))}</small>"
    apart = difference(r, against)
    return Html(made if apart is None else f"{made}<br><small>{html(_apart(apart, words))}</small>")


def _apart(apart: Difference, words: Words) -> str:
    change = f"{apart.change:+.0%}" if abs(apart.change) < 1 else f"×{1 + apart.change:.2g}"
    if apart.spread is None:
        return change
    key = "compare.within" if apart.within_spread else "compare.beyond"
    return words(key, change=change, spread=f"{apart.spread:.0%}")


def settings_table(compared: Sequence[Group], words: Words) -> str:
    """HTML: every fact of each group; the rows that differ are marked."""
    head = ["", *(group_name(group, words) for group in compared)] if len(compared) > 1 else ["", ""]
    made = []
    for setting in settings(compared):
        name = html(words(f"report.setting.{setting.name}"))
        if setting.differs:
            name = f'<mark title="{html(words("compare.differs"))}">{name}</mark>'
        made.append([Html(name), *(_shown(value, setting.name, words) for value in setting.values)])
    return table(head, made, kind="settings", caption=words("report.settings"))


def _shown(value: Cell | tuple[tuple[str, Cell], ...], name: str, words: Words) -> str:
    if isinstance(value, tuple):
        return " · ".join(f"{words.mode(lane)} {_shown(each, name, words)}" for lane, each in value)
    if value is None:
        return words("report.unlimited") if name == "max_queue_delay_s" else words("score.undefined")
    if isinstance(value, bool):
        return words("report.yes" if value else "report.no")
    return f"{value:g}" if isinstance(value, float) else str(value)
