"""Every lesson walked to its end in a real browser, in both languages; the engine has a script in it."""

# ruff: noqa: F401, F811 - fixtures come from the other module
import re

import pytest
from playwright.sync_api import expect

from lab.lesson.lesson import lessons
from lab.lesson.recorded import recorded_scene
from lab.lesson.text import lesson_text
from lab.report.words import Words
from tests.ui.test_browser import address
from tests.ui.visitor import SCRIPTED, served

WIDE = {"width": 1280, "height": 720}
PATIENCE = 60_000
EN, ZH = Words("en"), Words("zh")
PLACEHOLDER_LEFT = re.compile(r"\{([a-z0-9_.]+\.[a-z0-9_.]+|if |else\}|end\})")


@pytest.fixture(scope="module")
def lab():
    with served(SCRIPTED) as (server, host):
        yield server, host


@pytest.fixture
def opened(chromium, address):
    """Opens a page by its path and query in a fresh tab; afterwards no tab may have complained."""
    complaints, contexts = [], []

    def hear(message):
        # On any page but the first, Streamlit looks for its server below the page's own path, too.
        if message.type == "error" and "/_stcore/" not in message.location["url"]:
            complaints.append(message.text)

    def open_tab(path, **options):
        contexts.append(chromium.new_context(viewport=WIDE, **options))
        tab = contexts[-1].new_page()
        tab.on("console", hear)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.goto(f"{address}/{path}")
        return tab

    yield open_tab
    for context in contexts:
        context.close()
    assert complaints == []


def body(tab):
    return tab.locator(".st-key-lesson_body")


def settle(tab):
    """Until the page is whole: what is pressed while it is drawn still means what it meant before."""
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=PATIENCE)


def press(tab, key):
    settle(tab)
    tab.locator(f".st-key-{key} button").first.click()


def at_step(tab, text, step):
    body(tab).locator("h3", has_text=text.sections[step.key].heading).first.wait_for(timeout=PATIENCE)


def choose(tab, nth):
    """This one of the choices of each question that is shown. Not with the mouse: a verdict that appears moves all
    questions below it, also between two parts of a click."""
    groups = body(tab).get_by_role("radiogroup")
    for i in range(groups.count()):
        settle(tab)
        choice = groups.nth(i).locator("input").nth(nth)
        choice.evaluate("choice => choice.click()")
        tab.wait_for_timeout(150)  # until the server has begun to think about it
        settle(tab)
        assert choice.is_checked()


def guess(tab):
    """Some guess for every question that is shown."""
    settle(tab)
    choose(tab, 0)
    for field in body(tab).locator("input[type=number]").all():
        field.fill("2")
        field.press("Tab")


def run(tab, text, step, own):
    """Run the scene, or look at the recorded run; then all that is said of it is there."""
    settle(tab)
    tab.wait_for_timeout(200)  # one rerun may be about to follow another
    button = "lesson_run" if own else "lesson_recorded"
    tab.locator(f".st-key-{button}").wait_for(timeout=PATIENCE)
    if tab.locator(".st-key-reveal").count():
        go_on_without_a_guess(tab)
    press(tab, button)
    body(tab).locator("h4", has_text=text.sections[f"{step.key}_why"].heading).first.wait_for(timeout=PATIENCE)


def go_on_without_a_guess(tab):
    press(tab, "reveal")
    tab.locator(".st-key-reveal").wait_for(state="detached", timeout=PATIENCE)
    settle(tab)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_lesson_can_be_walked_to_its_end(opened, language):
    words = Words(language)
    tab = opened(f"lessons?lang={language}", locale="en-US")
    press(tab, f"open_{lessons()[0].name}")
    ran = set()
    for lesson in lessons():
        text = lesson_text(lesson.folder, language)
        for number, step in enumerate(lesson.steps, start=1):
            there = f"lesson={lesson.name}&step={number}"
            tab.wait_for_function("part => `${location.search}&`.includes(`${part}&`)", arg=there)
            at_step(tab, text, step)
            if language == "en" and step.kind == "predict":
                guess(tab)
            if step.kind == "run" and step.scene not in ran:
                own = language == "en" and not (ran & {s.scene for s in lesson.steps})
                run(tab, text, step, own)
                ran.add(step.scene)
                said = words("provenance.measured" if own else "provenance.recorded", time="")
                assert said.strip() in tab.locator(".st-key-origin").inner_text()
            if step.kind == "check":
                choose(tab, 1)
                body(tab).get_by_text(words("lesson.right")).first.wait_for()
            assert not PLACEHOLDER_LEFT.search(body(tab).inner_text())
            press(tab, "next")
    tab.get_by_text(words("lesson.welcome")[:12]).first.wait_for()
    expect(tab.locator("[class*=st-key-open_] button", has_text="✓")).to_have_count(
        len(lessons()), timeout=PATIENCE
    )
    assert "done=0.1.2.3.4.5.6.7.8.9.10" in tab.evaluate("location.search")


