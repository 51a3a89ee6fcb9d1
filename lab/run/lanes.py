"""What to run, and the lanes that run it: each with its own slots and its share of one device's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lab.engine.step import Executor
from lab.run.clock import Clock, VirtualClock
from lab.run.fit import check_fits, slot_tokens, tokens_in
from lab.run.group import Home
from lab.run.lane import Lane, seats_needed
from lab.scheduling.policy import MODES, Policy
from lab.spec.model_shape import ModelShape
from lab.workload.request import Workload


class PooledExecutor(Executor, Protocol):
    """An executor with a KV pool: `allocate` makes it, `clear` lets it go and returns the bytes free then;
    `warm_up` sets up, untimed, what steps of these sizes in this pool need."""

    def allocate(self, slots: int, tokens_per_slot: int) -> None: ...
    def clear(self) -> int: ...
    def warm_up(self, batch_sizes: Iterable[int], prompt_lengths: Iterable[int]) -> None: ...


class Engine(Protocol):
    """What lanes need to know of a model, real or predicted; `executors`, one a device, begin with `executor`."""

    @property
    def executor(self) -> PooledExecutor: ...
    @property
    def executors(self) -> Sequence[PooledExecutor]: ...
    @property
    def shape(self) -> ModelShape: ...
    @property
    def weight_bytes(self) -> int: ...
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

    @property
    def parts(self) -> int:
        """In how many parts a batch is dealt out."""
        return self.groups if self.scattered else 1


def build_lanes(
    spec: RunSpec, workload: Workload, engine: Engine, clock: Callable[[], Clock] = VirtualClock
) -> list[Lane]:
    """One lane for each policy, with disjoint slots of one KV pool made for them, and the device warmed up for
    their steps; `workload` is prepared. Their clocks begin when that is done.

    Raises ValueError, with the numbers, where that does not fit the memory.
    """
    free = free_bytes(engine)
    check_fits(spec, workload, engine.shape, engine.weight_bytes, free)
    kv_budget = _kv_budget_tokens(spec, free, engine.kv_bytes_per_token)
    homes = _settle(spec, workload, engine.executors)
    seats = max(seats_needed(policy, workload) for policy in spec.policies)
    for executor in engine.executors:
        executor.warm_up(range(1, seats + 1), [r.prompt_tokens for r in workload.requests])
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


def free_bytes(engine: Engine) -> int:
    """Besides the loaded weights, on the device that has least; an earlier run's KV pools are let go."""
    return min(executor.clear() for executor in engine.executors)


def _settle(spec: RunSpec, workload: Workload, executors: Sequence[PooledExecutor]) -> list[list[Home]]:
    """The homes of each lane's groups. Group g goes to device g modulo their number; each device gets a pool."""
    taken = [0] * len(executors)
    homes: list[list[Home]] = []
    for policy in spec.policies:
        homes.append([])
        for group in range(spec.groups):
            device = group % len(executors)
            homes[-1].append(Home(executors[device], taken[device]))
            taken[device] += seats_needed(policy, workload, spec.parts)
    for executor, slots in zip(executors, taken, strict=True):
        if slots:
            executor.allocate(slots, slot_tokens(workload))
    return homes


def _kv_budget_tokens(spec: RunSpec, free_bytes: int, bytes_per_token: int) -> int:
    # A lane that is run again alone must have the budget that it has beside the others.
    shares = max(len(MODES), len(spec.policies)) * spec.groups
    share = 0.9 * free_bytes / shares  # as if all groups lived on one device
    budget = share if spec.kv_budget_mb is None else spec.kv_budget_mb * 1e6
    return tokens_in(budget, bytes_per_token)
