"""Make a workload ready to run: tokens for text, and one length for each answer, the same in every lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lab.run.lengths import LengthBook, find_lengths
from lab.workload.request import Workload
from lab.workload.scenarios import EQUAL, equalise

if TYPE_CHECKING:
    from lab.engine.loaded import Engine

Report = Callable[[str, int, int], None]


def prepare(workload: Workload, engine: Engine, free_eos: bool, report: Report) -> Workload:
    """Tokenized, and with forced lengths unless `free_eos`. `report(phase, done, total)` may raise to stop."""
    workload = tokenize(workload, engine, report)
    if free_eos or workload.lengths_known or not engine.stop_ids:
        return workload if engine.stop_ids or workload.lengths_known else _as_long_as_allowed(workload)
    book = LengthBook.of(engine)
    unknown = [r for r in workload.requests if r.output_tokens is None and book.length(r) is None]
    if unknown:
        book.learn(unknown, find_lengths(unknown, engine, report))
    lengths = {r.id: book.length(r) for r in workload.requests if r.output_tokens is None}
    return workload.with_output_tokens({i: n for i, n in lengths.items() if n is not None})


def tokenize(workload: Workload, engine: Engine, report: Report) -> Workload:
    if workload.tokenized:
        return workload
    ids: list[tuple[int, ...]] = []
    for request in workload.requests:
        report("tokenizing", request.id, len(workload.requests))
        ids.append(request.prompt_ids or engine.encode(request.prompt))
    made = workload.with_prompt_ids(ids)
    return equalise(made) if made.name == EQUAL else made  # another tokenizer may cut them differently


def _as_long_as_allowed(workload: Workload) -> Workload:
    """A model without a stop token never ends by itself."""
    return workload.with_output_tokens(
        {r.id: r.max_new_tokens for r in workload.requests if r.output_tokens is None}
    )