def test_nothing_is_run_before_a_guess_and_then_the_guess_is_compared_with_ones_own_run(opened):
    tab = opened("lessons?lesson=one-at-a-time&step=4")
    text = lesson_text(lessons()[1].folder, "en")
    press(tab, "lesson_run")
    tab.get_by_text("Nothing was run, for a guess is missing").wait_for(timeout=PATIENCE)
    assert text.sections["watch_why"].heading not in body(tab).inner_text()
    press(tab, "to_guess")
    at_step(tab, text, lessons()[1].steps[2])
    body(tab).get_by_text(text.sections["step"].choices[3]).click()
    body(tab).locator("input[type=number]").fill("40")
    press(tab, "next")
    press(tab, "lesson_run")
    shown = body(tab).get_by_text("You said: 40 times.")
    shown.wait_for(timeout=PATIENCE)
    assert "Off by a factor of" in shown.inner_text()
    choices = text.sections["step"].choices  # the scripted steps take nearly the same time, whatever their rows
    came = re.search(
        rf"You said: {choices[3]}\. It was: {re.escape(choices[0])} \(×(.+)\)\.", body(tab).inner_text()
    )
    assert 1 <= float(came[1]) < 1.5
    tab.locator(".st-key-language").get_by_text("中文", exact=True).click()
    body(tab).get_by_text("你说：40 倍").wait_for(timeout=PATIENCE)


def test_a_claim_that_does_not_hold_here_says_so_with_a_reason(opened):
    """On the scripted device a window at night costs as elsewhere, but no step grows with its rows' past."""
    tab = opened("lessons?lesson=batch-size&step=3")
    go_on_without_a_guess(tab)
    press(tab, "lesson_run")
    held = body(tab).get_by_text("✓").or_(body(tab).get_by_text("✗"))
    held.nth(2).wait_for(timeout=PATIENCE)
    for sentence in body(tab).locator("p", has_text="✗").all():
        assert "perhaps because" in sentence.inner_text()


def test_the_flow_lights_up_with_what_happens_at_the_playhead(opened):
    tab = opened("lessons?lesson=continuous&step=3")
    go_on_without_a_guess(tab)
    press(tab, "lesson_recorded")
    lane = recorded_scene("unequal").lane("continuous")
    tab.locator(".flow li[data-part=step].lit").wait_for(timeout=PATIENCE)
    session = "globalThis.batchingStage.get('lesson')"
    tab.evaluate(f"{session}.player.seek(0)")
    tab.get_by_text(f"got on: {' '.join(f'#{i}' for i in range(6))}").wait_for()
    tab.evaluate(f"{session}.player.seek(1e9)")
    tab.get_by_text(re.compile(f"step {sum(lane.columns.repeat)} of {sum(lane.columns.repeat)}")).wait_for()
    tab.locator(".flow li[data-part=finished].lit").wait_for()


def test_what_a_learner_moves_is_run_with_the_knob_as_it_stands(opened):
    tab = opened("lessons?lesson=one-at-a-time&step=6")
    tab.get_by_role("slider").first.focus()
    tab.keyboard.press("ArrowLeft")
    press(tab, "lesson_run")
    tab.locator("table.score").wait_for(timeout=PATIENCE)
    seats = "globalThis.batchingStage.get('lesson').shown.map(({ lane }) => lane.policy.max_batch_size)"
    assert tab.evaluate(seats) == [1, 3]


def test_knobs_of_the_lab_are_there_after_a_look_at_the_lessons(opened):
    tab = opened("?scenario=mixed&seed=7&batch=4")
    tab.get_by_role("link", name="Lessons").click()
    tab.locator(".st-key-open_static button").wait_for(timeout=PATIENCE)
    tab.get_by_role("link", name="Lab").click()
    tab.locator(".st-key-run button").wait_for(timeout=PATIENCE)
    tab.wait_for_function("new URLSearchParams(location.search).get('seed') === '7'")
    query = tab.evaluate("location.search")
    assert "scenario=mixed" in query
    assert "batch=4" in query


def test_the_teachers_links_open_the_step_that_they_name_in_the_language_that_is_read(opened):
    tab = opened("teacher?lang=zh", locale="en-US")
    link = tab.get_by_role("link", name="三个列表").first
    link.wait_for(timeout=PATIENCE)
    assert link.get_attribute("href") == "lessons?lesson=who-goes-together&step=2&lang=zh"
    tab.goto(f"{tab.url.split('/teacher')[0]}/{link.get_attribute('href')}")
    lesson = next(x for x in lessons() if x.name == "who-goes-together")
    at_step(tab, lesson_text(lesson.folder, "zh"), lesson.steps[1])


@pytest.mark.parametrize("query", ["lesson=nothing", "lesson=static&step=999", "lesson=static&step=%3Cscript%3E"])
def test_an_address_that_means_nothing_opens_what_comes_nearest(opened, query):
    tab = opened(f"lessons?{query}")
    known = tab.locator(".st-key-open_static, .st-key-lesson_body")
    known.first.wait_for(timeout=PATIENCE)
