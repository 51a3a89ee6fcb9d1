"""Settings by keyboard alone, and settings that do not fit the memory, in a real browser on a scripted engine."""

# ruff: noqa: F401, F811 - fixtures come from the other module
import re
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect

from tests.ui.test_browser import STAGE, address, press_run, visit
from tests.ui.visitor import SCRIPTED, served

SCREEN = {"width": 1280, "height": 720}
TRACE = Path(__file__).resolve().parents[2] / "assets" / "traces" / "azure2023_conv_from_60s.csv"
MOST_TABS = 150


@pytest.fixture(scope="module")
def lab():
    with served(SCRIPTED) as started:
        yield started


def tab_to(tab, place):
    """Press Tab until the focus lies within `place`."""
    seen = []
    for _ in range(MOST_TABS):
        tab.keyboard.press("Tab")
        if tab.evaluate("place => document.activeElement.closest(place) !== null", place):
            return
        seen.append(tab.evaluate("document.activeElement.outerHTML.slice(0, 90)"))
    pytest.fail(f"Tab does not reach {place}: {seen}")


def press(tab, *keys):
    for key in keys:
        tab.keyboard.press(key)


def asked(tab, name, value):
    """The address says so: the page has taken a choice in."""
    tab.wait_for_function(f"new URLSearchParams(location.search).get('{name}') === {value!r}")


def open_settings(tab, name):
    """The settings at this tab of theirs; from their button Tab goes on in them."""
    tab_to(tab, ".st-key-settings")
    press(tab, "Enter")
    tab.get_by_role("tab", name=name).wait_for()
    press(tab, "Tab")
    assert tab.evaluate("document.activeElement.role") == "tab"
    while tab.evaluate("document.activeElement.innerText.trim()") != name:
        press(tab, "ArrowRight")
    press(tab, "Enter")
    tab.get_by_role("tab", name=name, selected=True).wait_for()


def switch(tab, knob, asks):
    tab_to(tab, f".st-key-{knob} input")
    press(tab, "Space")
    asked(tab, knob, asks)


def type_into(tab, knob, value):
    tab_to(tab, f".st-key-{knob} input")
    press(tab, "Control+a")
    tab.keyboard.type(value)
    press(tab, "Enter")
    asked(tab, knob, value)


def chooser_of(tab, button):
    """The dialog for files that Enter on this button opens. On a busy machine the page may still be filling up, and
    what is pressed then goes unheard: like anybody else, press again."""
    tab.get_by_text("no device").first.wait_for()  # the engine is there
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()
    for _ in range(3):
        tab_to(tab, button)
        try:
            with tab.expect_file_chooser(timeout=10_000) as chooser:
                press(tab, "Enter")
            return chooser.value
        except PlaywrightTimeout:
            tab.locator("body").evaluate("document.activeElement.blur()")
    pytest.fail(
        f"Enter opens no dialog for files; the focus was on {tab.evaluate('document.activeElement.outerHTML')}"
    )


def test_who_goes_first_the_window_and_groups_are_set_by_keyboard_alone(visit):
    tab = visit("?scenario=mixed&requests=6", viewport=SCREEN)
    open_settings(tab, "Who goes first")
    tab_to(tab, ".st-key-preset_en input")
    press(tab, "ArrowDown", "ArrowDown", "Enter")
    asked(tab, "buckets", "48,96")
    type_into(tab, "bucket_wait", "700")
    switch(tab, "priority", "1")
    type_into(tab, "ageing", "9")
    switch(tab, "aged", "0")
    press(tab, "Escape")
    open_settings(tab, "Window")
    switch(tab, "pickup", "1")
    press(tab, "Escape")
    open_settings(tab, "Groups")
    tab_to(tab, ".st-key-groups [role=radio]")
    press(tab, "ArrowRight", "Enter")
    asked(tab, "groups", "2")
    tab_to(tab, ".st-key-scattered input")
    press(tab, "Space")
    asked(tab, "scattered", "1")


def test_a_trace_is_given_and_cut_by_keyboard_alone(visit):
    tab = visit("?scenario=trace&requests=3", viewport=SCREEN)
    chooser_of(tab, ".st-key-trace_file [data-testid=stBaseButton-secondary]").set_files(TRACE)
    tab.get_by_text("256 rows read = 3 kept + 253 dropped").wait_for()
    tab_to(tab, ".st-key-trace_answer_cap input")
    tab.keyboard.type("4")
    press(tab, "Enter")
    asked(tab, "trace_answer_cap", "4")


def test_the_view_under_load_is_opened_by_keyboard_alone(visit):
    tab = visit("?scenario=night&requests=2&batch=2&modes=none,continuous", viewport=SCREEN)
    tab_to(tab, ".st-key-load_place summary")
    press(tab, "Enter")
    tab.locator("table.load").wait_for(timeout=60_000)
    expect(tab.locator("table.load").get_by_text("knee")).to_have_count(2)


def test_a_batch_size_that_does_not_fit_is_refused_with_numbers_and_the_largest_that_fits_and_nothing_runs(visit):
    tab = visit("?scenario=mixed&requests=64&groups=4&batch=2", viewport=SCREEN)
    press_run(tab)
    tab.wait_for_function(
        f"{STAGE}?.shown.length === 4 && {STAGE}.shown.every(({{ run }}) => run.over && run.id.length > 20)",
        timeout=60_000,
    )
    tab.locator(".st-key-origin").wait_for(timeout=60_000)
    before = tab.evaluate(f"{STAGE}.shown.map(({{ run }}) => run.id)")
    tab.get_by_role("slider", name="Max batch size").focus()
    press(tab, "End")
    refused = tab.get_by_text("This does not fit, so it is not run")
    refused.first.wait_for()
    asked(tab, "batch", "32")
    said = refused.first.inner_text()
    assert "weights 270 MB" in said
    assert "0.9 of the 2,270 MB there are is 2,043 MB" in said
    largest = re.search(r"The largest batch size that fits is (\d+)\.", said)[1]
    press_run(tab)
    refused.first.wait_for()
    assert tab.evaluate(f"{STAGE}.shown.map(({{ run }}) => run.id)") == before
    assert tab.locator(".st-key-cancel").count() == 0
    tab.locator(".st-key-take_largest button").click()
    asked(tab, "batch", largest)
    tab.wait_for_function(
        f"old => {STAGE}.shown.some(({{ run }}) => run.id !== old && run.over)",
        arg=before[0],
        timeout=60_000,
    )
    assert refused.count() == 0


def test_a_kv_budget_that_holds_no_request_is_refused_with_numbers_and_what_would_do_and_nothing_runs(visit):
    tab = visit("?scenario=chat&requests=4&modes=continuous&kv=1", viewport=SCREEN)
    refused = tab.get_by_text("a KV budget of 1 MB holds 43 tokens, and every request needs more")
    refused.first.wait_for(timeout=60_000)
    press_run(tab)
    refused.first.wait_for()
    assert tab.locator(".st-key-cancel").count() == 0
    assert "run=" not in tab.url
    tab.locator(".st-key-take_budget button").click()
    tab.wait_for_function(f"{STAGE}?.shown.some(({{ run }}) => run.over && run.id.length > 20)", timeout=60_000)
    assert refused.count() == 0
