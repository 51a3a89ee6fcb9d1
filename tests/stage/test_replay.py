"""Replay in the browser alone: controls, keys, pointer, words for those who do not see, sizes, themes."""

import pytest

from lab.analysis.timeline import request_times
from lab.report.stage_data import expected
from lab.run.lanes import RunSpec

PLAYER = "() => { const p = stage().player; return { time: p.time, end: p.end, playing: p.playing }; }"
KNOBS = {
    "revision": "1",
    "items": [
        {"name": "max_batch_size", "stops": [1, 2, 4, 8, 16, 32], "value": 8, "lanes": ["static", "continuous"]},
        {"name": "kv_budget_mb", "stops": [8, 16, None], "value": None},
    ],
}


@pytest.fixture
def show(harness, records, demo):
    def open_stage(record=demo, language="en", *, knobs=None, autoplay=False, **page_options):
        page = harness(**page_options)
        page.evaluate("(data) => mountStage(data)", records.data(record, language, knobs=knobs, autoplay=autoplay))
        page.wait_for_function("stage().counters.frames > 0")
        return page

    return open_stage


def seek(page, time):
    page.evaluate("(t) => { stage().player.seek(t); stage().stage.refresh(); }", time)
    page.wait_for_function("(t) => Math.abs(stage().player.time - t) < 1e-9 && !stage().stage.dirty", arg=time)


def test_the_first_recorded_run_plays_by_itself_when_asked_to(show):
    page = show(autoplay=True)
    page.wait_for_function("stage().player.time > 0.05 && stage().player.playing")


def test_those_who_want_little_motion_see_the_end_and_nothing_plays(show):
    page = show(autoplay=True, reduced_motion="reduce")
    assert page.evaluate(PLAYER)["playing"] is False
    assert page.evaluate(PLAYER)["time"] == page.evaluate(PLAYER)["end"]


def test_play_pause_speed_step_and_scrub(show):
    page = show()
    page.get_by_label("Speed").select_option("8")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("stage().player.time > 0.3")
    page.get_by_role("button", name="Pause").click()
    stopped = page.evaluate(PLAYER)
    assert stopped["playing"] is False
    page.get_by_role("button", name="One step on").click()
    after = page.evaluate(PLAYER)["time"]
    assert stopped["time"] < after < stopped["time"] + 0.1
    page.get_by_role("button", name="One step back").click()
    assert page.evaluate(PLAYER)["time"] < after
    page.get_by_label("Time on the lanes' clocks").fill("1.5")
    assert page.evaluate(PLAYER)["time"] == pytest.approx(1.5)
    page.locator("[aria-valuetext^='1.50 s of']").wait_for()


@pytest.mark.parametrize("kind", ["left", "refilled", "finished", "memory"])
def test_the_next_event_of_a_kind_is_the_first_one_after_the_playhead(show, demo, kind):
    page = show()
    seek(page, 0.5)
    page.get_by_label("Which event").select_option(kind)
    page.get_by_role("button", name="Next event").click()
    time = page.evaluate(PLAYER)["time"]
    assert time == pytest.approx(min(t for t in moments(demo, kind) if t > 0.5))


def moments(record, kind):
    """The same, from the record."""
    for lane in record.lanes:
        before = ""
        given = {}
        for run in lane.runs():
            refilled = run.reason == "seat_free"
            if run.prefill and kind == ("refilled" if refilled else "left"):
                yield run.start
            if kind == "memory" and run.reason == "memory_full" != before:
                yield run.start
            before = run.reason
            for row in run.rows:
                given[row.request] = given.get(row.request, 0) + row.live
                done = row.live and given[row.request] == record.workload.requests[row.request].output_tokens
                if kind == "finished" and done:
                    yield run.ends[-1]


def test_the_playhead_survives_updates_of_the_page_and_a_remount(show, records, demo):
    page = show()
    seek(page, 1.25)
    page.evaluate("mountStage(data)")
    page.evaluate("unmount()")
    page.evaluate("mountStage(data)")
    page.wait_for_function("stage().counters.mounts === 2")
    assert page.evaluate(PLAYER)["time"] == 1.25


def test_an_update_of_the_page_leaves_the_focus_where_it_is(show):
    page = show()
    page.get_by_role("button", name="TPOT, median").focus()
    page.evaluate("mountStage(data)")
    assert page.evaluate("document.getElementById('host').shadowRoot.activeElement.textContent") == "TPOT, median"


def test_a_superseded_clean_up_does_not_end_the_stage(show):
    page = show()
    page.evaluate("() => { const old = unmount; mountStage(data); old(); }")
    seek(page, 1.0)
    assert page.evaluate("stage().stage !== null && stage().counters.mounts") == 1


