"""The four modes as rows of one table of knobs: what differs between them, and nothing else does."""

from __future__ import annotations

from lab.report.markup import Html, html, table, with_swatch
from lab.report.palette import mode_colour
from lab.report.words import Words
from lab.scheduling.policy import MODES
from lab.ui.knobs import Knobs


def modes_table(knobs: Knobs, words: Words) -> str:
    rows = [
        [with_swatch(words(f"mode.{name}.name"), mode_colour(name)), _what(name, knobs, words)] for name in MODES
    ]
    head = [words("knob.modes"), words("empty.rule")]
    return table(head, rows, kind="modes", caption=words("empty.modes"))


def _what(name: str, knobs: Knobs, words: Words) -> Html:
    about = words(f"mode.{name}.about", delay=knobs.window)
    return Html(f"<b>{html(about)}</b><br>{html(words(f'mode.{name}.rule'))}")
