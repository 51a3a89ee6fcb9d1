"""What each seat did when: a lane's steps merged into spans, for drawing. Pure; knows no colours and no words."""

from __future__ import annotations

from typing import Literal, NamedTuple

from lab.run.record import LaneRecord, RowFact, Run

Kind = Literal["prefill", "padding", "decode", "dead"]
KINDS: tuple[Kind, ...] = ("prefill", "padding", "decode", "dead")


class Span(NamedTuple):
    """Seat `seat` (0, 1, … within its lane) worked for `request` from `start` to `end`, in seconds.

    A prompt's step in a padded batch is cut in two, by positions: its own tokens ("prefill"), then "padding".
    """

    seat: int
    request: int
    kind: Kind
    start: float
    end: float


def seat_spans(lane: LaneRecord) -> list[Span]:
    """Ordered by their starts within a seat; steps of one kind that follow each other are one span."""
    first = min(lane.columns.slot, default=0)
    done: list[Span] = []
    current: dict[int, Span] = {}
    for run in lane.runs():
        for row in run.rows:
            for span in _spans(run, row, row.slot - first):
                before = current.get(span.seat)
                if before is not None and _goes_on(before, span):
                    current[span.seat] = before._replace(end=span.end)
                    continue
                if before is not None:
                    done.append(before)
                current[span.seat] = span
    return [*done, *current.values()]


def seats_of(lane: LaneRecord, requests: int) -> int:
    """Seats that can ever be filled, over all groups."""
    return min(lane.policy.max_batch_size, requests) * lane.groups


def _spans(run: Run, row: RowFact, seat: int) -> list[Span]:
    start, end = run.start, run.ends[-1]
    if not row.prefill:
        return [Span(seat, row.request, "decode" if row.live else "dead", start, end)]
    cut = start + (end - start) * row.fed / row.padded_to
    spans = [Span(seat, row.request, "prefill", start, cut)]
    return spans if row.fed == row.padded_to else [*spans, Span(seat, row.request, "padding", cut, end)]


def _goes_on(before: Span, span: Span) -> bool:
    """The same work without a pause; a small gap is only the rounding of sums."""
    same = (before.request, before.kind) == (span.request, span.kind)
    return same and span.kind in ("decode", "dead") and span.start - before.end < 1e-9
