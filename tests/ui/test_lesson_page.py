"""A lesson's page as a learner uses it, without a browser; the engine is a real process with a script in it."""

import json
import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from lab.lesson.lesson import Claim, lesson_named, scenes
from lab.lesson.recorded import recorded_runs
from lab.lesson.text import lesson_text
from lab.report.words import Words
from lab.run.line import State
from lab.ui.device import device as the_device
from lab.ui.lesson_claims import bound

EN, ZH = Words("en"), Words("zh")
LESSON = lesson_named("one-at-a-time")
GUESS, RUN, TRY = 3, 4, 6  # its steps, as in the address
HEADINGS = [lesson_text(LESSON.folder, "en").sections[key].heading for key in ("step", "all_done")]


def only_lessons():
    from lab.ui.lessons import show_lessons

    show_lessons()


@pytest.fixture
def lesson(device):
    """Opens a step of the lesson in a tab of its own."""

    def open_step(step, language="en"):
        at = AppTest.from_function(only_lessons, default_timeout=30)
        for name, value in {"lesson": LESSON.name, "step": str(step), "lang": language}.items():
            at.query_params[name] = value
        return at.run()

    return open_step


def said(at):
    return "\n".join(str(e.value) for e in (*at.markdown, *at.info, *at.warning, *at.success, *at.caption))


def keys(at):
    return {button.key for button in at.button}


def on_stage(at):
    return json.loads(at.get("bidi_component")[0].proto.json)


def guess(at):
    at.radio(key=f"guess_{LESSON.name}_step_en").set_value(1).run()
    return at.number_input(key=f"guess_{LESSON.name}_all_done").set_value(3.0).run()


def job_of(at):
    """Of what was asked for last."""
    return [board.pending for board in at.session_state["lessons"].boards.values() if board.pending][-1]


def ran(at, wait_for):
    at = at.button(key="lesson_run").click().run()
    job = job_of(at)
    wait_for(lambda: the_device().look(job).state.over)
    return at.run()


def test_a_guess_is_graded_on_the_learners_own_run_although_a_classmate_has_measured_the_same(lesson, wait_for):
    classmate, learner = lesson(RUN), guess(lesson(GUESS))
    classmate = ran(classmate.button(key="reveal").click().run(), wait_for)
    assert set(the_device().measured(scenes()["four"].spec()).values()) == {job_of(classmate)}

    learner.button(key="next").click().run()
    learner = ran(learner, wait_for)
    job = job_of(learner)
    assert job != job_of(classmate)
    own = learner.session_state["lessons"].records["four"]
    assert own.provenance == the_device().look(job).record.provenance
    assert "You said: 3 times." in said(learner)
    assert not learner.exception


def test_ones_own_run_of_a_scene_is_kept_for_the_visit_and_not_measured_again(lesson, wait_for):
    at = ran(lesson(RUN).button(key="reveal").click().run(), wait_for)
    before = at.session_state["lessons"].records["four"].provenance
    at.button(key="back").click().run()
    at.button(key="next").click().run()
    assert at.session_state["lessons"].records["four"].provenance == before
    assert at.button(key="lesson_run").label == EN("lesson.run_again")


def test_what_a_run_would_take_counts_lanes_that_others_have_measured(lesson, wait_for):
    ran(lesson(RUN).button(key="reveal").click().run(), wait_for)
    assert the_device().expect(scenes()["four"].spec()) is None
    assert the_device().expect(scenes()["four"].spec(), afresh=True).run > 0
    assert "would take about" in said(lesson(RUN))


@pytest.mark.parametrize("button", ["lesson_run", "lesson_recorded"])
def test_who_has_not_guessed_is_told_which_guesses_are_missing_and_nothing_runs(lesson, button):
    at = lesson(RUN)
    assert EN("lesson.locked", questions=" · ".join(HEADINGS)) in said(at)
    at.button(key=button).click().run()
    assert EN("lesson.too_early", questions=" · ".join(HEADINGS)) in said(at)
    assert at.session_state["lessons"].boards["four"].lanes == ()
    assert at.session_state["lessons"].recorded == set()


def test_a_guess_that_is_there_is_kept_when_another_is_missing(lesson):
    at = lesson(GUESS)
    at.number_input(key=f"guess_{LESSON.name}_all_done").set_value(3.0).run()
    at.button(key="next").click().run()
    assert EN("lesson.locked", questions=HEADINGS[0]) in said(at)
    at.button(key="to_guess").click().run()
    assert at.number_input(key=f"guess_{LESSON.name}_all_done").value == 3.0


def test_a_guess_that_is_taken_back_is_missing_again(lesson):
    at = guess(lesson(GUESS))
    at.number_input(key=f"guess_{LESSON.name}_all_done").set_value(None).run()
    at.button(key="next").click().run()
    assert EN("lesson.locked", questions=HEADINGS[1]) in said(at)


def test_a_recorded_run_is_called_so_beside_the_guess_the_text_and_the_claims(lesson, wait_for):
    at = guess(lesson(GUESS)).button(key="next").click().run()
    at = at.button(key="lesson_recorded").click().run()
    assert "In the recorded run it was" in said(at)
    assert "in the recorded run" in claims(at)
    assert EN("lesson.numbers_recorded") in said(at)
    at = ran(at, wait_for)
    assert "recorded" not in said(at)
    assert EN("lesson.here") in claims(at)


