"""Did every lane give the same answers? Compares tokens, and says where they first part and how narrowly.

In fp32 they must be the same; in half precision kernels round differently in other company, and a choice
between two nearly equal logits may tip. Refuses to judge: it counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from lab.analysis.timeline import request_times
from lab.run.record import RunRecord
from lab.run.ties import first_difference

TIE = 1e-3  # a first difference between logits closer than this is a tie


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two lanes' answers to one request first part.

    position  of the token, 0 being the first
    tokens    what `lanes[0]` and `lanes[1]` chose there
    gap       between the two largest logits there; None where it was not measured
    """

    request: int
    position: int
    lanes: tuple[str, str]
    tokens: tuple[int, int]
    gap: float | None

    @property
    def tie(self) -> bool:
        return self.gap is not None and self.gap < TIE


@dataclass(frozen=True, slots=True)
class Identity:
    """Answers that at least two lanes finished, how many of them are the same in all these lanes, and the
    first difference of each of the others, split into ties and true differences."""

    requests: int
    identical: int
    ties: tuple[Difference, ...]
    differences: tuple[Difference, ...]

    @property
    def first_difference(self) -> Difference | None:
        """The true difference that comes earliest in its answer."""
        return min(self.differences, key=lambda d: d.position, default=None)


def token_identity(record: RunRecord) -> Identity:
    """Compares answers as far as both go (they differ in length only where they ended by themselves).

    Predicted lanes have no tokens and are left out.
    """
    finished = {lane.name: _finished(record, i) for i, lane in enumerate(record.lanes)}
    gaps = dict(record.logit_gaps)
    compared, found = 0, []
    for request in record.workload.requests:
        answers = [(name, given[request.id]) for name, given in finished.items() if request.id in given]
        if len(answers) < 2:
            continue
        compared += 1
        found.append(_first_difference(request.id, answers, gaps.get(request.id)))
    parted = [d for d in found if d is not None]
    return Identity(
        requests=compared,
        identical=compared - len(parted),
        ties=tuple(d for d in parted if d.tie),
        differences=tuple(d for d in parted if not d.tie),
    )


def _finished(record: RunRecord, lane_index: int) -> dict[int, list[int]]:
    lane = record.lanes[lane_index]
    done = {r.id for r in request_times(record.workload, lane) if r.status == "finished"}
    return {number: tokens for number, tokens in lane.answers().items() if number in done}


def _first_difference(request: int, answers: list[tuple[str, list[int]]], gap: float | None) -> Difference | None:
    position = first_difference(given for _, given in answers)
    if position is None:
        return None
    (a, x), (b, y) = next(
        pair for pair in pairwise((name, given[position]) for name, given in answers) if pair[0][1] != pair[1][1]
    )
    return Difference(request, position, (a, b), (x, y), gap)
