"""The page as a visitor uses it, without a browser; the engine is a real process with a script in it."""

import json
import re

import pytest
import streamlit

from lab.report.provenance import local_time
from lab.report.words import Words
from lab.scheduling.policy import MODES
from lab.ui.device import be_again, me
from lab.ui.device import device as the_device
from lab.ui.models import model_name, other_models

EN, ZH = Words("en"), Words("zh")


def texts(at):
    shown = (*at.markdown, *at.caption, *at.text, *at.info, *at.error, *at.warning, *at.subheader, *at.title)
    return as_read("\n".join(str(element.value) for element in shown))


def as_read(markdown):
    """Without the backslashes that keep a sentence from being Markdown."""
    return re.sub(r"\\(\W)", r"\1", markdown)


def html(at):
    return "\n".join(element.proto.body for element in at.get("html"))


def press_run(at):
    return at.button(key="run").click().run()


def job_of(at):
    """The run that this tab started last."""
    return at.session_state["board"].pending


def stage(at):
    """What the stage is given to show; None where it is not on the page."""
    mounted = at.get("bidi_component")
    return json.loads(mounted[0].proto.json) if mounted else None


def watch_token(at):
    """As the page puts it into the link."""
    [link] = [code.value for code in at.code if "watch=" in code.value]
    return link.split("watch=")[1]


def let_go(at, **values):
    """As the stage reports a slider that was let go."""
    for name, value in values.items():
        at.session_state[name] = value
    at.session_state["pressed_run"] = True
    return at.run()


def finish(at, wait_for):
    """Wait for the run of this tab and draw the page again, as the progress does by itself in a browser."""
    job = job_of(at)
    if not job:  # it ended before the page was drawn, which says so
        return at
    wait_for(lambda: the_device().look(job).state.over)
    return at.run()


def test_a_first_visit_says_what_this_is_and_what_to_do(page):
    at = page()
    assert not at.exception
    assert "This is a **recorded** run" in texts(at)
    assert "Press **Run**" in texts(at)
    assert "Why is" in html(at) or "What is" in html(at)  # the requests are listed before a run
    assert not at.get("plotly_chart")
    [shown] = stage(at)["runs"]
    assert shown["record"]["provenance"]["kind"] == "recorded"


def test_all_labels_are_there_in_both_languages(page):
    at = page()
    assert at.button(key="run").label == "Run"
    at.session_state["language"] = "zh"
    at.run()
    assert at.button(key="run").label == "运行"
    assert at.selectbox(key="scenario_zh").label == ZH("knob.scenario")
    assert "录制" in texts(at)
    assert at.query_params["lang"] == "zh"


def test_a_run_shows_its_progress_then_lanes_score_answers_and_origin(page, wait_for):
    at = press_run(page(scenario="chat", requests="4", batch="2"))
    assert at.get("progress")
    assert at.button(key="cancel").label == "Cancel"
    at = finish(at, wait_for)
    assert not at.exception
    assert [lane["lane"] for lane in stage(at)["lanes"]] == list(MODES)
    assert len(at.get("plotly_chart")) == 6
    assert "Throughput" in html(at)
    assert "Measured here at" in texts(at)
    assert "4 of 4 answers are the same in all modes" in texts(at)
    assert EN("run.changed") not in texts(at)


def test_prompts_beyond_the_limit_are_cut_and_it_is_said(page):
    at = page(scenario="own")
    at.text_area(key="own").set_value("word " * 4000).run()
    assert any("20,000 characters; the first 16,016 are used" in w.value for w in at.warning)


def test_the_result_says_when_the_knobs_have_moved_on(page, wait_for):
    at = finish(press_run(page(requests="2", batch="2")), wait_for)
    at.session_state["batch"] = 3
    at.run()
    assert EN("run.changed") in texts(at)


