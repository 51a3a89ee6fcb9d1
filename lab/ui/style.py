"""The page's own CSS, for the tables that Streamlit has no element for. Colours derive from the text's colour."""

from functools import cache
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "assets" / "page.css"
# For a projector the stage has the room: what to run is set before, and the sliders are the stage's own.
_PROJECTOR = (
    ".st-key-knobs_what { display: none; } .stMainBlockContainer { max-width: none; padding: 0.5rem 1rem; }"
)


@cache
def page_style(present: bool) -> str:
    """`present` is for a projector: everything larger, legible from the back row."""
    return f"<style>{_PAGE.read_text(encoding='utf-8')}{_PROJECTOR if present else ''}</style>"
