"""`python docs/make_gallery.py`: draws docs/gallery.md anew from the recorded runs in assets/records."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from lab.report.browser import find_browser  # noqa: E402
from lab.report.charts.record import charts  # noqa: E402
from lab.report.document import metrics_of  # noqa: E402
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


def main() -> None:
    words, program = Words("en"), find_browser()
    parts = [HEAD]
    FOLDER.mkdir(exist_ok=True)
    for path in sorted((ROOT / "assets" / "records").glob("*.json")):
        record = as_recorded(load(path))
        drawn = charts(record, metrics_of(record), words)
        parts.append(f"## {path.stem}\n\n{settings_line(record, words)}\n")
        for (name, _), content in pictures(drawn, ["png"], program, SIZE).items():
            (FOLDER / f"{path.stem}-{name}.png").write_bytes(content)
        parts += [f"### {c.title}\n\n{c.caption}\n\n![{c.alt}](pictures/{path.stem}-{c.name}.png)\n" for c in drawn]
    (ROOT / "docs" / "gallery.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
