"""The page's own CSS, for the tables that Streamlit has no element for. Colours derive from the text's colour."""

from functools import cache
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "assets" / "page.css"
# For a projector the stage has all the width; its letters grow with the screen (assets/stage/main.js).
_PROJECTOR = (
    ".stMainBlockContainer { max-width: none; padding: 0.25rem 1rem 2rem; }.st-key-knobs_what h1 { display: none; }"
)


@cache
def page_style(present: bool) -> str:
    """`present` is for a projector: everything larger, legible from the back row."""
    return f"<style>{_PAGE.read_text(encoding='utf-8')}{_PROJECTOR if present else ''}</style>"