def test_a_run_can_be_cancelled(page, wait_for):
    at = page(scenario="own")
    at.text_area(key="own").set_value("slow\nslow\nslow").run()
    at = press_run(at)
    wait_for(lambda: the_device().look(job_of(at)).record is not None)
    at.button(key="cancel").click().run()
    at = finish(at, wait_for)
    assert EN("why.asked") in texts(at)
    assert "Press **Run**" in texts(at)
    assert not at.get("plotly_chart")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("mistake", "the engine made a mistake"),
        ("no memory", "ran out of memory"),
        ("crash", "the system killed it"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_the_next_run_works(page, wait_for, prompt, said):
    at = page(scenario="own")
    at.text_area(key="own").set_value(prompt).run()
    at = finish(press_run(at), wait_for)
    assert said in as_read(at.error[0].value)
    assert not at.exception
    at.text_area(key="own").set_value("hello").run()
    at = finish(press_run(at), wait_for)
    assert at.get("plotly_chart")


@pytest.mark.parametrize("device", ["missing"], indirect=True)
def test_a_model_that_cannot_be_loaded_is_a_sentence(page, device, wait_for):
    wait_for(lambda: device.engine.sentence)
    at = page()
    assert "No model could be loaded: there is no model 'missing'" in texts(at)
    at = finish(press_run(at), wait_for)
    assert "nothing could run" in as_read(at.error[0].value)


def test_pressing_run_twice_leaves_one_run_and_a_place_in_line_is_told(page, device, wait_for):
    first = page(scenario="own")
    first.text_area(key="own").set_value("slow\n" * 8).run()
    first = press_run(first)
    wait_for(lambda: device.look(job_of(first)).record is not None)
    second = press_run(page(requests="2"))
    before = job_of(second)
    second = press_run(second)
    assert device.look(before).why == "replaced"
    assert EN("line.place", place=1) in second.get("progress")[0].proto.text
    assert device.look(job_of(first)).place == 0


def test_of_two_presses_one_run_is_left_and_reset_cancels_it(page, device, wait_for):
    at = page(scenario="own")
    at.text_area(key="own").set_value("slow\n" * 8).run()
    first = job_of(press_run(at))
    second = job_of(press_run(at))
    wait_for(lambda: device.look(first).state.over and any(lane.start for lane in device.since(second)))
    told = texts(at.button(key="reset").click().run())
    wait_for(lambda: device.look(second).state.over)
    assert [device.look(job).why for job in (first, second)] == ["replaced", "asked"]
    assert EN("why.asked") in told + texts(at.run())


def test_visitors_see_each_their_own_run(page, wait_for):
    one, other = page(requests="2", seed="1"), page(requests="3", seed="2")
    one, other = press_run(one), press_run(other)
    one, other = finish(one, wait_for), finish(other, wait_for)
    assert "requests: 2 · seed 1" in texts(one)
    assert "requests: 3 · seed 2" in texts(other)


def test_an_address_with_a_run_shows_it_to_others_who_cannot_cancel_it(page, wait_for):
    mine = page(scenario="own", modes="none")
    mine.text_area(key="own").set_value("slow\n" * 4).run()
    mine = press_run(mine)
    theirs = page(run=mine.query_params["run"])
    assert EN("run.watching") in texts(theirs)
    assert "cancel" not in [button.key for button in theirs.button]
    wait_for(lambda: the_device().look(job_of(mine)).state.over)
    assert theirs.run().get("plotly_chart")


def test_a_forgotten_run_in_the_address_is_said_and_taken_out(page):
    at = page(run="nobody-knows-it")
    assert EN("notice.gone") in texts(at)
    assert "run" not in at.query_params


def test_an_address_sets_the_knobs_and_what_is_out_of_bounds_is_clamped_and_said(page):
    at = page(scenario="mixed", batch="99", window="120", modes="static,continuous", rate="nonsense")
    assert at.session_state["batch"] == 32
    assert at.session_state["window"] == 120
    assert at.selectbox(key="scenario_en").value == "mixed"
    assert "was `99`; the lab takes 32" in texts(at)
    assert "`nonsense`" in texts(at)
    at.session_state["batch"] = 4
    at.run()
    assert "was `99`" not in texts(at)
    assert at.query_params["batch"] == "4"
    assert at.query_params["modes"] == "static,continuous"


def test_an_address_that_names_a_knob_twice_is_said_beside_what_is_out_of_bounds(page):
    at = page(rate=["1", "2"], batch=["4", "99"])
    assert (at.session_state["rate"], at.session_state["batch"]) == (2, 32)
    assert "is in the address more than once, `1 & 2`; the lab takes the last" in texts(at)
    assert "was `99`; the lab takes 32" in texts(at)


def test_an_address_makes_no_link_and_no_picture(page):
    at = page(scenario="![x](http://a.test/b.png) `www.e.test`")
    assert "`![x](http://a.test/b.png) ʼwww.e.testʼ`" in at.info[0].value


def test_own_prompts_are_listed_before_the_run_and_stay_out_of_the_address(page):
    at = page(scenario="own")
    assert at.get("popover")[0].proto.popover.disabled
    at.text_area(key="own").set_value("<b>bold</b> & co\nsecond").run()
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in html(at)
    assert "<b>bold" not in html(at)
    assert set(at.query_params) == {"scenario"}


def test_too_many_prompts_are_a_sentence_and_run_nothing(page):
    at = page(scenario="own")
    at.text_area(key="own").set_value("x\n" * 17).run()
    assert "there are 17 prompts; at most 16 are taken" in as_read(at.warning[0].value)
    at = press_run(at)
    assert at.session_state["board"].lanes == ()
    assert not at.exception


def test_no_modes_is_a_sentence(page):
    at = page()
    at.get_by_key("modes").set_value([]).run()
    assert EN("notice.no_modes") in texts(at)
    assert not at.exception


def test_a_slider_that_is_let_go_runs_only_the_lanes_that_it_concerns(page, wait_for):
    at = finish(press_run(page(requests="3", batch="2")), wait_for)
    before = {mode: job for job, mode in at.session_state["board"].lanes}
    at = finish(let_go(at, window=200), wait_for)
    after = {mode: job for job, mode in at.session_state["board"].lanes}
    assert {mode for mode in MODES if before[mode] != after[mode]} == {"dynamic"}
    assert [lane["lane"] for lane in stage(at)["lanes"]] == list(MODES)
    at = finish(let_go(at, batch=3), wait_for)
    last = {mode: job for job, mode in at.session_state["board"].lanes}
    assert {mode for mode in MODES if after[mode] != last[mode]} == {"static", "dynamic", "continuous"}


def test_lanes_that_were_not_measured_again_are_named_with_the_time_they_were(page, wait_for):
    at = finish(press_run(page(requests="3", batch="2")), wait_for)
    created = the_device().look(at.session_state["board"].lanes[0][0]).record.provenance.created
    at = finish(let_go(at, window=200), wait_for)
    told = EN("provenance.earlier", modes="none, static, continuous", time=local_time(created))
    assert [told] == [e.value for e in at.text if "measured earlier" in e.value]


def test_charts_with_equal_content_have_ids_of_their_own_and_keep_them_and_their_zoom_over_a_rerun(page, wait_for):
    at = finish(press_run(page(requests="1", batch="1")), wait_for)  # in all modes the same happens
    before = at.get("plotly_chart")
    at.session_state["window"] = 200  # a knob is moved; the result is the same
    after = at.run().get("plotly_chart")
    assert not at.exception
    assert len({chart.proto.id for chart in before}) == len(before) > 1
    assert [chart.proto.id for chart in after] == [chart.proto.id for chart in before]
    assert {json.loads(chart.proto.spec)["layout"].get("uirevision") for chart in after} == {"kept"}


def test_a_setting_that_has_been_measured_comes_back_at_once_to_any_visitor(page, wait_for):
    at = finish(press_run(page(requests="3", batch="2")), wait_for)
    first = at.session_state["board"].lanes
    at = finish(let_go(at, batch=3), wait_for)
    at = let_go(at, batch=2)
    assert at.session_state["board"].lanes == first
    other = press_run(page(requests="3", batch="2"))
    assert other.session_state["board"].lanes == first


def test_run_measures_anew_what_is_on_the_board_already(page, wait_for):
    at = finish(press_run(page(requests="2", modes="none")), wait_for)
    first = at.session_state["board"].lanes
    at = finish(press_run(at), wait_for)
    assert at.session_state["board"].lanes != first


def test_reset_brings_the_knobs_back_and_tells_the_stage_so(page, wait_for):
    at = finish(press_run(page(requests="2", batch="2", window="120", rate="4")), wait_for)
    assert [item["value"] for item in stage(at)["knobs"]["items"]] == [4, 2, 120, None]
    revision = stage(at)["knobs"]["revision"]
    at.button(key="reset").click().run()
    assert [item["value"] for item in stage(at)["knobs"]["items"]] == [None, 8, 50, None]
    assert stage(at)["knobs"]["revision"] != revision


def test_a_watch_link_shows_its_owners_stage_and_every_run_that_follows(page, wait_for):
    mine = page(requests="2")
    token = watch_token(mine)
    theirs = page(watch=token)
    assert EN("watch.nothing_yet") in texts(theirs)
    mine = press_run(mine)
    theirs.run()
    assert [run["id"] for run in stage(theirs)["runs"]] == [job_of(mine)]
    assert "knobs" not in stage(theirs) or stage(theirs)["knobs"] is None
    assert not theirs.button
    finish(mine, wait_for)
    assert EN("watch.gone") in texts(page(watch="guessed"))


def test_a_run_is_kept_by_name_for_this_visit(page, wait_for):
    at = finish(press_run(page(requests="2")), wait_for)
    at.text_input(key="keep_name").set_value("first").run()
    at.button(key="keep_this").click().run()
    at = at.run()
    at.selectbox(key="kept_shown").select("first").run()
    assert not at.exception
    [shown] = stage(at)["runs"]
    assert len(shown["record"]["lanes"]) == 4
    assert "Measured here at" in texts(at)


@pytest.mark.parametrize("scenario", ["chat", "mixed"])
def test_the_language_can_be_changed_back_and_forth_and_the_scenario_stays(page, scenario):
    at = page(scenario=scenario)
    for language in ("zh", "en", "zh", "zh", "en"):
        at.session_state["language"] = language
        at.run()
        assert not at.exception
        assert at.selectbox(key=f"scenario_{language}").value == scenario
        assert at.session_state["scenario"] == scenario


def test_run_without_own_prompts_says_what_is_missing(page):
    at = press_run(page(scenario="own"))
    assert EN("notice.no_prompts") in texts(at)


def test_another_model_is_loaded_for_its_run_and_what_is_shown_says_which(page, device, wait_for):
    wait_for(lambda: device.engine.facts)
    at = page(requests="2")
    model = other_models()[0]
    at.selectbox(key="model_en").select(model).run()
    assert at.query_params["model"] == model
    assert f"{model_name(model)} is loaded first when its run's turn comes" in texts(at)
    at = finish(press_run(at), wait_for)
    assert device.engine.model == model
    assert at.get("plotly_chart")
    assert EN("run.changed") not in texts(at)
    at.selectbox(key="model_en").select("").run()
    assert EN("run.changed") in texts(at)
    assert "model" not in at.query_params


@pytest.mark.parametrize("model", ["/etc/passwd", "dummy:Llama-3.1-70B", "Qwen/Qwen3-0.6B"])
def test_an_address_cannot_name_a_model_that_is_not_on_the_list(page, device, wait_for, model):
    at = page(requests="2", model=model)
    assert f"`{model}`" in texts(at)
    finish(press_run(at), wait_for)
    assert device.engine.model == device.model


def test_a_rule_that_is_turned_over_runs_its_lane_only_and_the_address_says_so(page, wait_for):
    at = finish(press_run(page(requests="3", batch="2")), wait_for)
    before = {mode: job for job, mode in at.session_state["board"].lanes}
    at.get_by_key("rules_static").set_value([]).run()
    assert at.query_params["turned"] == "static.padded"
    at = finish(press_run(at), wait_for)
    after = {mode: job for job, mode in at.session_state["board"].lanes}
    assert list(after) == ["none", "static -padded", "dynamic", "continuous"]
    assert {mode for mode in after if after[mode] != before.get(mode)} == {"static -padded"}
    assert "static − padding" in html(at)
    again = page(**{name: at.query_params[name] for name in at.query_params})
    assert [mode for _, mode in again.session_state["board"].lanes] == list(after)


def test_refill_of_a_padded_batch_is_refused_with_a_sentence(page):
    at = page(turned="static.refill")
    assert "refill and padded exclude each other" in texts(at)
    assert press_run(at).session_state["board"].lanes == ()


def test_a_new_seed_gives_other_requests_and_stays_in_the_address(page):
    at = page()
    at.button(key="new_seed").click().run()
    seed = at.session_state["seed"]
    assert at.query_params["seed"] == str(seed)
    at.button(key="reset").click().run()
    assert at.session_state["seed"] == 0
    assert "seed" not in at.query_params


def test_reset_brings_back_model_and_rules_too(page):
    at = page(model=other_models()[0], turned="none.padded,dynamic.padded", seed="5", modes="none,dynamic")
    assert "Settings (4)" in [popover.proto.popover.label for popover in at.get("popover")]
    at.button(key="reset").click().run()
    assert at.selectbox(key="model_en").value == ""
    assert len(at.query_params) == 0


def test_before_a_run_of_a_scenario_without_a_recording_its_empty_lanes_are_shown(page):
    at = page(scenario="day", modes="static,continuous")
    expected = stage(at)["expected"]["record"]
    assert [lane["policy"]["name"] for lane in expected["lanes"]] == ["static", "continuous"]
    assert expected["provenance"]["kind"] == "expected"
    assert all(not lane["columns"]["start"] for lane in expected["lanes"])
    assert EN("scenario.day.about") in texts(at)
    assert stage(page(scenario="day", modes="static"))["expected"]["id"] != stage(at)["expected"]["id"]


def test_who_comes_back_after_a_reload_may_cancel_its_run_and_keeps_its_watch_link(page, device, wait_for):
    mine = page(scenario="own", modes="none")
    mine.text_area(key="own").set_value("slow\n" * 8).run()
    mine = press_run(mine)
    owner, job = stage(mine)["owner"], job_of(mine)
    assert owner not in str(dict(mine.query_params))
    assert owner != watch_token(mine)
    reloaded = page(**{name: mine.query_params[name] for name in mine.query_params})
    assert "cancel" not in [button.key for button in reloaded.button]
    reloaded.session_state["me"] = owner  # as be_again does
    reloaded.run()
    assert watch_token(reloaded) == watch_token(mine)
    reloaded.button(key="cancel").click().run()
    wait_for(lambda: device.look(job).state.over)
    assert device.look(job).why == "asked"


def test_a_tab_is_who_it_says_it_was_unless_that_is_nonsense_or_it_has_a_run_already(monkeypatch):
    state = {}
    monkeypatch.setattr(streamlit, "session_state", state)
    now, before = me(), "0123456789abcdef" * 2
    for nonsense in (None, "", "guess", ["x"], before[:-1], before + "0", before.upper()):
        be_again(nonsense)
        assert me() == now
    be_again(before)
    assert me() == before
    state["has_run"] = True
    be_again("f" * 32)
    assert me() == before
