"""The English prompts that the lab ships, and prompts that a visitor typed or keeps in a file.

Knows text only: no tokens, no arrival times. The shipped prompts are written for this lab.
"""

from __future__ import annotations

import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "prompts"

LINES = ("questions", "quick", "equal")
MAX_OWN_PROMPTS = 16
MAX_PROMPT_CHARACTERS = 1000
MAX_FILE_BYTES = 64 * 1024


@cache
def shipped_lines(name: str) -> tuple[str, ...]:
    """The prompts of `assets/prompts/NAME.txt`, one a line."""
    return tuple((FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines())


@cache
def shipped_passages() -> tuple[str, ...]:
    """Short texts, each under the task that the model is given with it."""
    return tuple(f"{p['task']}\n\n{p['text'].strip()}" for p in _passages())


@cache
def shipped_texts() -> tuple[str, ...]:
    """The same texts without their tasks: wherever one is cut, a model goes on in the same vein."""
    return tuple(p["text"].strip() for p in _passages())


class Glosses(NamedTuple):
    """For Chinese readers: what a prompt of one line says; task and subject of a prompt with a text; a text's
    subject."""

    lines: Mapping[str, str]
    tasks: Mapping[str, tuple[str, str]]
    texts: Mapping[str, str]


@cache
def shipped_glosses() -> Glosses:
    """Of all prompts that the lab ships, by prompt."""
    lines: dict[str, str] = {}
    for name in LINES:
        lines.update(zip(shipped_lines(name), shipped_lines(f"{name}.zh"), strict=True))
    passages = _passages()
    tasks = {prompt: (p["task_zh"], p["about_zh"]) for prompt, p in zip(shipped_passages(), passages, strict=True)}
    texts = {text: p["about_zh"] for text, p in zip(shipped_texts(), passages, strict=True)}
    return Glosses(lines, tasks, texts)


def _passages() -> list[dict[str, str]]:
    with (FOLDER / "passages.toml").open("rb") as file:
        passages: list[dict[str, str]] = tomllib.load(file)["passage"]
    return passages


def texts_and_questions() -> tuple[str, ...]:
    return shipped_passages() + shipped_lines("questions")


def draw(pool: Sequence[str], count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """`count` prompts in random order; none comes again before all have come."""
    order: list[int] = []
    while len(order) < count:
        order.extend(int(i) for i in rng.permutation(len(pool)))
    return tuple(pool[i] for i in order[:count])


def continued(opening: str) -> str:
    """The opening, and then all texts that are not the opening itself: some 1,500 tokens of plain English."""
    return "\n\n".join((opening, *(text for text in shipped_texts() if text != opening)))


def clean_prompts(lines: Iterable[str]) -> tuple[str, ...]:
    """A visitor's prompts: control characters removed, blank lines dropped.

    Raises ValueError, one sentence, when none is left, when there are more than 16, and when one is longer
    than 1000 characters: a prompt is never cut in silence.
    """
    prompts = tuple(text for text in map(_clean, lines) if text)
    if not prompts:
        raise ValueError(f"there is no prompt; give 1 to {MAX_OWN_PROMPTS}, one a line")
    if len(prompts) > MAX_OWN_PROMPTS:
        raise ValueError(f"there are {len(prompts)} prompts; at most {MAX_OWN_PROMPTS} are taken")
    for number, prompt in enumerate(prompts, start=1):
        if len(prompt) > MAX_PROMPT_CHARACTERS:
            raise ValueError(
                f"prompt {number} has {len(prompt)} characters; at most {MAX_PROMPT_CHARACTERS} are taken"
            )
    return prompts


def read_prompts_file(path: str | Path) -> tuple[str, ...]:
    """The prompts of a text file, one a line, in UTF-8, at most 64 KiB; ValueError, one sentence, otherwise."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} is not a file; give a text file with one prompt a line")
    with file.open("rb") as source:
        data = source.read(MAX_FILE_BYTES + 1)
    return prompts_from_bytes(data, file.name)


def prompts_from_bytes(data: bytes, name: str) -> tuple[str, ...]:
    """The prompts of an uploaded file called `name`; same rules as `read_prompts_file`."""
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"{name} has more than {MAX_FILE_BYTES} bytes; a prompts file may have that many at most")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    return clean_prompts(text.splitlines())


def _clean(line: str) -> str:
    """Without control, surrogate and invisible formatting characters; every kind of space becomes one."""
    spaced = " ".join(line.split())
    return "".join(c for c in spaced if unicodedata.category(c) not in ("Cc", "Cf", "Cs")).strip()
