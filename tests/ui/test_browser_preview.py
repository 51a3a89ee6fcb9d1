"""A knob in hand, in a real browser: predicted lanes while it moves, measured ones after it was let go."""

import pytest

from tests.ui.test_browser import STAGE
from tests.ui.visitor import SCRIPTED, served

KINDS = f"{STAGE}?.shown.map(({{ run }}) => run.kind).join()"
PREDICTED = f"{KINDS} === 'predicted,predicted,predicted,predicted'"
MEASURED = f"{KINDS} === 'measured,measured,measured,measured' && {STAGE}.shown.every(({{ run }}) => run.over)"
SMALL = "?scenario=night&requests=2&batch=2"


@pytest.fixture(scope="module")
def lab():
    with served(SCRIPTED) as (_, host):
        yield f"http://{host}"


@pytest.fixture
def tab(chromium, lab):
    complaints = []
    context = chromium.new_context(viewport={"width": 1280, "height": 720}, locale="en-US")
    page = context.new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{lab}/{SMALL}")
    page.locator(".st-key-run button").wait_for()
    yield page
    context.close()
    assert complaints == []


def measure(tab):
    tab.locator(".st-key-run button").click()
    tab.wait_for_function(MEASURED, timeout=60_000)


def grip(tab, name="Max batch size"):
    """(x of each of its stops, y) of a slider, for the mouse."""
    slider = tab.get_by_role("slider", name=name)
    box, stops = slider.bounding_box(), int(slider.get_attribute("max"))
    x = [box["x"] + 8 + (box["width"] - 16) * i / stops for i in range(stops + 1)]
    return x, box["y"] + box["height"] / 2, int(slider.input_value())


def hold(tab, stops):
    """Move the slider by so many stops and keep it in hand, until the stage shows a prediction: the machine may
    be yet to be measured."""
    x, y, now = grip(tab)
    tab.mouse.move(x[now], y)
    tab.mouse.down()
    tab.mouse.move(x[now + stops], y, steps=3)
    tab.wait_for_function(PREDICTED, timeout=60_000)


def test_a_knob_in_hand_shows_a_prediction_and_let_go_the_measured_run_and_how_far_it_was_off(tab):
    measure(tab)
    hold(tab, 2)
    heads = tab.locator(".stage .head .origin")
    assert heads.all_inner_texts() == ["predicted"] * 4
    assert "Predicted, not measured" in tab.locator(".stage .ticker").inner_text()
    assert tab.locator(".stage.guess").count() == 1
    assert "tok/s" in tab.locator(".stage .board").inner_text()
    assert tab.locator(".stage .against").is_hidden()
    tab.mouse.up()
    tab.wait_for_function(MEASURED, timeout=60_000)
    assert tab.evaluate("new URLSearchParams(location.search).get('batch')") == "4"
    tab.locator(".stage .against table").wait_for(timeout=20_000)
    assert tab.locator(".stage.guess").count() == 0
    cells = tab.locator(".stage .against td").all_inner_texts()
    assert len(cells) == 16
    assert all(cell.endswith("%") and cell[0] in "+−±" for cell in cells), cells
    told = tab.locator(".stage .against td").first.get_attribute("title")
    assert told.startswith("predicted ")
    assert "measured " in told


def test_a_knob_that_goes_back_brings_the_measured_lanes_back(tab):
    measure(tab)
    before = tab.evaluate(f"{STAGE}.shown.map(({{ run }}) => run.id)")
    hold(tab, 2)
    x, y, now = grip(tab)
    tab.mouse.move(x[now - 2], y, steps=2)
    tab.wait_for_function(MEASURED)
    tab.mouse.up()
    assert tab.evaluate(f"{STAGE}.shown.map(({{ run }}) => run.id)") == before
    assert tab.locator(".stage.guess").count() == 0


def test_the_keyboard_is_enough_and_the_prediction_stays_until_the_measured_lanes_have_begun(tab):
    measure(tab)
    seen = f"""() => {{
      const kinds = (globalThis.kinds = []);
      const look = () => {{
        const kind = {KINDS};
        if (kinds[kinds.length - 1] !== kind) kinds.push(kind);
        requestAnimationFrame(look);
      }};
      look();
    }}"""
    tab.evaluate(seen)
    tab.get_by_role("slider", name="Max queue delay").focus()
    for _ in range(6):
        tab.keyboard.press("ArrowRight")
        tab.wait_for_timeout(150)
    tab.wait_for_function(f"globalThis.kinds.length > 2 && {MEASURED}", timeout=60_000)
    kinds = [set(kind.split(",")) for kind in tab.evaluate("globalThis.kinds")]
    assert kinds == [{"measured"}, {"predicted"}, {"measured"}]
