"""A lesson as it lies in `lessons/NN-name/`: `lesson.toml` for what it does, `en.md` and `zh.md` for its words.

Read strictly: a key that is not known, a scene, lane or measure that is not there is a ValueError that names it.
Knows no text and no page.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from lab.lesson.expression import names
from lab.lesson.scene import Scene

FOLDER = Path(__file__).resolve().parents[2] / "lessons"
AskedUnit = Literal["s", "ms", "tok/s", "req/s", "n", "%", "x", "MB"]
Word = Literal[
    "none", "static", "dynamic", "continuous",
    "batch", "ttft", "tpot", "e2e", "itl", "p99", "queue",
    "throughput", "occupancy", "padding", "straggler", "kv", "mbu",
]  # fmt: skip
_STRICT = ConfigDict(extra="forbid")


@checked(frozen=True, slots=True, config=_STRICT)
class Question:
    """A prediction about one number of a scene's run. With `edges` it is a choice among the bands that they part,
    from the lowest up; without, a number in `unit`."""

    key: str
    measure: str
    unit: AskedUnit = "x"
    edges: tuple[float, ...] = ()


@checked(frozen=True, slots=True, config=_STRICT)
class Claim:
    """It holds where `least` ≤ measure ≤ `most`. On a machine where it does not, the text says why that may be.
    `counts`: it rests on counts of steps or tokens alone, which are the same on every machine."""

    key: str
    measure: str
    least: float | None = None
    most: float | None = None
    counts: bool = False


Claims = Mapping[str, tuple[str, Claim]]
"""By key: the scene that a claim is about, and the claim."""


@checked(frozen=True, slots=True, config=_STRICT)
class Check:
    """A short question at the end; `right` is the number of the right choice, from 1."""

    key: str
    right: int


@checked(frozen=True, slots=True, config=_STRICT)
class Step:
    """text: to read. predict: questions about `scene`. run: the scene, then what was predicted, what came, why, and
    the claims. try: the scene with `knobs` freed, each try beside those before it by the metrics that it `compares`
    (rows of lab.report.score), and then what there was to see. check: short questions. `shows` adds a drawing or a
    table; for "ladder", `rungs` has the lanes of each ladder, from the bottom up. `teaches` are the words that its
    text explains: stage and tables show nothing that needs a word which was not met by then."""

    kind: Literal["text", "predict", "run", "try", "check"]
    key: str
    scene: str = ""
    scenes: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    claims: tuple[Claim, ...] = ()
    checks: tuple[Check, ...] = ()
    knobs: tuple[Literal["batch", "window", "requests", "rate", "kv"], ...] = ()
    shows: Literal["", "flow", "modes", "curve", "bars", "ladder", "compiles"] = ""
    rungs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    compares: tuple[str, ...] = ()
    teaches: tuple[Word, ...] = ()

    @property
    def sections(self) -> tuple[str, ...]:
        """The keys of the texts that it needs, in the order in which they are read."""
        why = (f"{self.key}_why",) if self.kind in ("run", "try") else ()
        parts: tuple[Question | Claim | Check, ...] = (*self.questions, *self.claims, *self.checks)
        return (self.key, *why, *(part.key for part in parts))


@checked(frozen=True, slots=True, config=_STRICT)
class Plan:
    """What lesson.toml holds; `minutes` is how long it takes."""

    minutes: int
    steps: tuple[Step, ...]
    scenes: Mapping[str, Scene] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lesson:
    """`number` and `name` are those of its folder, `plan` what its toml says."""

    number: int
    name: str
    plan: Plan
    folder: Path

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.steps

    @property
    def questions(self) -> Iterator[tuple[Step, Question]]:
        return ((step, q) for step in self.steps for q in step.questions)

    @property
    def claims(self) -> Iterator[tuple[Step, Claim]]:
        return ((step, c) for step in self.steps for c in step.claims)

    @property
    def claims_by_key(self) -> Claims:
        return {claim.key: (step.scene, claim) for step, claim in self.claims}


_PLAN = TypeAdapter(Plan)


@cache
def lessons() -> tuple[Lesson, ...]:
    """All of them, in order. Raises ValueError, with the file, for what is wrong in one."""
    found = tuple(_load(folder) for folder in sorted(FOLDER.glob("[0-9][0-9]-*")))
    known = scenes_of(found)
    for lesson in found:
        for step in lesson.steps:
            check_step(lesson, step, known)
    return found


def lesson_named(name: str) -> Lesson:
    """ValueError, with the names, where there is none."""
    for lesson in lessons():
        if lesson.name == name:
            return lesson
    raise ValueError(f"no lesson {name!r}; there are {', '.join(x.name for x in lessons())}")


def met(lesson: Lesson, number: int) -> tuple[Word, ...]:
    """The words taught before and at this step (counted from 0), the lessons before this one included."""
    earlier = [step for known in lessons() if known.number < lesson.number for step in known.steps]
    return tuple(dict.fromkeys(chain.from_iterable(s.teaches for s in [*earlier, *lesson.steps[: number + 1]])))


@cache
def scenes() -> Mapping[str, Scene]:
    """Of all lessons: a lesson may run a scene of another one."""
    return scenes_of(lessons())


def scenes_of(found: tuple[Lesson, ...]) -> Mapping[str, Scene]:
    made: dict[str, Scene] = {}
    for lesson in found:
        for name, scene in lesson.plan.scenes.items():
            if name in made:
                raise ValueError(f"{lesson.folder.name}: there is a scene {name!r} already in another lesson")
            made[name] = scene
    return made


def _load(folder: Path) -> Lesson:
    number, _, name = folder.name.partition("-")
    try:
        content = tomllib.loads((folder / "lesson.toml").read_text(encoding="utf-8"))
        return Lesson(int(number), name, _PLAN.validate_python(content), folder)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{folder.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def check_step(lesson: Lesson, step: Step, known: Mapping[str, Scene]) -> None:
    """Raises ValueError for a scene, lane or measure that is not there."""
    where = f"{lesson.folder.name}, step {step.key!r}"
    for scene in (step.scene, *step.scenes):
        if scene and scene not in known:
            raise ValueError(f"{where}: no scene {scene!r}; there are {', '.join(known)}")
    for lane in chain.from_iterable(step.rungs.values()):
        known[step.scene].lane_name(lane)
    asked_for: tuple[Question | Claim, ...] = (*step.questions, *step.claims)
    for asked in asked_for:
        check_names(asked.measure, step.scene, known, f"{where}, {asked.key!r}")


def check_names(text: str, here: str, known: Mapping[str, Scene], where: str) -> None:
    """Raises ValueError for a scene, lane or measure that is not there."""
    for name in names(text):
        scene = known.get(name.scene or here)
        if scene is None:
            raise ValueError(f"{where}: {text!r} names no scene; there are {', '.join(known)}")
        if name.of not in ("list", "machine"):
            scene.lane_name(name.of)
