"""Who goes together, in a real browser with the real model: order, a merge, a memory refusal, a visitor's trace."""

# ruff: noqa: F401, F811 - fixtures come from the other module
from pathlib import Path

from tests.ui.test_browser import RUN_MS, STAGE, address, lab, press_run, visit

SCREEN = {"width": 1280, "height": 720}
TRACE = Path(__file__).resolve().parents[2] / "assets" / "traces" / "azure2023_conv_from_60s.csv"
OVER = f"{STAGE}?.shown.length > 0 && {STAGE}.shown.every(({{ run }}) => run.over && run.id.length > 20)"


def wait_until_over(tab):
    tab.wait_for_function(OVER, timeout=RUN_MS)
    tab.locator(".st-key-origin").wait_for(timeout=60_000)


def ticker_at(tab, moment):
    """What the stage says where the first moment is that `moment`, a function in JavaScript, is true of."""
    tab.evaluate(
        f"""(source) => {{
            const {{ player, stage, shown }} = {STAGE};
            const found = shown.flatMap(({{ lane }}) => lane.moments).find(eval(source));
            player.following = player.playing = false;
            player.seek(found.time);
            stage.refresh();
        }}""",
        moment,
    )
    tab.wait_for_function(f"!{STAGE}.stage.dirty && !{STAGE}.stage.drawn.late")
    return tab.locator(".ticker").inner_text()


def test_buckets_priority_and_ageing_are_set_by_hand_and_act_on_the_stage_and_a_merge_says_why(visit):
    tab = visit("?scenario=mixed&requests=12&modes=dynamic,continuous", viewport=SCREEN)
    tab.locator(".st-key-settings button").first.click()
    tab.get_by_role("tab", name="Who goes first").click()
    tab.locator(".st-key-preset_en").get_by_role("combobox").click()
    tab.get_by_role("option", name="Small prompts").click()
    tab.wait_for_function("new URLSearchParams(location.search).get('buckets') === '48,96'")
    tab.locator(".st-key-priority").get_by_text("Urgent requests go first").click()
    tab.locator(".st-key-aged").get_by_text("Ageing", exact=True).click()
    tab.wait_for_function("new URLSearchParams(location.search).get('aged') === '0'")
    tab.keyboard.press("Escape")
    press_run(tab)
    wait_until_over(tab)
    orders = tab.evaluate(f"{STAGE}.shown.map(({{ lane }}) => lane.policy.order)")
    wanted = {"boundaries": [48, 96], "by_priority": True, "ageing": None, "bucket_wait_limit": None}
    assert orders == [wanted] * 2
    first = tab.evaluate(f"{STAGE}.shown[1].lane.dispatches[0].requests")
    urgent = tab.evaluate(f"{STAGE}.shown[1].lane.requests.filter((r) => r.facts.priority === 0).map((r) => r.id)")
    assert urgent
    assert set(urgent) <= set(first)
    said = ticker_at(tab, "(m) => m.dispatch?.reason === 'bucket_merged'")
    assert "Bucket late, so it left merged: request" in said
    assert "Its empty seats went to the nearest bucket" in said
    tab.get_by_role("tab", name="Answers").click()
    tab.evaluate(f"{STAGE}.player.seek(0), {STAGE}.stage.refresh()")
    tab.get_by_text("Priority 1; lower goes sooner.").first.wait_for()
    tab.get_by_text("Bucket of > 96 prompt tokens").first.wait_for()
    assert tab.locator(".legend").get_by_text("a dot for each length bucket").is_visible()


def test_a_full_kv_budget_is_seen_on_the_stage_with_its_sentence(visit):
    tab = visit("?scenario=mixed&requests=6&batch=4&kv=16&modes=continuous", viewport=SCREEN)
    press_run(tab)
    wait_until_over(tab)
    said = ticker_at(tab, "(m) => m.kind === 'memory'")
    assert "the next in line does not fit" in said
    assert "KV tokens are reserved" in said


def test_a_trace_is_picked_previewed_and_run(visit):
    tab = visit("?scenario=trace&requests=3&trace_answer_cap=4&modes=continuous", viewport=SCREEN)
    tab.locator("input[type=file]").set_input_files(TRACE)
    preview = tab.locator("table.trace")
    preview.get_by_text("256 rows read = 3 kept + 253 dropped").wait_for()
    assert "Azure 2023 / 2024, times are dates (assumed from its columns" in preview.inner_text()
    press_run(tab)
    wait_until_over(tab)
    assert tab.evaluate(f"{STAGE}.shown[0].lane.requests.map((r) => r.times.length <= 4)") == [True] * 3
    assert f"trace {TRACE.name}" in tab.locator(".st-key-origin").inner_text()
    tab.locator("input[type=file]").set_input_files({"name": "x.csv", "mimeType": "text/csv", "buffer": b"\0\xff"})
    tab.get_by_text("The file cannot be used: ").wait_for()
