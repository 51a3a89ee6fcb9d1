"""How long from opening the page to the first token, and from a slider's move to the first redraw of the stage?

    python tests/ui/measure_release.py

The real page in headless Chromium, the default model in its cache. The page is opened on a server that has just
started, and Run is pressed as soon as it is there. Then two moves of a slider take turns: to a value that must be
measured anew, and back to one that was measured before. As long as nothing can be predicted, the lanes that a move
concerns fade when it is let go; then a prediction is drawn while the slider is still in hand.
"""

import sys
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.ui.visitor import REAL, served

TRIES = 7
STAGE = "globalThis.batchingStage?.get('stage')"
# Time runs from the slider's own events; a picture counts once a frame with it has been drawn.
WATCH = f"""name => {{
  const session = {STAGE};
  const input = [...session.stage.root.querySelectorAll('input[type=range]')].find((i) => i.ariaLabel === name);
  const kinds = () => session.shown.map(({{ run }}) => run.kind);
  const lanes = () => session.shown.map(({{ run, lane }}) => [run.id, lane.end]);
  const state = () => JSON.stringify([session.stage.fading, kinds(), lanes()]);
  globalThis.redrawn = globalThis.settled = null;
  const until = (found, name, began) => {{
    const look = () => {{
      if (found()) requestAnimationFrame(() => (globalThis[name] = performance.now() - began));
      else requestAnimationFrame(look);
    }};
    look();
  }};
  input.addEventListener('input', () => {{
    const before = state();
    until(() => state() !== before, 'redrawn', performance.now());
  }}, {{ once: true }});
  input.addEventListener('change', () => {{
    const measured = () => kinds().every((kind) => kind === 'measured') && !session.stage.fading.some(Boolean);
    until(measured, 'settled', performance.now());
  }}, {{ once: true }});
}}"""
FIRST_TOKEN = f"{STAGE}?.shown.some(({{ run, lane }}) => run.kind === 'measured' && lane.end > 0)"
MEASURED = f"{STAGE}?.shown.length === 4 && {STAGE}.shown.every(({{ run }}) => run.over && run.kind === 'measured')"


def move(tab, dx):
    """Drag the batch slider by one stop and let it go: ms to the first redraw, and to measured lanes after that."""
    slider = tab.get_by_role("slider", name="Max batch size")
    box = slider.bounding_box()
    stops = int(slider.get_attribute("max"))
    x = box["x"] + 8 + (box["width"] - 16) * int(slider.input_value()) / stops
    tab.mouse.move(x, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.evaluate(WATCH, "Max batch size")
    tab.mouse.move(x + dx * (box["width"] - 16) / stops, box["y"] + box["height"] / 2, steps=4)
    tab.mouse.up()
    tab.wait_for_function("globalThis.redrawn !== null && globalThis.settled !== null", timeout=240_000)
    tab.wait_for_timeout(1500)
    return tab.evaluate("[globalThis.redrawn, globalThis.settled]")


def main():
    new, known = [], []
    with served(REAL) as (_, host), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        opened = time.monotonic()
        tab.goto(f"http://{host}/?scenario=night&requests=2&batch=1")
        tab.locator(".st-key-run button").click()
        tab.wait_for_function(FIRST_TOKEN, timeout=240_000)
        print(f"from opening the page to the first token on the stage: {time.monotonic() - opened:.1f} s")
        tab.wait_for_function(MEASURED, timeout=240_000)
        for _ in range(TRIES):
            new.append(move(tab, 1))
            known.append(move(tab, -1))
            move(tab, 1)
        browser.close()
    what = ("first redraw after the move", "measured lanes after letting go")
    for name, times in (("measured anew", new), ("measured before", known)):
        for each, ms in zip(what, zip(*times, strict=True), strict=True):
            print(f"{name}: {each}: median {median(ms):.0f} ms, {min(ms):.0f} to {max(ms):.0f} of {len(ms)}")


if __name__ == "__main__":
    main()