@pytest.mark.parametrize(
    ("least", "most", "en"),
    [
        (4, 4, "exactly 4 expected"),
        (1.5, None, "at least 1.5 expected"),
        (None, 2, "at most 2 expected"),
        (0.85, 1.15, "between 0.85 and 1.15 expected"),
    ],
)
def test_a_claim_says_what_it_expects_of_its_number(least, most, en):
    measure = "alone.steps / together.steps"
    assert bound(Claim("quarter", measure, least=least, most=most), EN) == en
    assert bound(Claim("quarter", measure, least=least, most=most), ZH)


def test_the_comparison_of_the_modes_says_where_its_numbers_are_from():
    at = AppTest.from_function(only_lessons, default_timeout=30).run()
    made = recorded_runs()["modes"].record.provenance
    said_there = [e.value for e in at.caption if made.device in e.value]
    assert len(said_there) == 1
    assert f"recorded run ({made.created[:10]}, {made.device}, {made.dtype})" in said_there[0]


def claims(at):
    return "\n".join(e.value for e in at.markdown if e.value.startswith(("✓", "✗")))


def test_who_does_not_want_to_guess_says_so_and_goes_on(lesson):
    at = lesson(RUN, "zh")
    assert at.button(key="reveal").label == ZH("lesson.reveal")
    at.button(key="reveal").click().run()
    at.button(key="lesson_recorded").click().run()
    assert lesson_text(LESSON.folder, "zh").sections["watch_why"].heading in said(at)
    assert "reveal" not in keys(at)


def test_a_shown_run_recorded_or_ones_own_can_be_downloaded_and_before_it_there_is_nothing_to_take(
    lesson, wait_for
):
    at = lesson(RUN).button(key="reveal").click().run()
    wanted = {"get_report", "get_record", "get_metrics", "get_requests", "get_steps"}
    assert not wanted & files(at)
    at.button(key="lesson_recorded").click().run()
    assert wanted <= files(at)
    assert wanted <= files(ran(at, wait_for))


def test_runs_of_two_scenes_or_of_two_machines_stand_on_no_common_curve(lesson, wait_for):
    at = lesson(RUN).button(key="reveal").click().run()
    at = at.button(key="lesson_recorded").click().run()
    situations = [on_stage(at)["runs"][0]["situation"]]
    situations.append(on_stage(ran(at, wait_for))["runs"][0]["situation"])
    situations.append(on_stage(ran(lesson(TRY), wait_for))["runs"][0]["situation"])
    assert len(set(situations)) == 3
    assert "" not in situations


def test_who_waits_for_a_run_can_only_cancel_it(lesson, monkeypatch):
    at = lesson(RUN).button(key="reveal").click().run()
    monkeypatch.setattr(type(the_device()), "look", waiting(type(the_device()).look))
    at = at.button(key="lesson_run").click().run()
    assert at.button(key="lesson_run").disabled
    assert "lesson_recorded" not in keys(at)
    assert "cancel" in keys(at)


def waiting(look):
    """As if the run never got its turn."""

    def looked(device, job):
        found = look(device, job)
        return None if found is None else replace(found, state=State.WAITING, place=1, record=None)

    return looked


def files(at):
    return {button.proto.id.rsplit("-", 1)[-1] for button in at.get("download_button")}


def test_an_old_run_leaves_the_stage_as_soon_as_a_new_one_is_asked_for(lesson):
    at = lesson(RUN).button(key="reveal").click().run()
    at.button(key="lesson_recorded").click().run()
    [old] = on_stage(at)["runs"]
    assert old["record"]["provenance"]["kind"] == "recorded"
    at.button(key="lesson_run").click().run()
    stage = on_stage(at)
    assert stage["fresh"]
    assert old["id"] not in [run["id"] for run in stage["runs"]]


def test_a_run_made_before_is_not_shown_as_long_as_a_guess_about_it_is_missing(lesson, wait_for):
    at = ran(lesson(RUN).button(key="reveal").click().run(), wait_for)
    own = on_stage(at)["runs"]
    asking = lesson_named("half-truths")
    at.query_params["lesson"] = asking.name
    at.query_params["step"] = str([step.key for step in asking.steps].index("watch_idle") + 1)
    at.run()
    assert on_stage(at)["runs"] == []
    at.button(key="reveal").click().run()
    assert on_stage(at)["runs"] == own
    assert at.button(key="lesson_run").label == EN("lesson.run_again")


def test_two_lessons_that_free_the_same_scene_keep_their_tries_apart(lesson, wait_for):
    at = lesson(1)
    for name in ("load", "batch-size"):
        trying = lesson_named(name)
        at.query_params["lesson"] = name
        at.query_params["step"] = str([step.kind for step in trying.steps].index("try") + 1)
        at.run()
        assert on_stage(at)["runs"] == []
        assert not at.exception
        ran(at, wait_for)
        assert lesson_text(trying.folder, "en").sections["more_why"].body[:40] in said(at)


def test_each_try_stands_beside_the_ones_before_it_with_the_knobs_as_they_stood(lesson, wait_for):
    at = ran(lesson(TRY), wait_for)
    assert tries(at) == []
    slider = at.select_slider(key=f"try {LESSON.name} more batch")
    slider.set_value(2.0).run()
    at = ran(at, wait_for)
    steps = [
        [lane.steps for lane in one.lanes] for one in at.session_state["lessons"].tries[f"try {LESSON.name} more"]
    ]
    assert [row[0] for row in tries(at)] == ["4", "2"]
    assert [[int(cell) for cell in row[1:3]] for row in tries(at)] == steps
    slider.set_value(8.0).run()
    assert len(tries(at)) == 2  # nothing was run with it


def tries(at):
    """The cells of the table of tries, without its head."""
    found = [e.proto.body for e in at.get("html") if 'class="lab tries"' in e.proto.body]
    rows = found[0].split("<tr>")[2:] if found else []
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]
