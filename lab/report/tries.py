"""What a learner has tried: a row a try, with the knobs as they stood and the chosen metrics of each lane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lab.analysis.metrics import LaneMetrics
from lab.report.markup import table
from lab.report.score import rows, shown_value
from lab.report.words import Words


class Try(NamedTuple):
    """`run` tells one from another."""

    run: str
    knobs: Mapping[str, float]
    lanes: tuple[LaneMetrics, ...]


def tries_table(tries: Sequence[Try], keys: Sequence[str], words: Words) -> str:
    """HTML; the newest last. `keys` are those of rows of the table of metrics."""
    known = {row.key: row for row in rows(None)}
    chosen = [known[key] for key in keys]
    last = tries[-1]
    head = [words(f"knob.{knob}") for knob in last.knobs]
    for row in chosen:
        name, unit = words(f"score.{row.key}.name"), words(f"score.{row.key}.unit")
        head += [f"{words.mode(lane.lane)}: {name} {unit}".strip() for lane in last.lanes]
    made = [
        [
            *(f"{value:g}" for value in one.knobs.values()),
            *(shown_value(row, row.of(lane), words) for row in chosen for lane in one.lanes),
        ]
        for one in tries
    ]
    return table(head, made, kind="tries", caption=words("lesson.tries"))
