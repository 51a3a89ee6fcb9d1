"""Does the setting fit the memory? The honest sum, and the popular rule beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from lab.engine.coder import Coder
from lab.report.markup import table
from lab.report.words import Words
from lab.run.fit import Fit, fit_of, slot_tokens
from lab.run.lanes import RunSpec
from lab.scheduling.memory_check import MemoryPlan, mb, simple_rule
from lab.ui.device import device, text_of
from lab.workload.request import Workload

_PARTS = ("weights", "kv", "activations", "logits", "margin")


class Sum(NamedTuple):
    """`per_request`: bytes of KV cache that the longest request may come to hold."""

    fit: Fit
    per_request: int


def sum_of(spec: RunSpec) -> Sum | None:
    """None as long as the engine has not loaded the model of this run: nobody knows what is free then."""
    engine = device().engine
    facts = engine.facts
    if facts is None or facts.memory is None or engine.model != (spec.model or device().model):
        return None
    shape, weights, free = facts.memory
    workload = _sized(spec.workload, facts.folder, shape.vocab)
    per_value = max(1, weights // shape.parameters_read_per_step)
    per_request = slot_tokens(workload) * shape.kv_bytes_per_token(per_value)
    return Sum(fit_of(spec, workload, shape, weights, free), per_request)


@lru_cache(maxsize=8)
def _sized(workload: Workload, folder: str, vocab: int) -> Workload:
    """With as many tokens in its longest prompt as the model would make of it, and one in each of the others: the
    worst case asks for no more."""
    coder = Coder(text_of(folder) if folder else None, vocab)
    lengths = [r.prompt_length or len(coder.encode(r.prompt)) for r in workload.requests]
    longest = lengths.index(max(lengths))
    made = (
        replace(r, prompt_ids=(0,) * (n if r.id == longest else 1))
        for r, n in zip(workload.requests, lengths, strict=True)
    )
    return replace(workload, requests=tuple(made))


def refused_sentence(fit: Fit, words: Words) -> str:
    """With all the numbers."""
    plan = fit.plan
    way_out = words("memory.largest", n=fit.largest) if fit.largest else words("memory.none_fits")
    return words(
        "memory.refused",
        needed=mb(plan.needed),
        parts=", ".join(f"{words(f'memory.{name}')} {mb(getattr(plan, name))}" for name in _PARTS),
        threshold=f"{plan.threshold:g}",
        available=mb(plan.available),
        limit=mb(plan.threshold * plan.available),
        way_out=way_out,
    )


def show_memory(spec: RunSpec | None, found: Sum | None, words: Words) -> None:
    """The panel: the sum, its limit, and what the popular rule says of the same memory."""
    if spec is None or found is None:
        st.caption(words("memory.unknown"))
        return
    plan = found.fit.plan
    st.html(table(["", words("memory.size")], _rows(plan, words), kind="score", caption=words("settings.memory")))
    st.markdown(words("memory.fits") if plan.fits else refused_sentence(found.fit, words))
    count, taken = simple_rule(plan.available, found.per_request)
    rule = words(
        "memory.rule",
        all=mb(plan.available),
        each=f"{found.per_request / 1e6:,.1f} MB",
        n=count,
        taken=taken,
    )
    st.caption(f"{words('memory.textbook')} {rule} {words('memory.wrong')}")


def _rows(plan: MemoryPlan, words: Words) -> list[list[str]]:
    parts = [[words(f"memory.{name}"), mb(getattr(plan, name))] for name in _PARTS]
    limit = words("memory.limit", threshold=f"{plan.threshold:g}", available=mb(plan.available))
    return [
        *parts,
        [words("memory.sum"), mb(plan.needed)],
        [limit, mb(plan.threshold * plan.available)],
    ]
