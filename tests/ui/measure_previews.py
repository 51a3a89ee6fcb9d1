"""What predictions cost while a knob is in hand, and how often they are drawn.

    python tests/ui/measure_previews.py

The real page in headless Chromium, the default model, 200 requests in four modes, and the usual chat. Waits until
the machine has been measured for predictions, which takes up to a minute.
"""

import sys
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.ui.visitor import REAL, served

STAGE = "globalThis.batchingStage.get('stage')"
ASKED = 60
DRAG_SECONDS = 6.0
CPU_SECONDS = 20.0
TICKS = 100  # a second, of the processor time in /proc

# One question: [milliseconds until its answer has been read, or less than 0: it said after how many to ask again;
# those of the server].
ASK = f"""async (batch) => {{
  const {{ forecast, knobs }} = {STAGE};
  const {{ url, scene }} = forecast.preview.source;
  const body = JSON.stringify({{ scene, knobs: {{ ...knobs.values, max_batch_size: batch }} }});
  const began = performance.now();
  const response = await fetch(url, {{ method: "POST", body }});
  const answer = await response.json();
  const server = Number(response.headers.get("server-timing").split("dur=")[1]);
  return [answer.record ? performance.now() - began : -(answer.wait_ms ?? 1000), server];
}}"""
COUNT = f"""() => {{
  globalThis.drawn = 0;
  let last = null;
  const look = () => {{
    const {{ forecast, counters }} = {STAGE};
    if (forecast.run && forecast.run !== last) {{
      const [run, frames] = [forecast.run, counters.frames];
      last = run;
      const seen = () => (counters.frames > frames ? (globalThis.drawn += 1) : requestAnimationFrame(seen));
      requestAnimationFrame(seen);
    }}
    requestAnimationFrame(look);
  }};
  look();
}}"""
# Four impatient tabs: each asks again as soon as it has an answer.
HAMMER = f"""async (seconds) => {{
  const until = performance.now() + 1000 * seconds;
  const ask = {ASK};
  let made = 0;
  const one = async () => {{
    while (performance.now() < until) {{
      const [took] = await ask(1 + (made % 8));
      if (took > 0) made += 1;
      await new Promise((next) => setTimeout(next, took > 0 ? 50 : -took));
    }}
  }};
  await Promise.all([one(), one(), one(), one()]);
  return made;
}}"""


def open_page(browser, host, query):
    tab = browser.new_page(viewport={"width": 1280, "height": 720})
    tab.goto(f"http://{host}/?{query}")
    tab.wait_for_function(f"globalThis.batchingStage && {STAGE}?.forecast.preview.source", timeout=120_000)
    return tab


def wait_until_idle(tab):
    """Measured, and not being measured: twenty answers in a row."""
    row, deadline = 0, time.monotonic() + 300
    while row < 20:
        row = row + 1 if tab.evaluate(ASK, 4)[0] > 0 else 0
        if row == 0:
            tab.wait_for_timeout(1000)
        if row == 1:
            tab.wait_for_timeout(8000)  # an engine that idles is looked at after some seconds
        assert time.monotonic() < deadline, "no predictions"


def drag(tab):
    """Redraws of predicted lanes a second, while a slider is dragged to and fro."""
    slider = tab.get_by_role("slider", name="Max batch size")
    box = slider.bounding_box()
    y = box["y"] + box["height"] / 2
    tab.evaluate(COUNT)
    tab.mouse.move(box["x"] + box["width"] / 2, y)
    tab.mouse.down()
    began = time.monotonic()
    step = 0
    while (passed := time.monotonic() - began) < DRAG_SECONDS:
        step += 1
        part = abs(step % 40 - 20) / 20
        tab.mouse.move(box["x"] + box["width"] * (0.05 + 0.9 * part), y)
        tab.wait_for_timeout(25)
    drawn = tab.evaluate("globalThis.drawn")
    tab.keyboard.press("Escape")
    return drawn / passed


def processor_seconds(pid):
    parts = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / TICKS


def cost_beside_a_run(tab, pid):
    """(share of a core without, with questions; predictions made) while a run goes on."""
    tab.locator(".st-key-run button").click()
    tab.wait_for_function(f"{STAGE}.shown.some(({{ run, lane }}) => !run.over && lane.end > 0)", timeout=120_000)
    before = processor_seconds(pid)
    tab.wait_for_timeout(CPU_SECONDS * 1000)
    between = processor_seconds(pid)
    made = tab.evaluate(HAMMER, CPU_SECONDS)
    after = processor_seconds(pid)
    going = tab.evaluate(f"{STAGE}.shown.some(({{ run }}) => !run.over)")
    assert going, "the run ended before it was measured"
    return (between - before) / CPU_SECONDS, (after - between) / CPU_SECONDS, made


def main():
    with served(REAL) as (server, host), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, query in (("200 requests", "scenario=chat&requests=200"), ("12 requests", "scenario=chat")):
            tab = open_page(browser, host, query)
            wait_until_idle(tab)
            before = processor_seconds(server.pid)
            answers = [told for i in range(ASKED) if (told := tab.evaluate(ASK, 1 + i % 8))[0] > 0]
            work = (processor_seconds(server.pid) - before) / ASKED
            for where, times in zip(("in the browser", "of the server"), zip(*answers, strict=True), strict=True):
                p95 = sorted(times)[-(-95 * len(times) // 100) - 1]
                told = f"an answer after {median(times):.0f} ms {where}, p95 {p95:.0f}, of {len(times)}"
                print(f"{name}, 4 modes: {told}")
            print(f"{name}, 4 modes: {1000 * work:.0f} ms of the page's process for an answer")
            print(f"{name}, 4 modes: {drag(tab):.1f} predictions drawn a second while a slider is dragged")
            tab.close()
        tab = open_page(browser, host, "scenario=chat&requests=200")
        without, beside, made = cost_beside_a_run(tab, server.pid)
        print(
            f"beside a run, the page's process: {without:.1%} of a core; "
            f"with four who ask all the time {beside:.1%}, {made} predictions in {CPU_SECONDS:.0f} s"
        )
        browser.close()


if __name__ == "__main__":
    main()
