"""The contract between a lane and a device: a step goes in, measured seconds and tokens come out.

No torch here, no clock, no policy. A step is self-contained: it can be printed and replayed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Row(NamedTuple):
    """One request's part in a step.

    slot       index of the row's place in the executor's KV pool
    request    id of the request it works for
    ids        tokens fed: the whole prompt when prefilling, one token when decoding
    past       tokens already cached in this slot; 0 exactly when prefilling
    live       False: the request has finished, yet the row is still computed (padded batches)
    padded_to  tokens this row costs in a padded rectangle; equal to len(ids) in a ragged step.
               A padded prefill row is `ids` followed by padding on the right
    """

    slot: int
    request: int
    ids: tuple[int, ...]
    past: int
    live: bool
    padded_to: int

    @property
    def prefill(self) -> bool:
        return self.past == 0


class Step(NamedTuple):
    """Rows computed together, at most one per slot; each yields one token (dead rows' tokens are waste)."""

    rows: tuple[Row, ...]


class Horizon(NamedTuple):
    """How far a lane can see before it could decide anything else.

    This many identical decode steps may be run, the first included, and no further one may start once
    `seconds` have passed since the first began.
    """

    steps: int
    seconds: float


ONE_STEP = Horizon(1, math.inf)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a step gave.

    seconds         of each of the k >= 1 steps run, device synchronised before and after
    tokens          k tuples of one token per row, in the order of the step's rows; an executor that
                    only predicts gives k empty tuples
    cold            this shape had never been run before, so its time includes set-up
    kernel_padding  token positions computed only because the kernels round lengths, in one step
    """

    seconds: tuple[float, ...]
    tokens: tuple[tuple[int, ...], ...]
    cold: bool = False
    kernel_padding: int = 0


class Executor(Protocol):
    """A device that runs steps: the real one, a predicted one, or a scripted one in tests.

    `run` feeds each row's `ids` at positions past, past + 1, … of its slot and returns the greedy next
    token of every row. A run of k > 1 steps feeds each row its own token again and `past` grows by one
    a step; the real executor always returns k = 1. `release` forgets what the slots hold.
    """

    def run(self, step: Step, horizon: Horizon) -> Outcome: ...

    def release(self, slots: Sequence[int]) -> None: ...
