"""Make a workload ready to run: tokens for text, and one length for each answer, the same in every lane."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from lab.engine.coder import Coder
from lab.engine.progress import Progress, silent
from lab.run.lengths import LengthBook, find_lengths
from lab.workload.prompts import continued
from lab.workload.request import Request, Workload
from lab.workload.scenarios import EQUAL, equalise

if TYPE_CHECKING:
    from lab.engine.loaded import Engine


def prepare(workload: Workload, engine: Engine, free_eos: bool, report: Progress) -> Workload:
    """Tokenized, and with forced lengths unless `free_eos`. `report(phase, done, total)` may raise to stop."""
    workload = tokenize(workload, engine.coder, report)
    if free_eos or workload.lengths_known or not engine.stop_ids:
        return workload if engine.stop_ids or workload.lengths_known else _as_long_as_allowed(workload)
    book = LengthBook.named(engine.fingerprint)
    unknown = [r for r in workload.requests if r.output_tokens is None and book.length(r) is None]
    if unknown:
        book.learn(unknown, find_lengths(unknown, engine, report))
    lengths = {r.id: book.length(r) for r in workload.requests if r.output_tokens is None}
    return workload.with_output_tokens({i: n for i, n in lengths.items() if n is not None})


def prepare_apart(workload: Workload, coder: Coder, fingerprint: str) -> tuple[Workload, int]:
    """As `prepare` would make it, where no model can be asked: what is not known of its lengths counts as the most
    that is allowed. Returns how many answers that concerns, too."""
    workload = tokenize(workload, coder, silent)
    book = LengthBook.named(fingerprint)
    lengths = {r.id: book.length(r) for r in workload.requests if r.output_tokens is None}
    known = {i: n for i, n in lengths.items() if n is not None}
    return _as_long_as_allowed(workload.with_output_tokens(known)), len(lengths) - len(known)


def tokenize(workload: Workload, coder: Coder, report: Progress) -> Workload:
    if workload.tokenized:
        return workload
    tokenized: list[Request] = []
    for request in workload.requests:
        report("tokenizing", request.id, len(workload.requests))
        tokenized.append(_with_ids(request, coder))
    made = replace(workload, requests=tuple(tokenized))
    return equalise(made) if made.name == EQUAL else made  # another tokenizer may cut them differently


def _with_ids(request: Request, coder: Coder) -> Request:
    if request.prompt_ids:
        return request
    text, ids = _encoded(coder, request.prompt, request.prompt_length)
    return replace(request, prompt=text, prompt_ids=ids)


@lru_cache(maxsize=1024)  # the same prompts come again and again: with another arrival, in another run
def _encoded(coder: Coder, prompt: str, length: int | None) -> tuple[str, tuple[int, ...]]:
    return (prompt, coder.encode(prompt)) if length is None else coder.cut(continued(prompt), length)


def _as_long_as_allowed(workload: Workload) -> Workload:
    """A model without a stop token never ends by itself."""
    return workload.with_output_tokens(
        {r.id: r.max_new_tokens for r in workload.requests if r.output_tokens is None}
    )
