"""What a step takes, from its sizes: coefficients fitted to measured steps, and an executor that answers with them.

Seconds are a sum of terms that never shrink as a step grows, each with a coefficient that is not negative: so a
prediction is never negative, and never falls when there is more to do. Knows no torch and no clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple, Protocol

from lab.engine.step import Horizon, Outcome, Step

KNOTS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Sized(Protocol):
    """A row of a step, or what a record keeps of it."""

    @property
    def past(self) -> int: ...
    @property
    def padded_to(self) -> int: ...


Rounding = Callable[[int], int]


def exactly(positions: int) -> int:
    return positions


class Sizes(NamedTuple):
    """What a step's time depends on.

    positions  token positions computed: one a decoding row, each prompt with its padding
    keys       cached positions that decoding rows attend to, their own included
    blocks     runs of neighbouring prompts of one (padded) length: each attends in calls of its own
    squares    sum of the squares of the prompts' (padded) lengths
    """

    positions: int
    keys: int
    blocks: int
    squares: int


def sizes_of(rows: Iterable[Sized], rounding: Rounding = exactly) -> Sizes:
    """`rounding`: to how many positions a step with prompts is filled up; decode steps never are."""
    positions = keys = blocks = squares = block = 0
    for row in rows:
        positions += row.padded_to
        if row.past:
            keys += row.past + 1
        else:
            blocks += row.padded_to != block
            block = row.padded_to
            squares += block * block
    return Sizes(rounding(positions) if blocks else positions, keys, blocks, squares)


def terms(sizes: Sizes) -> list[float]:
    """The quantities that coefficients multiply: 1, is there a prompt, blocks, keys, squares, then the positions
    between each two neighbouring KNOTS (the last open-ended)."""
    between = [
        float(min(max(sizes.positions - low, 0), high - low))
        for low, high in zip(KNOTS, (*KNOTS[1:], float("inf")), strict=True)
    ]
    return [1.0, float(sizes.blocks > 0), float(sizes.blocks), float(sizes.keys), float(sizes.squares), *between]


class Cost(Protocol):
    """Seconds of a step by its sizes; `per_key` are those of each further cached position."""

    @property
    def per_key(self) -> float: ...
    def seconds(self, sizes: Sizes) -> float: ...


KEYS = 3  # the index of `keys` among the terms
FIXED = 5  # terms before those between the knots


@dataclass(frozen=True, slots=True)
class CostModel:
    """A cost that was fitted: `coefficients`, in seconds, of the terms above.

    ValueError where one is negative or their number is wrong.
    """

    coefficients: tuple[float, ...]

    def __post_init__(self) -> None:
        needed = FIXED + len(KNOTS)
        if len(self.coefficients) != needed or not all(0 <= c < float("inf") for c in self.coefficients):
            raise ValueError(
                f"the cost model has coefficients {self.coefficients}; "
                f"it needs {needed} numbers, none of them negative"
            )

    def seconds(self, sizes: Sizes) -> float:
        """The sum of coefficients × terms, with what lies below each knot summed up beforehand."""
        always, any_prompt, block, key, square = self.coefficients[:FIXED]
        knot = bisect_right(KNOTS, sizes.positions) - 1
        slope = self.coefficients[FIXED + knot]
        positions = _up_to_knots(self.coefficients)[knot] + slope * (sizes.positions - KNOTS[knot])
        prompts = any_prompt + block * sizes.blocks + square * sizes.squares if sizes.blocks else 0.0
        return always + positions + prompts + key * sizes.keys

    @property
    def per_key(self) -> float:
        """Seconds that a step takes longer for each further cached position."""
        return self.coefficients[KEYS]


@lru_cache(maxsize=8)
def _up_to_knots(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """Seconds of as many positions as each knot says."""
    widths = (high - low for low, high in pairwise(KNOTS))
    return tuple(accumulate((c * w for c, w in zip(coefficients[FIXED:], widths, strict=False)), initial=0.0))


class PredictedExecutor:
    """Answers steps with predicted seconds and no tokens; decode steps as many at once as the horizon allows.

    `free_bytes` is the memory that a KV pool may be cut from; there is no pool. `rounding` as in `sizes_of`.
    """

    def __init__(self, cost: Cost, free_bytes: int, rounding: Rounding = exactly) -> None:
        self._cost = cost
        self._rounding = rounding
        self._free_bytes = free_bytes

    def clear(self) -> int:
        return self._free_bytes

    def allocate(self, slots: int, tokens_per_slot: int) -> None:
        return

    def warm_up(self, batch_sizes: Iterable[int], prompt_lengths: Iterable[int]) -> None:
        return

    def run(self, step: Step, horizon: Horizon) -> Outcome:
        sizes = sizes_of(step.rows, self._rounding)
        first = self._cost.seconds(sizes)
        if sizes.blocks:
            return Outcome((first,), ((),))
        longer = self._cost.per_key * len(step.rows)  # every row attends to one more position a step
        seconds, passed = [first], first
        while len(seconds) < horizon.steps and passed < horizon.seconds:
            seconds.append(first + longer * len(seconds))
            passed += seconds[-1]
        return Outcome(tuple(seconds), ((),) * len(seconds))

    def release(self, slots: Sequence[int]) -> None:
        return
