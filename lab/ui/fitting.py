"""Does the setting fit the memory? The honest sum, and the popular rule beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import streamlit as st

from lab.engine.coder import Coder
from lab.report.markup import table
from lab.report.words import Words
from lab.run.fit import Fit, Shortfall, fit_of, shortfall, slot_tokens
from lab.run.lanes import RunSpec
from lab.scheduling.memory_check import MemoryPlan, mb, simple_rule
from lab.ui.device import device, text_of
from lab.workload.request import Workload

_PARTS = ("weights", "kv", "activations", "logits", "margin")


class Sum(NamedTuple):
    """`per_request`: bytes of KV cache that the longest request may come to hold; `short`: what the KV budget lacks
    for the smallest one."""

    fit: Fit
    per_request: int
    short: Shortfall | None = None

    @property
    def fits(self) -> bool:
        return self.fit.plan.fits and self.short is None


def sum_of(spec: RunSpec) -> Sum | None:
    """None as long as the engine has not loaded the model of this run: nobody knows what is free then."""
    engine = device().engine
    facts = engine.facts
    if facts is None or facts.memory is None or engine.model != (spec.model or device().model):
        return None
    shape, weights, free = facts.memory
    workload = _sized(spec.workload, facts.folder, shape.vocab)
    per_value = max(1, weights // shape.parameters_read_per_step)
    per_token = shape.kv_bytes_per_token(per_value)
    fit = fit_of(spec, workload, shape, weights, free)
    return Sum(fit, slot_tokens(workload) * per_token, shortfall(spec, workload, per_token))


@lru_cache(maxsize=8)
def _sized(workload: Workload, folder: str, vocab: int) -> Workload:
    """With as many tokens as the model would make of them in the longest prompt and in that of the request that
    needs the least; the others share the longest: neither sum asks for more."""
    coder = Coder(text_of(folder) if folder else None, vocab)
    lengths = [r.prompt_length or len(coder.encode(r.prompt)) for r in workload.requests]
    longest = (0,) * max(lengths)
    needs = [n + r.max_new_tokens for r, n in zip(workload.requests, lengths, strict=True)]
    smallest = needs.index(min(needs))
    made = (
        replace(r, prompt_ids=longest[: lengths[i]] if i == smallest else longest)
        for i, r in enumerate(workload.requests)
    )
    return replace(workload, requests=tuple(made))


def refused_sentence(found: Sum, words: Words) -> str:
    """With all the numbers: of the memory, or else of the KV budget."""
    if not found.fit.plan.fits:
        return _too_large(found.fit, words)
    assert found.short is not None, "it fits"
    short = found.short
    return words(
        "memory.short",
        budget=f"{short.budget_mb:g}",
        tokens=f"{short.tokens:,}",
        least=f"{short.least:,}",
        enough=f"{short.enough_mb:g}",
    )


def _too_large(fit: Fit, words: Words) -> str:
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
    st.markdown(words("memory.fits") if found.fits else refused_sentence(found, words))
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
