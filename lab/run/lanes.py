"""What to run, and the lanes that run it: each with its own slots and its share of one device's memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lab.engine.step import Executor
from lab.run.clock import Clock, VirtualClock
from lab.run.group import Home
from lab.run.lane import Lane, seats_needed
from lab.scheduling.memory import ragged_reservation
from lab.scheduling.policy import MODES, Policy
from lab.spec.model_shape import ModelShape
from lab.workload.request import Workload


class PooledExecutor(Executor, Protocol):
    """An executor with a KV pool; `allocate` makes it and returns the bytes that were free before."""

    def allocate(self, slots: int, tokens_per_slot: int) -> int: ...


class Engine(Protocol):
    """What lanes need to know of a model, real or predicted; `executors`, one a device, begin with `executor`."""

    @property
    def executor(self) -> PooledExecutor: ...
    @property
    def executors(self) -> Sequence[PooledExecutor]: ...
    @property
    def shape(self) -> ModelShape: ...
    @property
    def kv_bytes_per_token(self) -> int: ...
    @property
    def stop_ids(self) -> frozenset[int]: ...


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What to run.

    policies      one lane each; their names must differ
    kv_budget_mb  KV cache that each group of each lane may reserve, in MB (10^6 bytes);
                  None = an equal share of 0.9 × the memory that is free, for at least four lanes
    groups        replicas of the model per lane
    scattered     a batch is spread over the groups, in place of staying on one
    free_eos      answers end by themselves, not at a length found before and forced in every lane
    model         by the name it is loaded by; "" = the one that is there
    """

    workload: Workload
    policies: tuple[Policy, ...]
    kv_budget_mb: float | None = None
    groups: int = 1
    scattered: bool = False
    free_eos: bool = False
    model: str = ""

    def __post_init__(self) -> None:
        names = [p.name for p in self.policies]
        if not names:
            raise ValueError("no modes given; a run needs at least one")
        if len(set(names)) < len(names):
            raise ValueError(f"modes are {', '.join(names)}; each may be given once")
        if self.kv_budget_mb is not None and not 0 < self.kv_budget_mb < float("inf"):
            raise ValueError(f"the KV budget is {self.kv_budget_mb} MB; it must be more than 0")
        if self.groups < 1:
            raise ValueError(f"groups is {self.groups}; it must be at least 1")
        if self.scattered and self.groups < 2:
            raise ValueError("a batch can be scattered over 2 groups or more; groups is 1")


def check_budget(spec: RunSpec, workload: Workload, engine: Engine) -> None:
    """Before anything is computed: raises ValueError for a KV budget in which not one request fits."""
    if spec.kv_budget_mb is None:
        return
    budget = _tokens_in(spec.kv_budget_mb * 1e6, engine.kv_bytes_per_token)
    least = min(map(ragged_reservation, workload.requests))
    if least > budget:
        enough = math.ceil(least * engine.kv_bytes_per_token / 1e5) / 10
        raise ValueError(
            f"a KV budget of {spec.kv_budget_mb:g} MB holds {budget} tokens and every request needs more; "
            f"the smallest needs {least}, so it must be at least {enough:g} MB"
        )


def build_lanes(
    spec: RunSpec, workload: Workload, engine: Engine, clock: Callable[[], Clock] = VirtualClock
) -> list[Lane]:
    """One lane for each policy, with disjoint slots of one KV pool made for them; `workload` is prepared.

    Raises ValueError, with the numbers, where the pool does not fit the memory.
    """
    slot_tokens = max(r.prompt_tokens for r in workload.requests) + max(r.max_new_tokens for r in workload.requests)
    parts = spec.groups if spec.scattered else 1
    seats = [seats_needed(policy, workload, parts) for policy in spec.policies]
    homes, free = _settle(seats, spec.groups, slot_tokens, engine.executors)
    kv_budget = _kv_budget_tokens(spec, free, engine.kv_bytes_per_token)
    return [
        Lane(
            policy,
            workload,
            engine.executor,
            kv_budget=kv_budget,
            context=engine.shape.context,
            groups=spec.groups,
            scattered=spec.scattered,
            homes=own,
            stop_ids=engine.stop_ids,
            clock=clock(),
        )
        for policy, own in zip(spec.policies, homes, strict=True)
    ]


def _settle(
    seats: Sequence[int], groups: int, slot_tokens: int, executors: Sequence[PooledExecutor]
) -> tuple[list[list[Home]], int]:
    """Group g of every lane goes to device g modulo their number; each device gets a pool for its groups.

    Returns the homes of each lane's groups, and the bytes that were free on the fullest device.
    """
    taken = [0] * len(executors)
    homes: list[list[Home]] = []
    for count in seats:
        homes.append([])
        for group in range(groups):
            device = group % len(executors)
            homes[-1].append(Home(executors[device], taken[device]))
            taken[device] += count
    used = [(executor, slots) for executor, slots in zip(executors, taken, strict=True) if slots]
    return homes, min(executor.allocate(slots, slot_tokens) for executor, slots in used)


def _kv_budget_tokens(spec: RunSpec, free_bytes: int, bytes_per_token: int) -> int:
    # A lane that is run again alone must have the budget that it has beside the others.
    shares = max(len(MODES), len(spec.policies)) * spec.groups
    share = 0.9 * free_bytes / shares  # as if all groups lived on one device
    budget = share if spec.kv_budget_mb is None else spec.kv_budget_mb * 1e6
    return _tokens_in(budget, bytes_per_token)


def _tokens_in(budget: float, bytes_per_token: int) -> int:
    tokens = int(budget // bytes_per_token)
    if tokens < 1:
        raise ValueError(f"a KV budget of {budget / 1e6:g} MB holds no token; one takes {bytes_per_token:,} bytes")
    return tokens
