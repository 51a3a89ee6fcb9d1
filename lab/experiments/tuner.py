"""Which batch size? Climb from 1 by doublings, and stop where more rows buy too little, or cost too much.

Pure: `climb` is given trials and returns what it chose and why. It knows no device and measures nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

LEAST_GAIN = 0.10
MOST_UTILISATION = 0.90


@dataclass(frozen=True, slots=True)
class Trial:
    """One batch size, tried several times, or refused.

    throughput   useful tokens per second, of each repeat
    broken       promises that its P99 broke (median of the repeats): names among "ttft" and "tpot"
    utilisation  what the popular rule looks at: the device's own counter, or the busy fraction; 0 to 1
    refused      why the memory cannot hold it; then there is nothing else
    """

    batch_size: int
    throughput: tuple[float, ...] = ()
    broken: frozenset[str] = frozenset()
    utilisation: float = 0.0
    refused: str = ""

    @property
    def middle(self) -> float:
        return median(self.throughput)

    @property
    def spread(self) -> float:
        """Largest minus smallest over the median."""
        return (max(self.throughput) - min(self.throughput)) / self.middle


class Stop(StrEnum):
    """Why the climb ended."""

    SMALL_GAIN = "small_gain"  # twice the rows gave less than a tenth more
    THROUGHPUT_FELL = "throughput_fell"
    SLO_BROKEN = "slo_broken"  # a promise that fewer rows kept
    MEMORY_REFUSED = "memory_refused"
    UTILISATION_HIGH = "utilisation_high"  # the popular rule alone
    LARGEST_TRIED = "largest_tried"


@dataclass(frozen=True, slots=True)
class Climb:
    """`chosen` is None only where not even one row fits the memory; `trials` are all that were made, in order."""

    chosen: Trial | None
    stop: Stop
    trials: tuple[Trial, ...]


Rule = Callable[[Trial | None, Trial], tuple[Stop, bool] | None]


def marginal_gain(below: Trial | None, trial: Trial) -> tuple[Stop, bool] | None:
    """Stop at a size that is not worth it; the one below is chosen."""
    if below is None:
        return None
    if trial.broken - below.broken:
        return Stop.SLO_BROKEN, False
    if trial.middle < below.middle:
        return Stop.THROUGHPUT_FELL, False
    return (Stop.SMALL_GAIN, False) if trial.middle < below.middle * (1 + LEAST_GAIN) else None


def popular(below: Trial | None, trial: Trial) -> tuple[Stop, bool] | None:
    """ "Stop when utilisation is 90 %": that size is chosen. On most devices it is the first one tried, for the
    counter says that something ran, not how much."""
    return (Stop.UTILISATION_HIGH, True) if trial.utilisation >= MOST_UTILISATION else None


RULES: dict[str, Rule] = {"gain": marginal_gain, "utilisation": popular}


def climb(attempt: Callable[[int], Trial], largest: int, rule: Rule = marginal_gain) -> Climb:
    """Try 1, 2, 4, … up to `largest` (the last one tried, too). A rule is asked about each size, with the one
    below; it answers None to go on, or why to stop and whether that size is the one chosen."""
    if largest < 1:
        raise ValueError(f"the largest batch size is {largest}; it must be at least 1")
    trials: list[Trial] = []
    chosen: Trial | None = None
    for size in doublings(largest):
        trial = attempt(size)
        trials.append(trial)
        if trial.refused:
            return Climb(chosen, Stop.MEMORY_REFUSED, tuple(trials))
        verdict = rule(chosen, trial)
        if verdict is not None:
            return Climb(trial if verdict[1] else chosen, verdict[0], tuple(trials))
        chosen = trial
    return Climb(chosen, Stop.LARGEST_TRIED, tuple(trials))


def doublings(largest: int) -> list[int]:
    """1, 2, 4, … below `largest`, and that itself."""
    sizes = [1]
    while sizes[-1] * 2 < largest:
        sizes.append(sizes[-1] * 2)
    return sizes if sizes[-1] == largest else [*sizes, largest]
