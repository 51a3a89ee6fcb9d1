"""Every string that a visitor reads, in English and Chinese, from `lab/ui/text/en.toml` and `zh.toml`.

Keys are the tables' names joined by dots. Both files hold the same keys and the same {fields}; a test sees to it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = ("en", "zh")
FOLDER = Path(__file__).parents[1] / "ui" / "text"


class Words:
    """The strings of one language. `words("line.place", place=2)` is a string with its fields filled in."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._texts = texts(language)

    def __call__(self, key: str, **fields: object) -> str:
        """Raises KeyError for a key or a field that is not there."""
        return self._texts[key].format(**fields)

    def mode(self, name: str) -> str:
        """A lane's name: one that a lesson gave it, or its mode's; a hybrid's says what it changes, as in
        "static − padding"."""
        if (key := "stage.lane." + "_".join(re.findall(r"[a-z0-9]+", name))) in self:
            return self(key)
        base, *rules = name.split(" ")
        turned = [rule.replace("+", "with_").replace("-", "without_") for rule in rules]
        parts = [f"mode.{base}.name", *(f"stage.turned.{turn}" for turn in turned)]
        return " ".join(map(self, parts)) if all(part in self for part in parts) else name

    def said(self, sentence: object) -> str:
        """What a room behind the page said, which speaks English and knows no page, in this language; as it is
        where these words are not known. What it quotes is put into this language, too."""
        text = str(sentence)
        for name, pattern in _said():
            if found := pattern.fullmatch(text):
                return self(f"said.{name}", **{field: self.said(part) for field, part in found.groupdict().items()})
        return text

    def raw(self, key: str) -> str:
        """The string with its fields unfilled."""
        return self._texts[key]

    def __contains__(self, key: str) -> bool:
        return key in self._texts


@cache
def texts(language: Language) -> Mapping[str, str]:
    with (FOLDER / f"{language}.toml").open("rb") as file:
        return dict(_flat(tomllib.load(file), ""))


@cache
def _said() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """(name, what such a sentence looks like); its fields are named groups."""
    return tuple(
        (key.removeprefix("said."), re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(text)), re.DOTALL))
        for key, text in texts("en").items()
        if key.startswith("said.")
    )


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, str(value)


def language_of(locale: str | None) -> Language:
    """The language of a browser's locale: Chinese for zh in any form, else English."""
    return "zh" if (locale or "").lower().startswith("zh") else "en"
