"""The page's own CSS, for the tables that Streamlit has no element for. Colours derive from the text's colour."""

from pathlib import Path

STYLE = Path(__file__).resolve().parents[2] / "assets" / "page.css"
