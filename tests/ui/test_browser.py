"""The whole lab in a real browser: the server, the engine's process, the real model, a small scenario."""

import itertools
import os
import signal

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from lab.scheduling.policy import MODES
from tests.ui.visitor import REAL, engines, served

RUN_MS = 240_000


@pytest.fixture(scope="module")
def lab():
    """(process, "host:port") of a server as the user would start it, until the module's tests are done."""
    # One thread: threads that wait for each other crawl on a busy machine.
    with served(REAL, BATCHING_LAB_DEVICE="cpu", BATCHING_LAB_DTYPE="fp32", OMP_NUM_THREADS="1") as started:
        yield started


@pytest.fixture(scope="module")
def address(lab):
    return f"http://{lab[1]}"


@pytest.fixture
def visit(chromium, address):
    """Opens the page in a fresh tab; afterwards the tab must have asked nobody else and complained of nothing."""
    complaints, hosts, contexts = [], set(), []

    def open_tab(query, ready=".st-key-run button", **options):
        contexts.append(chromium.new_context(**options))
        tab = contexts[-1].new_page()
        tab.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("request", lambda r: hosts.add(r.url.split("/")[2]) if r.url.startswith("http") else None)
        tab.goto(f"{address}/{query}")
        tab.locator(ready).first.wait_for()
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert complaints == []
    assert hosts == {address.removeprefix("http://")}


STAGE = "globalThis.batchingStage?.get('stage')"
SMALL = "?scenario=night&requests=2&batch=2"
LONG = "?scenario=mixed&requests=64&batch=2"  # still runs when, on a busy machine, a second tab has at last come up
SEEDS = itertools.count(100)


def unseen():
    """A seed that no test, nor an earlier try of the same one, has had measured by this server."""
    return str(next(SEEDS))


def press_run(tab):
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()  # else it may go unheard
    tab.locator(".st-key-run button").click()


def wait_until_measured(tab, session=STAGE):
    """Every lane on the stage belongs to a run of this server that is over, and the page says what it gave."""
    tab.wait_for_function(
        f"{session}?.shown.length === 4 && {session}.shown.every(({{ run }}) => run.over && run.id.length > 20)",
        timeout=RUN_MS,
    )
    tab.locator(".st-key-origin").wait_for(timeout=60_000)


def wait_until_it_grows(tab, session=STAGE):
    tab.wait_for_function(f"{session}?.shown.some(({{ run, lane }}) => !run.over && lane.end > 0)", timeout=RUN_MS)


def wait_in_line(tab):
    """Behind one run."""
    try:
        tab.get_by_text("In line: place 1").first.wait_for(timeout=60_000)
    except PlaywrightTimeout:
        pytest.fail(f"not in line; the page says: {tab.locator('body').inner_text()[:2000]}")


def runs_of(tab, session=STAGE):
    """{mode: run id} of the lanes on the stage."""
    return dict(tab.evaluate(f"{session}.shown.map(({{ run, lane }}) => [lane.name, run.id])"))


def test_a_small_scenario_runs_for_real_and_comes_back_after_a_reload(visit):
    tab = visit(SMALL, viewport={"width": 1280, "height": 720})
    press_run(tab)
    wait_until_measured(tab)
    assert list(runs_of(tab)) == list(MODES)
    assert tab.evaluate(f"{STAGE}.counters.mounts") <= 2  # one for the recorded run of a first visit, one since
    assert tab.evaluate(f"[...{STAGE}.runs.values()].every((run) => !run.faults)")
    assert tab.evaluate(f"{STAGE}.shown.every(({{ lane }}) => lane.requests.every((r) => r.finished !== null))")
    shown = tab.locator("body").inner_text()
    for part in ("Measured here at", "SmolLM2-135M-Instruct", "2 of 2 answers are the same in all modes"):
        assert part in shown
    before = runs_of(tab)
    assert set(before.values()) == {tab.evaluate("new URLSearchParams(location.search).get('run')")}
    tab.reload()
    wait_until_measured(tab)
    assert runs_of(tab) == before


