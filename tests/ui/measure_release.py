"""How long from letting a slider go to the first redraw of the stage? Prints medians, in milliseconds.

    python tests/ui/measure_release.py

The real page in headless Chromium, the default model. Two releases take turns: one that must be measured anew,
where the lanes that it concerns fade, and one that was measured before, whose lanes come back.
"""

import sys
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.ui.visitor import REAL, served

TRIES = 7
STAGE = "globalThis.batchingStage?.get('stage')"
# Time runs from the slider's own event; the picture counts once a frame with it has been drawn.
WATCH = f"""name => {{
  const session = {STAGE};
  const input = [...session.stage.root.querySelectorAll('input[type=range]')].find((i) => i.ariaLabel === name);
  const state = () => JSON.stringify([session.stage.fading, session.shown.map(({{ run }}) => run.id)]);
  globalThis.redrawn = null;
  input.addEventListener('change', () => {{
    const began = performance.now();
    const before = state();
    const look = () => {{
      if (state() !== before) requestAnimationFrame(() => (globalThis.redrawn = performance.now() - began));
      else requestAnimationFrame(look);
    }};
    look();
  }}, {{ once: true }});
}}"""
MEASURED = f"{STAGE}?.shown.length === 4 && {STAGE}.shown.every(({{ run }}) => run.over && run.kind === 'measured')"


def release(tab, dx):
    """Drag the batch slider by one stop, let it go, and say how long the stage took."""
    slider = tab.get_by_role("slider", name="Max batch size")
    box = slider.bounding_box()
    stops = int(slider.get_attribute("max"))
    x = box["x"] + 8 + (box["width"] - 16) * int(slider.input_value()) / stops
    tab.mouse.move(x, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(x + dx * (box["width"] - 16) / stops, box["y"] + box["height"] / 2, steps=4)
    tab.evaluate(WATCH, "Max batch size")
    tab.mouse.up()
    tab.wait_for_function("globalThis.redrawn !== null", timeout=30_000)
    return tab.evaluate("globalThis.redrawn")


def main():
    new, known = [], []
    with served(REAL) as (_, host), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 720})
        tab.goto(f"http://{host}/?scenario=night&requests=2&batch=1")
        tab.locator(".st-key-run button").click()
        tab.wait_for_function(MEASURED, timeout=240_000)
        for _ in range(TRIES):
            new.append(release(tab, 1))
            print(new, known)
            tab.wait_for_function(f"{MEASURED} && !{STAGE}.stage.fading.some(Boolean)", timeout=240_000)
            tab.wait_for_timeout(1500)
            known.append(release(tab, -1))
            tab.wait_for_timeout(1500)
            release(tab, 1)
            tab.wait_for_timeout(1500)
        browser.close()
    for name, times in (("measured anew, its lanes fade", new), ("measured before, its lanes come back", known)):
        print(f"{name}: median {median(times):.0f} ms, {min(times):.0f} to {max(times):.0f} of {len(times)}")


if __name__ == "__main__":
    main()
