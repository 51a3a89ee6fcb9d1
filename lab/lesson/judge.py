"""Predictions and claims, judged on a run: never against a stored key. Pure."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from lab.lesson.expression import Runs, value
from lab.lesson.lesson import Claim, Question
from lab.lesson.numbers import SCALES


class Grade(NamedTuple):
    """`actual` in the question's unit; `choice` is the number of the right choice from 0, None where a number was
    asked for. `factor` ≥ 1: how far a guessed number lies off, the larger ÷ the smaller; None for a choice, or
    where one of the two is not above 0."""

    right: bool
    actual: float
    choice: int | None = None
    factor: float | None = None


NEAR = 1.25  # a guessed number this near counts as right


def grade(question: Question, guess: float, runs: Runs, here: str) -> Grade | None:
    """None where the measure is undefined in this run."""
    found = value(question.measure, runs, here)
    if found is None:
        return None
    actual = found / SCALES[question.unit]
    if question.edges:
        band = bisect_right(question.edges, actual)
        return Grade(int(guess) == band, actual, choice=band)
    factor = max(guess, actual) / min(guess, actual) if guess > 0 and actual > 0 else None
    return Grade(guess == actual if factor is None else factor <= NEAR, actual, factor=factor)


class Verdict(NamedTuple):
    """`found` is the measure's value, in its own unit."""

    held: bool
    found: float


def judge(claim: Claim, runs: Runs, here: str) -> Verdict | None:
    """None where the measure is undefined in this run."""
    found = value(claim.measure, runs, here)
    if found is None:
        return None
    return Verdict(
        (claim.least is None or found >= claim.least) and (claim.most is None or found <= claim.most), found
    )
