"""How smooth is the replay? Prints frame intervals and drawing times for 4 lanes × 32 seats × 2,000 steps.

    python tests/stage/measure_frames.py

Headless Chromium draws in software, so a machine with a display is faster.
"""

import json
import shutil
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.stage import conftest as helpers

SCRIPT = """
async ([speed, whole]) => {
  const session = stage();
  const { player, view, stage: page } = session;
  view.whole = whole;
  view.perSecond = whole ? view.perSecond : null;
  view.free = false;
  player.seek(whole ? 0 : player.end * 0.2);
  player.speed = speed;
  const scene = page.scene;
  const times = [];
  const draw = scene.draw.bind(scene);
  scene.draw = (...all) => { const t = performance.now(); draw(...all); times.push(performance.now() - t); };
  player.toggle();
  page.refresh();
  const stamps = [];
  const until = performance.now() + 5000;
  await new Promise((done) => {
    const tick = (now) => { stamps.push(now); performance.now() < until ? requestAnimationFrame(tick) : done(); };
    requestAnimationFrame(tick);
  });
  player.seek(player.time);
  scene.draw = draw;
  return { gaps: stamps.slice(1).map((t, i) => t - stamps[i]), draws: times };
}
"""


def big_record():
    """Two request-level and two refilling lanes of 32 seats, each of 2,000 steps or more."""
    workload = helpers.make_workload(640, 20.0, longest=180)
    policies = [
        helpers.Policy(name, 32, 0.1, refill=refill, padded=padded)
        for name, refill, padded in (
            ("a", False, True),
            ("b", False, False),
            ("c", True, False),
            ("d", True, False),
        )
    ]
    return helpers.make_record(workload, policies, kv_budget=40_000)


def main() -> None:
    from playwright.sync_api import sync_playwright

    record = big_record()
    print("steps:", [len(lane.columns.seconds) for lane in record.lanes], "seats: 32 each")
    text = json.dumps(helpers.stage_data(record))
    print(f"data: {len(text) / 1e6:.1f} MB")

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(helpers.Site().url)
        page.wait_for_function("window.ready")
        took = page.evaluate(
            "(d) => { const t = performance.now(); mountStage(d); return performance.now() - t; }", json.loads(text)
        )
        print(f"taking the record in: {took:.0f} ms")
        page.wait_for_timeout(500)
        for name, speed, whole in (("1x", 1, False), ("8x", 8, False), ("whole run, 8x", 8, True)):
            got = page.evaluate(SCRIPT, [speed, whole])
            gaps, draws = sorted(got["gaps"]), sorted(got["draws"])
            print(
                f"{name}: {1000 / statistics.mean(gaps):.1f} frames/s, interval p50 {gaps[len(gaps) // 2]:.1f} "
                f"p99 {gaps[len(gaps) * 99 // 100]:.1f} ms; drawing p50 {draws[len(draws) // 2]:.2f} "
                f"p99 {draws[len(draws) * 99 // 100]:.2f} ms"
            )
        browser.close()


if __name__ == "__main__":
    main()