def test_a_slider_that_is_let_go_runs_only_its_lanes_and_the_keyboard_is_enough(visit):
    tab = visit(SMALL, viewport={"width": 1280, "height": 720})
    press_run(tab)
    wait_until_measured(tab)
    before = runs_of(tab)
    window = tab.get_by_role("slider", name="Max queue delay")
    window.focus()
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function(
        f"old => {STAGE}.shown.some(({{ run, lane }}) => lane.name === 'dynamic' && run.id !== old && run.over)",
        arg=before["dynamic"],
        timeout=RUN_MS,
    )
    after = runs_of(tab)
    assert {mode for mode in MODES if before[mode] != after[mode]} == {"dynamic"}
    tab.wait_for_function("new URLSearchParams(location.search).get('window') === '60'")
    tab.keyboard.press("ArrowLeft")
    tab.wait_for_function(
        f"old => {STAGE}.shown.some(({{ run, lane }}) => lane.name === 'dynamic' && run.id === old)",
        arg=before["dynamic"],
    )
    canvas = tab.locator("canvas.cells")
    canvas.focus()
    tab.keyboard.press("Home")
    start = tab.evaluate(f"{STAGE}.player.time")
    tab.keyboard.press("PageDown")
    assert tab.evaluate(f"{STAGE}.player.time") > start


def test_a_second_tab_waits_in_line_and_a_watch_link_follows(visit):
    first = visit(LONG + "&seed=" + unseen(), viewport={"width": 1280, "height": 720})
    press_run(first)
    wait_until_it_grows(first)
    first.get_by_role("button", name="Share").click()
    link = first.locator("code", has_text="watch=").inner_text().strip()
    watcher = visit("?" + link.split("?")[1], ready="h1")
    watched = "globalThis.batchingStage?.get('watched')"
    watcher.wait_for_function(f"{watched}?.ids?.length === 1", timeout=RUN_MS)
    second = visit(SMALL + "&seed=" + unseen())
    press_run(second)
    wait_in_line(second)
    first.keyboard.press("Escape")
    first.locator(".st-key-cancel button").click()
    first.get_by_text("The run was cancelled.").first.wait_for(timeout=60_000)
    wait_until_measured(second)


def test_a_killed_engine_is_a_sentence_and_the_next_in_line_runs_on_a_fresh_one(visit, lab):
    first = visit(LONG + "&seed=" + unseen(), viewport={"width": 1280, "height": 720})
    press_run(first)
    wait_until_it_grows(first)
    second = visit(SMALL + "&seed=" + unseen())
    press_run(second)
    wait_in_line(second)
    [engine] = engines(lab[0])
    os.kill(engine, signal.SIGKILL)
    first.get_by_text("The engine stopped during this run").first.wait_for(timeout=60_000)
    wait_until_measured(second)
    assert engines(lab[0]) != [engine]
    press_run(first)
    wait_until_it_grows(first)
    first.locator(".st-key-cancel button").click()


def test_a_phone_needs_no_sideways_scrolling_and_speaks_chinese(visit):
    evil = "?scenario=![x](http://elsewhere.test/x.png)"
    tab = visit(evil, viewport={"width": 400, "height": 800}, locale="zh-CN", color_scheme="dark")
    assert tab.locator(".st-key-run button").inner_text() == "运行"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_language_can_be_switched_to_and_fro_and_the_scenario_stays(visit):
    tab = visit("?scenario=mixed", viewport={"width": 1280, "height": 720}, locale="en-US")
    for language, run, scenario in (("中文", "运行", "长短混合"), ("EN", "Run", "Mixed lengths")) * 2:
        tab.locator(".st-key-language").get_by_text(language, exact=True).click()
        tab.locator(".st-key-run button", has_text=run).wait_for()
        tab.locator(".st-key-knobs_what").locator(
            f"input[value='{scenario}'], :text('{scenario}')"
        ).first.wait_for()
        tab.locator(".st-key-reset button").first.click()
        tab.locator(".st-key-run button", has_text=run).wait_for()
