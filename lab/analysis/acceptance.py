"""When is a measured difference accepted as agreement? One rule for the whole lab.

At least five alternating repeats. Two quantities agree where the median of their relative differences lies within
the stated bound, or within twice its noise while that is small: noise is the median absolute deviation (MAD) of the
differences, small is 5 %. Beyond that they differ where the noise is small; where it is not, nothing can be said.
Being too noisy excuses no difference, and the spread is always shown beside the verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal, NamedTuple

FEWEST_REPEATS = 5
MOST_NOISE = 0.05

Verdict = Literal["agrees", "differs", "inconclusive"]


class Comparison(NamedTuple):
    """`difference` is the median of the paired relative differences, `spread` their MAD; both are fractions."""

    difference: float
    spread: float
    repeats: int
    verdict: Verdict


def compare(measured: Sequence[float], reference: Sequence[float], bound: float) -> Comparison:
    """Pairs of measurements, taken in turn; `bound` is the accepted |difference| as a fraction.

    Raises ValueError where the pairs are of unequal number, too few, or a reference is not above 0.
    """
    if len(measured) != len(reference) or len(reference) < FEWEST_REPEATS:
        raise ValueError(
            f"{len(measured)} measurements against {len(reference)}; at least {FEWEST_REPEATS} pairs are needed"
        )
    if min(reference) <= 0:
        raise ValueError(f"a reference of {min(reference)}; relative differences need values above 0")
    differences = [m / r - 1 for m, r in zip(measured, reference, strict=True)]
    middle = median(differences)
    spread = median(abs(d - middle) for d in differences)
    return Comparison(middle, spread, len(differences), _verdict(middle, spread, bound))


def _verdict(difference: float, spread: float, bound: float) -> Verdict:
    if abs(difference) <= bound:
        return "agrees"
    if spread > MOST_NOISE:
        return "inconclusive"
    return "agrees" if abs(difference) <= 2 * spread else "differs"
