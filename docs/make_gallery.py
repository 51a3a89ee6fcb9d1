"""`python docs/make_gallery.py`: draws docs/gallery.md anew from the recorded runs in assets/records."""

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from lab.report.browser import find_browser  # noqa: E402
from lab.report.charts.record import charts  # noqa: E402
from lab.report.charts.style import Chart  # noqa: E402
from lab.report.document import metrics_of, record_charts  # noqa: E402
from lab.report.pictures import pictures  # noqa: E402
from lab.report.provenance import settings_line  # noqa: E402
from lab.report.words import Words  # noqa: E402
from lab.run.record_file import as_recorded, load  # noqa: E402

SIZE = {"width": 800, "height": 450, "scale": 1}
FOLDER = ROOT / "docs" / "pictures"
HEAD = """# Gallery

Charts of recorded runs, as `python -m lab report RECORD --charts DIR` draws them. This page and its pictures are
made by `python docs/make_gallery.py` from the records in `assets/records`; nothing is drawn by hand. A mode has its
colour, dash and marker in all of them.
"""


RECORDS = ROOT / "assets" / "records"
SINGLE = ("chat",)
COMPARED = ("light", "heavy")  # scenes: the same work at two rates


def main() -> None:
    words, program = Words("en"), find_browser()
    parts = [HEAD]
    FOLDER.mkdir(exist_ok=True)
    for name in SINGLE:
        record = as_recorded(load(RECORDS / f"{name}.json"))
        parts.append(f"## {name}\n\n{settings_line(record, words)}\n")
        parts += draw(name, charts(record, metrics_of(record), words), program)
    records = [as_recorded(load(RECORDS / "scenes" / f"{name}.json")) for name in COMPARED]
    parts.append(f"## Two records compared: {' and '.join(COMPARED)}\n")
    parts += [f"{letter}: {settings_line(r, words)}\n" for letter, r in zip("AB", records, strict=True)]
    parts += draw("-".join(COMPARED), record_charts(records, words), program)
    (ROOT / "docs" / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


def draw(stem: str, drawn: Sequence[Chart], program: str) -> list[str]:
    """Draws the pictures; returns what the page says of each."""
    for (name, _), content in pictures(drawn, ["png"], program, SIZE).items():
        (FOLDER / f"{stem}-{name}.png").write_bytes(content)
    return [f"### {c.title}\n\n{c.caption}\n\n![{c.alt}](pictures/{stem}-{c.name}.png)\n" for c in drawn]


if __name__ == "__main__":
    main()
