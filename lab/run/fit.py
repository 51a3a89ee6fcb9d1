"""Does a run fit the memory, and its requests the KV budget? Asked before anything is computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from lab.run.lane import seats_needed
from lab.scheduling.memory import ragged_reservation
from lab.scheduling.memory_check import MemoryPlan, Setting, largest_fitting, plan, refusal
from lab.spec.model_shape import ModelShape
from lab.workload.request import Workload

if TYPE_CHECKING:
    from lab.run.lanes import RunSpec


def check_budget(spec: RunSpec, workload: Workload, bytes_per_token: int) -> None:
    """Raises ValueError for a KV budget in which not one request fits."""
    short = shortfall(spec, workload, bytes_per_token)
    if short is not None:
        raise ValueError(
            f"a KV budget of {short.budget_mb:g} MB holds {short.tokens} tokens and every request needs more; "
            f"the smallest needs {short.least}, so it must be at least {short.enough_mb:g} MB"
        )


class Shortfall(NamedTuple):
    """A KV budget holds so many `tokens`, and no request needs less than `least`, which `enough_mb` would hold."""

    budget_mb: float
    tokens: int
    least: int
    enough_mb: float


def shortfall(spec: RunSpec, workload: Workload, bytes_per_token: int) -> Shortfall | None:
    """None where a request fits the KV budget, or none is set."""
    if spec.kv_budget_mb is None:
        return None
    budget = tokens_in(spec.kv_budget_mb * 1e6, bytes_per_token)
    least = min(map(ragged_reservation, workload.requests))
    if least <= budget:
        return None
    return Shortfall(spec.kv_budget_mb, budget, least, math.ceil(least * bytes_per_token / 1e5) / 10)


class Fit(NamedTuple):
    """What a run may come to, and the largest batch size for which it fits, 0 for none: the one that is asked for
    where that fits."""

    plan: MemoryPlan
    largest: int


def fit_of(spec: RunSpec, workload: Workload, shape: ModelShape, weight_bytes: int, free: int) -> Fit:
    """`free` bytes are there besides the loaded weights."""
    per_value = max(1, weight_bytes // shape.parameters_read_per_step)
    asked = max(policy.max_batch_size for policy in spec.policies)

    def planned(batch_size: int) -> MemoryPlan:
        setting = setting_of(spec, workload, batch_size)
        return plan(setting, shape, per_value, weight_bytes, free + weight_bytes)

    found = planned(asked)
    return Fit(found, asked if found.fits else largest_fitting(lambda size: planned(size).fits, asked))


def check_fits(spec: RunSpec, workload: Workload, shape: ModelShape, weight_bytes: int, free: int) -> None:
    """Raises ValueError, with all the numbers and the largest batch size that fits, for a run that may come to
    more than the memory holds."""
    found = fit_of(spec, workload, shape, weight_bytes, free)
    if not found.plan.fits:
        raise ValueError(refusal(found.plan, found.largest))


def setting_of(spec: RunSpec, workload: Workload, batch_size: int) -> Setting:
    """The worst that the run may come to with no policy's batch larger than this, on one device."""
    seats = [min(batch_size, seats_needed(policy, workload)) for policy in spec.policies]
    most, longest = max(seats), max(r.prompt_tokens for r in workload.requests)
    return Setting(
        slots=sum(spec.groups * -(-count // spec.parts) for count in seats),
        slot_tokens=slot_tokens(workload),
        positions=most * longest,
        rows=most,
    )


def slot_tokens(workload: Workload) -> int:
    """Most tokens that a slot may come to hold: the longest prompt and the longest answer."""
    return max(r.prompt_tokens for r in workload.requests) + max(r.max_new_tokens for r in workload.requests)


def tokens_in(budget: float, bytes_per_token: int) -> int:
    """Of a KV budget in bytes. ValueError where it holds none."""
    tokens = int(budget // bytes_per_token)
    if tokens < 1:
        raise ValueError(f"a KV budget of {budget / 1e6:g} MB holds no token; one takes {bytes_per_token:,} bytes")
    return tokens
