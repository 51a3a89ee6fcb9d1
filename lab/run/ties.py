"""Where lanes gave different answers: how close was the choice? Asked of the model after the run, untimed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lab.run.record import RunRecord

if TYPE_CHECKING:
    from lab.engine.loaded import Engine


def first_difference(sequences: Iterable[list[int]]) -> int | None:
    """The first position (0, 1, …) at which the sequences differ, as far as all of them go; None if they agree."""
    for position, tokens in enumerate(zip(*sequences, strict=False)):
        if len(set(tokens)) > 1:
            return position
    return None


def logit_gaps(record: RunRecord, engine: Engine) -> tuple[tuple[int, float], ...]:
    """(request, gap between its two largest logits at the first difference) for answers that differ."""
    lanes = [lane.answers() for lane in record.lanes]
    gaps = []
    for request in record.workload.requests:
        sequences = [given[request.id] for given in lanes if request.id in given]
        position = first_difference(sequences)
        if position is not None:
            prefix = [*request.prompt_ids, *sequences[0][:position]]
            gaps.append((request.id, engine.executor.logit_gap(prefix)))
    return tuple(gaps)