def test_the_keyboard_moves_the_cell_cursor_and_says_what_is_there(show, demo):
    page = show()
    seek(page, 1.0)
    canvas = page.locator("canvas.cells")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    card = page.locator(".card")
    assert card.is_visible()
    assert "Request" in card.inner_text()
    assert page.locator(".spoken").inner_text() in " ".join(card.inner_text().split("\n"))
    page.keyboard.press("ArrowDown")
    assert card.inner_text().startswith("static · seat 1")
    page.keyboard.press("Enter")
    page.locator("body").click(position={"x": 5, "y": 5})
    assert card.is_visible(), "pinned, so it stays"
    canvas.focus()
    page.keyboard.press("Escape")
    assert not card.is_visible()
    page.keyboard.press("Home")
    assert page.evaluate(PLAYER)["time"] == 0
    page.keyboard.press("PageDown")
    assert page.evaluate(PLAYER)["time"] > 0 or "left alone" in page.locator(".spoken").inner_text()
    page.keyboard.press(" ")
    page.wait_for_function("stage().player.playing")


def test_hovering_a_cell_describes_it_and_a_press_pins_it(show):
    page = show()
    seek(page, 2.0)
    box = page.locator("canvas.cells").bounding_box()
    at = page.evaluate(
        "() => { const { seats } = stage().stage.layout.lanes[0]; return [seats.x + 60, seats.y + 5]; }"
    )
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    card = page.locator(".card")
    card.wait_for(state="visible")
    text = card.inner_text()
    assert "none · seat 1" in text
    assert "tokens before it are in the KV cache" in text
    assert "all 1 seats" in text or "left alone" in text or "Nobody" in text
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(5, 5)
    assert card.inner_text() == text


def test_hovering_a_chip_says_how_long_the_request_has_waited(show, demo):
    page = show()
    seek(page, 2.0)
    box = page.locator("canvas.cells").bounding_box()
    at = page.evaluate(
        "() => { const { layout, theme } = stage().stage; const { now } = layout.lanes[0];"
        " return [now.x + 1.5 * theme.em, now.y + 1.6 * theme.em]; }"
    )
    page.mouse.move(box["x"] + at[0], box["y"] + at[1])
    times = request_times(demo.workload, demo.lanes[0])
    first = next(r for r in times if r.arrival <= 2.0 < r.first_scheduled)
    page.get_by_text(f"none · request {first.id}").wait_for()
    assert f"waiting {2.0 - first.arrival:.2f} s" in page.locator(".card").inner_text()


def test_answers_stream_up_to_the_playhead_and_end_whole(show, demo):
    page = show()
    answer = page.locator(".request .answer").first
    seek(page, 0.2)
    part = answer.inner_text()
    seek(page, page.evaluate(PLAYER)["end"])
    assert answer.inner_text().startswith(part)
    assert len(answer.inner_text()) > len(part)


def test_why_this_batch_has_a_sentence_for_each_dispatch_with_its_numbers(show, demo):
    page = show()
    page.get_by_role("tab", name="Why this batch?").click()
    page.get_by_label("Mode", exact=True).select_option("2")
    reasons = page.locator(".reasons li")
    lane = demo.lanes[2]
    assert reasons.count() == sum(run.prefill for run in lane.runs())
    first = reasons.last.inner_text()
    assert "Window over: request 0 had waited 15" in first
    assert "the window is 150 ms" in first
    reasons.last.get_by_role("button").click()
    assert page.evaluate(PLAYER)["time"] == next(run.start for run in lane.runs())


def test_a_metrics_name_opens_its_definition(show):
    page = show()
    name = page.get_by_role("button", name="Throughput")
    name.click()
    assert name.get_attribute("aria-expanded") == "true"
    assert "divided by the time" in page.locator(".means").inner_text()
    name.click()
    assert not page.locator(".means").is_visible()


def test_prompts_show_as_text_and_never_as_markup(show):
    page = show()
    assert page.get_by_text("<script>alert(1)</script>").count() > 0
    assert page.evaluate("document.getElementById('host').shadowRoot.querySelectorAll('script').length") == 0


