"""The words of a lesson in one language: sections of a Markdown file, with placeholders for measured numbers.

A file begins with `# title` and a line on what will be learned; each `## key: heading` opens a section. A
placeholder is `{expression}` or, where its unit is not plain, `{expression | unit}`; choices are a list.
What is true of some runs only stands as `{if condition}so{else}otherwise{end}`: the condition is the key of a claim
of the lesson, or `one expression > another`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, cast

from lab.lesson.expression import Runs, unit, value
from lab.lesson.judge import judge
from lab.lesson.lesson import Claims
from lab.lesson.measures import Unit
from lab.lesson.numbers import written
from lab.report.words import Language

PLACEHOLDER = re.compile(r"\{(?!if |else\}|end\})([^{}|]+?)(?:\s*\|\s*([^{}|]+?))?\}")
_CONDITION = re.compile(r"\{if ([^{}]+)\}(.*?)\{else\}(.*?)\{end\}", re.DOTALL)
NO_CLAIMS: Claims = {}
_HEADING = re.compile(r"^## ([a-z0-9_]+): *(.*)$")


class Section(NamedTuple):
    heading: str
    body: str

    @property
    def choices(self) -> tuple[str, ...]:
        return tuple(line[2:].strip() for line in self.body.splitlines() if line.startswith("- "))

    @property
    def asks(self) -> str:
        """What stands above the choices."""
        return self.body.split("\n- ")[0].strip() if "\n- " in self.body else self.body

    @property
    def after(self) -> str:
        """What stands below the choices."""
        lines = self.body.splitlines()
        last = max((i for i, line in enumerate(lines) if line.startswith("- ")), default=len(lines))
        return "\n".join(lines[last + 1 :]).strip()


@dataclass(frozen=True, slots=True)
class LessonText:
    title: str
    about: str
    sections: Mapping[str, Section]


@cache
def lesson_text(folder: Path, language: Language) -> LessonText:
    """Raises ValueError for a file without a title or with a section twice."""
    lines = (folder / f"{language}.md").read_text(encoding="utf-8").splitlines()
    if not lines or not lines[0].startswith("# "):
        raise ValueError(f"{folder.name}/{language}.md must begin with '# title'")
    found: dict[str, Section] = {}
    about: list[str] = []
    key, heading, body = "", "", about
    for line in lines[1:]:
        if match := _HEADING.match(line):
            if key:
                found[key] = Section(heading, "\n".join(body).strip())
            key, heading, body = match[1], match[2].strip(), []
            if key in found:
                raise ValueError(f"{folder.name}/{language}.md has the section {key!r} twice")
        else:
            body.append(line)
    if key:
        found[key] = Section(heading, "\n".join(body).strip())
    return LessonText(lines[0][2:].strip(), "\n".join(about).strip(), found)


def placeholders(text: str) -> Iterator[tuple[str, Unit | None]]:
    """(expression, unit) of each."""
    for match in PLACEHOLDER.finditer(text):
        yield match[1], cast(Unit, match[2]) if match[2] else unit(match[1])


class Conditional(NamedTuple):
    """`so` is said where the condition holds, `otherwise` where it does not."""

    condition: str
    so: str
    otherwise: str


def conditionals(text: str) -> Iterator[Conditional]:
    return (Conditional(*match.groups()) for match in _CONDITION.finditer(text))


def filled(text: str, runs: Runs, here: str, claims: Claims = NO_CLAIMS) -> str:
    """The text with each placeholder's number, in bold: these are the learner's own; and of what depends on the
    run, that which is true of this one. A condition that is undefined in it leaves nothing."""

    def number(match: re.Match[str]) -> str:
        asked = cast(Unit, match[2]) if match[2] else unit(match[1])
        return f"**{written(value(match[1], runs, here), asked)}**"

    def told(match: re.Match[str]) -> str:
        condition, so, otherwise = match.groups()
        held = _holds(condition, runs, here, claims)
        return "" if held is None else so if held else otherwise

    return PLACEHOLDER.sub(number, _CONDITION.sub(told, text))


def _holds(condition: str, runs: Runs, here: str, claims: Claims) -> bool | None:
    """None where it is undefined in these runs. KeyError for a claim that the lesson does not make."""
    more, _, less = condition.partition(" > ")
    if not less:
        scene, claim = claims[condition]
        verdict = judge(claim, runs, scene)
        return None if verdict is None else verdict.held
    left, right = value(more, runs, here), value(less, runs, here)
    return None if left is None or right is None else left > right
