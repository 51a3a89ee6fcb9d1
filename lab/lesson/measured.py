"""The claims of all lessons, measured: each scene run several times, each claim judged on every run.

Refuses to know engines: whoever calls says how a scene is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from lab.lesson.expression import Runs, Taken, names
from lab.lesson.judge import judge
from lab.lesson.lesson import Claim, Lesson
from lab.lesson.scene import Scene
from lab.run.record import RunRecord

FEWEST_REPEATS = 5


@dataclass(frozen=True, slots=True)
class ClaimFound:
    """`values` are the measure's, one a repeat; `held` how many of them lay within the claim's bounds."""

    lesson: Lesson
    claim: Claim
    values: tuple[float, ...]
    held: int

    @property
    def verdict(self) -> Literal["holds", "does not hold", "inconclusive"]:
        """Only what came out alike in every repeat is an answer."""
        if not self.values or 0 < self.held < len(self.values):
            return "inconclusive"
        return "holds" if self.held else "does not hold"

    @property
    def median(self) -> float | None:
        return median(self.values) if self.values else None


def scenes_needed(lessons: Sequence[Lesson], scenes: Mapping[str, Scene]) -> Mapping[str, Scene]:
    """Those that a claim rests on, with the lanes that one rests on."""
    rests_on: dict[str, set[str]] = {}
    for lesson in lessons:
        for step, claim in lesson.claims:
            for name in names(claim.measure):
                rests_on.setdefault(name.scene or step.scene, set()).add(name.of)
    return {
        name: replace(scene, lanes={key: lane for key, lane in scene.lanes.items() if key in rests_on[name]})
        for name, scene in scenes.items()
        if name in rests_on
    }


def measure_claims(
    lessons: Sequence[Lesson],
    scenes: Mapping[str, Scene],
    run: Callable[[str, Scene], RunRecord],
    repeats: int,
) -> tuple[ClaimFound, ...]:
    """Each scene that a claim rests on is run `repeats` times, all scenes in turns."""
    needed = scenes_needed(lessons, scenes)
    rounds: list[Runs] = [
        {name: Taken(scene, run(name, scene)) for name, scene in needed.items()} for _ in range(repeats)
    ]
    return tuple(_found(lesson, step.scene, claim, rounds) for lesson in lessons for step, claim in lesson.claims)


def _found(lesson: Lesson, here: str, claim: Claim, rounds: Sequence[Runs]) -> ClaimFound:
    verdicts = [v for runs in rounds if (v := judge(claim, runs, here)) is not None]
    return ClaimFound(lesson, claim, tuple(v.found for v in verdicts), sum(v.held for v in verdicts))
