"""The loop of continuous batching as a drawing that lights up with what the stage shows at its playhead."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from lab.report.words import Words

_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "flow"

_mount = st.components.v2.component(
    "batching_flow",
    html='<div class="flow">\n</div>',
    css=(_FOLDER / "flow.css").read_text(encoding="utf-8"),
    js=(_FOLDER / "flow.js").read_text(encoding="utf-8"),
)

_TEXTS = ("step", "finished", "waits", "again", "rows", "left", "joined", "idle", "nobody", "label")


def show_flow(words: Words, *, lit: bool) -> None:
    """`lit` by the stage on the page; else the mere drawing."""
    texts = {name: words.raw(f"lesson.flow.{name}") for name in _TEXTS}
    _mount(key="flow", data={"session": "lesson" if lit else "", "lane": "continuous", "text": texts})
