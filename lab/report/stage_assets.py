"""The stage's files as the texts that a page needs: the ES modules of `assets/stage` joined into one, and the CSS.

No build step: each module is whole and can be loaded as it is (the tests do so). Streamlit sends the text with
every update of the component, so joining drops imports, `export`, comments that fill a line, and indentation. A
name may be used at the top of one module only, and no text may go over several lines; a test sees to both.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "assets" / "stage"
ENTRY = "main.js"

_IMPORT = re.compile(r'^import\s[^;]*?from\s+"\./([\w.]+)";\n', re.MULTILINE)
_BLANK = re.compile(r"^[ \t]+|^\n", re.MULTILINE)
_COMMENT = re.compile(r"^\s*(//.*|/\*\*.*\*/|/\*\*[\s\S]*?\*/)\n", re.MULTILINE)


@cache
def stage_css() -> str:
    return (FOLDER / "stage.css").read_text(encoding="utf-8")


@cache
def stage_js() -> str:
    """One module, with the default export of `main.js`."""
    parts = [_COMMENT.sub("", _IMPORT.sub("", _read(name))) for name in modules()]
    joined = "\n".join(re.sub(r"^export (?!default)", "", part, flags=re.MULTILINE) for part in parts)
    return _BLANK.sub("", joined)


def modules() -> list[str]:
    """The modules' names, each after all that it imports."""
    ordered: list[str] = []

    def add(name: str) -> None:
        for needed in _IMPORT.findall(_read(name)):
            if needed not in ordered:
                add(needed)
        ordered.append(name)

    add(ENTRY)
    return ordered


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
