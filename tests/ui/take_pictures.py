"""Takes the README's pictures from the running lab: the recorded run of a first visit, in the middle of its replay.

    python tests/ui/take_pictures.py

Needs Debian's chromium. Writes assets/pictures/*.png, 1280 pixels wide; look at them before you commit them.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.ui.visitor import REAL, served  # noqa: E402

FOLDER = ROOT / "assets" / "pictures"
SIZE = {"width": 1280, "height": 760}
AT = 0.27  # of the run: every lane is at work
MOST_BYTES = 300_000
STAGE = "globalThis.batchingStage?.get('stage')"


def take(page, name: str) -> None:
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    size = path.stat().st_size
    assert size <= MOST_BYTES, f"{path} has {size} bytes; a README's picture should have at most {MOST_BYTES}"
    print(f"{path.relative_to(ROOT)}: {size / 1e3:.0f} kB")


def main() -> None:
    from playwright.sync_api import sync_playwright

    with served(REAL) as (_, host), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, locale="en-US", color_scheme="light")
        page.goto(f"http://{host}/")
        page.wait_for_function(f"{STAGE}?.shown.length === 4")
        page.get_by_text("ready").first.wait_for(timeout=120_000)  # the engine: a line that loads is no picture
        page.evaluate(f"(({{ player, stage }}) => {{ player.seek({AT} * player.end); stage.refresh(); }})({STAGE})")
        page.wait_for_timeout(500)
        take(page, "lab")
        browser.close()


if __name__ == "__main__":
    main()
