"""What a visitor chooses and keeps, in a real browser: settings, hybrids, a model, a reload; small screens."""

# ruff: noqa: F401, F811 - fixtures come from the other module
import pytest
from playwright.sync_api import expect

from tests.ui.test_browser import (
    LONG,
    RUN_MS,
    SMALL,
    STAGE,
    address,
    press_run,
    runs_of,
    unseen,
    visit,
    wait_until_measured,
)
from tests.ui.visitor import REAL, served

SCREEN = {"width": 1280, "height": 720}
OTHER = "dummy:SmolLM2-135M"


@pytest.fixture(scope="module")
def lab():
    """(process, "host:port") of a server on which a second model, no larger than the first, may be chosen."""
    environment = {"BATCHING_LAB_DEVICE": "cpu", "BATCHING_LAB_DTYPE": "fp32", "OMP_NUM_THREADS": "1"}
    with served(REAL, **environment, BATCHING_LAB_MODELS=OTHER) as started:
        yield started


def open_settings(tab):
    tab.locator(".st-key-settings button").first.click()
    tab.locator(".st-key-rules").wait_for()


def close_settings(tab):
    tab.keyboard.press("Escape")
    tab.locator(".st-key-rules").wait_for(state="hidden")


def turn(tab, mode, rule):
    tab.locator(f".st-key-rules_{mode} button", has_text=rule).click()


def asked(tab, name, value):
    """The address says so: the page has taken a choice in."""
    tab.wait_for_function(f"new URLSearchParams(location.search).get('{name}') === {value!r}")


def wait_until_replaced(tab, mode, old):
    tab.wait_for_function(
        f"([mode, old]) => {STAGE}.shown.some(({{ run, lane }}) => lane.name.split(' ')[0] === mode"
        " && run.id !== old && run.over)",
        arg=[mode, old],
        timeout=RUN_MS,
    )


def test_settings_keep_their_values_folded_or_not_and_a_hybrid_runs_alone_while_its_mode_fades(visit):
    seed = unseen()
    lasting = "?scenario=mixed&requests=6&batch=2"  # so that a lane is still being measured when one looks
    tab = visit(f"{lasting}&seed={seed}", viewport=SCREEN)
    press_run(tab)
    wait_until_measured(tab)
    before = runs_of(tab)
    for _ in range(2):  # a widget that is folded away has no value in the browser
        open_settings(tab)
        expect(tab.locator(".st-key-requests input")).to_have_value("6")
        expect(tab.locator(".st-key-seed input")).to_have_value(seed)
        expect(tab.locator(".st-key-modes button[aria-pressed='true']")).to_have_count(4)
        close_settings(tab)
    open_settings(tab)
    turn(tab, "continuous", "padded")
    tab.get_by_text("refill and padded exclude each other").first.wait_for()
    turn(tab, "continuous", "padded")
    turn(tab, "static", "padded")
    asked(tab, "turned", "static.padded")
    close_settings(tab)
    press_run(tab)
    tab.locator(".head.fading", has_text="re-measuring").first.wait_for()
    assert tab.evaluate(f"{STAGE}.stage.fading") == [False, True, False, False]
    wait_until_replaced(tab, "static", before["static"])
    after = runs_of(tab)
    assert list(after) == ["none", "static -padded", "dynamic", "continuous"]
    assert {mode for mode in after if after[mode] != before.get(mode)} == {"static -padded"}
    assert tab.locator(".head.fading").count() == 0
    tab.locator(".head", has_text="static − padding").wait_for()


def test_after_a_reload_the_owner_may_still_cancel_and_the_address_tells_no_secret(visit):
    tab = visit(LONG + "&seed=" + unseen(), viewport=SCREEN)
    press_run(tab)
    tab.locator(".st-key-cancel button").wait_for(timeout=RUN_MS)
    secret = tab.evaluate("sessionStorage.getItem('batching-lab-owner')")
    asked(tab, "run", tab.evaluate(f"{STAGE}.ids.join('.')"))
    link = tab.evaluate("location.search")
    assert secret not in link
    tab.reload()
    other = visit(link, viewport=SCREEN)
    tab.locator(".st-key-cancel button").wait_for(timeout=60_000)
    other.get_by_text("You are watching a run").first.wait_for(timeout=60_000)
    assert other.locator(".st-key-cancel button").count() == 0
    assert tab.evaluate("sessionStorage.getItem('batching-lab-owner')") == secret
    tab.locator(".st-key-cancel button").click()
    tab.get_by_text("The run was cancelled.").first.wait_for(timeout=60_000)


def test_another_model_is_loaded_for_its_run_and_the_first_comes_back_for_the_next(visit):
    tab = visit(SMALL + f"&seed=4&model={OTHER}&modes=none,continuous", viewport=SCREEN)
    press_run(tab)
    over = (
        f"name => {STAGE}.shown.length === 2"
        f" && {STAGE}.shown.every(({{ run }}) => run.over && run.head.provenance.model === name)"
    )
    tab.wait_for_function(over, arg=OTHER, timeout=RUN_MS)
    tab.get_by_text("Random weights: the answers mean nothing").wait_for(timeout=60_000)
    tab.get_by_text("This model has no text").first.wait_for()
    tab.locator(".st-key-reset button").first.click()
    tab.wait_for_function("!new URLSearchParams(location.search).has('model')")
    again = visit(SMALL + "&seed=4&modes=none,continuous", viewport=SCREEN)
    press_run(again)
    again.wait_for_function(over, arg="SmolLM2-135M-Instruct", timeout=RUN_MS)


def test_a_scenario_without_a_recording_opens_with_empty_lanes_that_say_what_will_come(visit):
    tab = visit("?scenario=day&turned=dynamic.padded", viewport=SCREEN)
    tab.get_by_text("Nothing has been run here yet.").wait_for()
    expect(tab.locator(".head .vehicle")).to_have_count(4)
    expect(tab.locator(".head", has_text="not run yet")).to_have_count(4)
    tab.locator(".head", has_text="dynamic − padding").wait_for()


def test_the_score_is_on_the_first_screen_of_a_laptop_and_the_lanes_on_that_of_a_phone(visit):
    def bottom(tab, selector):
        tab.locator(selector).first.wait_for()
        box = tab.locator(selector).first.bounding_box()
        return box["y"] + box["height"]

    laptop = visit("", viewport=SCREEN)
    assert bottom(laptop, ".board tbody tr:nth-child(4)") <= 720
    phone = visit("", viewport={"width": 400, "height": 800})
    assert bottom(phone, ".head") <= 800
    assert phone.evaluate("document.documentElement.scrollWidth") <= 400