def test_the_picture_has_words_for_those_who_do_not_see_it(show):
    page = show()
    canvas = page.locator("canvas.cells")
    assert canvas.get_attribute("role") == "img"
    assert canvas.get_attribute("tabindex") == "0"
    assert "none: 16 of 16 requests finished" in canvas.get_attribute("aria-label")
    assert page.locator("table caption").count() == 1
    assert page.locator("table tbody tr").count() == 7
    assert page.locator("[aria-live=polite]").count() == 1
    assert page.locator("canvas[role=img]:not([aria-label])").count() == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_on_a_phone_nothing_is_wider_than_the_screen(show, language):
    page = show(language=language, width=400, height=800, knobs=KNOBS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    wide = page.evaluate(
        "[...document.getElementById('host').shadowRoot.querySelectorAll('.stage > *, td, button')]"
        ".filter((e) => e.getBoundingClientRect().right > 401).map((e) => e.className || e.textContent)"
    )
    assert wide == []


def test_at_1280_by_720_the_lanes_and_the_whole_board_are_on_the_screen(show):
    page = show(knobs=KNOBS)
    box = page.locator(".board table").bounding_box()
    assert box["y"] + box["height"] <= 720
    assert page.evaluate("document.documentElement.scrollWidth") == 1280


def test_a_change_of_theme_is_drawn_at_once(show):
    page = show()
    before = page.evaluate("stage().stage.theme.background")
    page.evaluate("document.documentElement.classList.add('dark'), mountStage(data)")
    assert page.evaluate("stage().stage.theme.background") != before
    assert page.evaluate("stage().counters.mounts") == 1


def test_a_change_of_language_keeps_the_playhead(show, records, demo):
    page = show()
    seek(page, 1.25)
    page.evaluate("(data) => mountStage(data)", records.data(demo, "zh"))
    page.get_by_role("tab", name="为什么是这一批？").wait_for()
    assert page.evaluate(PLAYER)["time"] == 1.25


def test_a_knob_is_dragged_with_the_mouse_and_reports_once_when_let_go(show):
    page = show(knobs=KNOBS)
    slider = page.get_by_role("slider", name="Max batch size")
    box, stops = slider.bounding_box(), int(slider.get_attribute("max"))
    x = box["x"] + 8 + (box["width"] - 16) * int(slider.input_value()) / stops
    y = box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(box["x"] + 2, y, steps=5)
    assert slider.input_value() == "0"
    assert page.evaluate("told.states") == []
    page.mouse.up()
    page.wait_for_function("told.states.length > 0")
    assert page.evaluate("told.states") == [["knobs", {"revision": "1", "max_batch_size": 1, "kv_budget_mb": None}]]
    assert page.evaluate("stage().stage.fading") == [False, True, False, True]  # before anybody has answered
    assert page.locator(".head.fading", has_text="re-measuring").count() == 2
    page.evaluate("mountStage(data)")
    assert page.locator(".head.fading").count() == 0


COMING = [{"id": "coming"}]  # a run that stands in line: nothing of it is known


@pytest.mark.parametrize(("fresh", "kinds"), [(True, {"expected"}), (False, {"measured"})])
def test_what_was_shown_gives_way_to_empty_lanes_where_only_the_new_run_may_be_seen(
    show, records, demo, fresh, kinds
):
    page = show()
    page.evaluate("() => { stage().player.seek(0); stage().player.toggle(); }")
    lanes = [{"run": "coming", "lane": lane.name} for lane in demo.lanes]
    empty = {"id": "empty", "record": expected(RunSpec(demo.workload, tuple(lane.policy for lane in demo.lanes)))}
    more = {"runs": COMING, "lanes": lanes, "expected": empty, "fresh": fresh}
    page.evaluate("(data) => mountStage(data)", records.data(None, **more))
    assert set(page.evaluate("stage().shown.map(({ run }) => run.kind)")) == kinds
    assert page.evaluate("stage().player.end > 0") is not fresh
    assert page.locator(".head.fading").count() == (0 if fresh else len(demo.lanes))


def test_knobs_report_when_let_go_and_take_values_only_with_a_new_revision(show, records, demo):
    page = show(knobs=KNOBS)
    batch = page.get_by_label("Max batch size")
    batch.fill("4")
    page.wait_for_function("told.states.length === 1")
    assert page.evaluate("told.states") == [
        ["knobs", {"revision": "1", "max_batch_size": 16, "kv_budget_mb": None}]
    ]
    page.evaluate("(data) => mountStage(data)", records.data(demo, knobs=KNOBS))
    assert batch.get_attribute("aria-valuetext") == "16"
    page.evaluate("(data) => mountStage(data)", records.data(demo, knobs=KNOBS | {"revision": "2"}))
    assert batch.get_attribute("aria-valuetext") == "8"
    assert page.get_by_label("KV budget").get_attribute("aria-valuetext") == "all free memory"


def test_a_hidden_stage_waits_and_draws_when_it_is_shown(show):
    page = show()
    page.evaluate("document.getElementById('host').style.display = 'none'")
    page.evaluate("mountStage(data)")
    page.evaluate("document.getElementById('host').style.display = ''")
    page.wait_for_function("stage().stage.scene.width > 0")


def test_earlier_settings_leave_a_trail(show, records, demo):
    page = show()
    other = records.make(records.workload(16, 12.0), records.four(4))
    data = records.data(other) | {"key": "stage"}
    data["runs"][0]["id"] = "second"
    page.evaluate("(data) => mountStage(data)", data)
    trail = page.evaluate("stage().trailOf('static').map((p) => p.id)")
    assert trail == ["demo static"]
    data["runs"][0] |= {"id": "third", "situation": "another scenario"}
    page.evaluate("(data) => mountStage(data)", data)
    assert page.evaluate("stage().trailOf('static')") == []
