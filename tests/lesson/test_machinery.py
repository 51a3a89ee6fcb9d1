"""Scenes, expressions, grades and claims on small scripted runs with known numbers."""

import math
from dataclasses import replace

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.lesson.expression import Taken, names, unit, value
from lab.lesson.judge import grade, judge
from lab.lesson.lesson import Claim, Question, check_step, lesson_named, scenes
from lab.lesson.measured import ClaimFound, measure_claims
from lab.lesson.numbers import written
from lab.lesson.scene import LaneSpec, Scene, Stream, Users
from lab.lesson.text import filled, lesson_text
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.workload.request import Request, Workload


def scene(**changes):
    lanes = {"alone": LaneSpec("none", name="one by one"), "bus": LaneSpec("static", batch=2)}
    return Scene(**{"lanes": lanes, "streams": (Stream(2, prompt=3, answer=4),)} | changes)


def run(made, step=0.1):
    """The scene with prompts of made-up ids, every step taking `step` seconds."""
    spec = made.spec()
    requests = tuple(
        Request(r.id, r.arrival, r.max_new_tokens, prompt_ids=(1,) * r.prompt_length,
                output_tokens=r.output_tokens, priority=r.priority)
        for r in spec.workload.requests
    )  # fmt: skip
    workload = Workload("lesson", requests)
    lanes = [
        Lane(policy, workload, ScriptedExecutor(lambda _: step), kv_budget=10_000, context=5_000)
        for policy in spec.policies
    ]
    to_the_end(lanes)
    origin = Provenance("measured", "m", "1", "fp32", "d", 2, (), "", "2026-01-02T03:04:05+00:00", 100, 1000)
    return Taken(made, RunRecord(origin, workload, tuple(lane.record() for lane in lanes)))


@pytest.fixture
def runs():
    return {"here": run(scene())}


def test_a_stream_is_a_list_of_equal_requests_in_order_of_arrival():
    made = scene(streams=(Stream(2, 5, 6, every=0.2), Stream(1, 7, 8, first=0.1, priority=1))).workload()
    rows = [(r.arrival, r.prompt_length, r.output_tokens, r.priority) for r in made.requests]
    assert rows == [(0.0, 5, 6, 0), (0.1, 7, 8, 1), (0.2, 5, 6, 0)]


def test_a_scene_says_in_one_way_what_arrives():
    with pytest.raises(ValueError, match="exactly one of scenario, streams and users; this one has 2"):
        scene(users=Users(1, 2, 0.1))
    with pytest.raises(ValueError, match="has 0"):
        Scene(lanes={"alone": LaneSpec("none")})


def test_what_a_learner_moves_changes_the_scene_and_nothing_else():
    moved = scene().turned({"batch": 4, "window": 100})
    assert [p.max_batch_size for p in moved.spec().policies] == [1, 4]
    assert moved.workload() == scene().workload()
    assert scene().turned({}) == Scene(
        lanes={k: LaneSpec(v.mode, v.name, v.batch, float(v.window)) for k, v in scene().lanes.items()},
        streams=scene().streams,
    )


def test_measures_are_read_by_lane_list_and_machine(runs):
    assert value("alone.steps", runs, "here") == 8
    assert value("alone.steps / bus.steps", runs, "here") == 2
    assert value("here.bus.makespan", runs, "elsewhere") == pytest.approx(0.4)
    assert value("list.requests * (list.longest_answer - 1)", runs, "here") == 6
    assert value("machine.kv_token", runs, "here") == 1000
    assert value("machine.bandwidth", runs, "here") is None
    assert value("max(alone.queue_max, bus.queue_max)", runs, "here") == pytest.approx(0.4)
    assert value("nowhere.bus.steps", runs, "here") is None


def test_little_holds_on_any_run(runs):
    for lane in ("alone", "bus"):
        law = value(f"{lane}.in_system / ({lane}.answered * {lane}.e2e_mean)", runs, "here")
        assert law == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("alone.speed", "'speed' in 'alone.speed' is unknown"),
        ("list.steps", "'steps' in 'list.steps' is unknown"),
        ("alone", "'alone' in 'alone' is no measure"),
        ("alone.steps * 2", "'2' in 'alone.steps \\* 2' is no measure"),
        ("a.b.c.d", "is no measure"),
        ("__import__('os').steps", "is no measure"),
        ("alone.steps +", "is no expression"),
        ("alone.steps ** bus.steps", "is no measure"),
    ],
)
def test_an_expression_of_anything_else_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        list(names(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.steps", "n"),
        ("a.makespan / b.makespan", "x"),
        ("a.ttft_mean - b.ttft_mean", "s"),
        ("machine.weights / machine.bandwidth", "s"),
        ("a.answered * a.e2e_mean", "n"),
        ("a.tpot * list.first_answer", "s"),
        ("a.steps / a.makespan", None),
    ],
)
def test_the_unit_of_a_result_follows_from_its_parts(text, expected):
    assert unit(text) == expected


def test_a_number_is_graded_by_the_factor_it_is_off(runs):
    question = Question("q", "bus.makespan", unit="ms")
    assert grade(question, 400, runs, "here") == (True, pytest.approx(400), None, pytest.approx(1.0))
    assert grade(question, 100, runs, "here") == (False, pytest.approx(400), None, pytest.approx(4.0))
    assert grade(question, 1600, runs, "here").factor == pytest.approx(4.0)
    assert grade(question, -5, runs, "here") == (False, pytest.approx(400), None, None)


@pytest.mark.parametrize(("guess", "right"), [(0, False), (1, True), (2, False)])
def test_a_choice_is_graded_by_the_band_that_the_run_fell_into(runs, guess, right):
    question = Question("q", "alone.steps / bus.steps", edges=(1.5, 3))
    assert grade(question, guess, runs, "here") == (right, pytest.approx(2), 1, None)


def test_the_same_guess_is_right_on_one_machine_and_wrong_on_another():
    question = Question("q", "bus.makespan", unit="s")
    assert grade(question, 0.4, {"here": run(scene(), 0.1)}, "here").right
    assert not grade(question, 0.4, {"here": run(scene(), 0.9)}, "here").right


def test_what_is_undefined_is_neither_graded_nor_judged(runs):
    assert grade(Question("q", "machine.bandwidth"), 1, runs, "here") is None
    assert judge(Claim("c", "machine.bandwidth", least=1), runs, "here") is None


def test_a_claim_has_bounds(runs):
    def held(**bounds):
        return judge(Claim("c", "alone.steps", **bounds), runs, "here").held

    assert held(least=8)
    assert held(most=8)
    assert not held(least=8.1)
    assert not held(least=1, most=7.9)


@pytest.mark.parametrize(
    ("number", "kind", "text"),
    [
        (0.0123456, "s", "12.3 ms"),
        (2.0, "s", "2 s"),
        (2.3456, "x", "×2.35"),
        (0.7, "%", "70 %"),
        (1_234_567.0, "B", "1.23 MB"),
        (23_040.0, "B", "23.0 KB"),
        (3.2e10, "B/s", "32 GB/s"),
        (17.25, "n", "17.2"),
        (1234.5, "tok/s", "1,234 tok/s"),
        (-0.005, "s", "-5 ms"),
        (None, "s", "–"),
        (math.inf, "s", "–"),
    ],
)
def test_numbers_are_written_with_three_figures_and_a_unit(number, kind, text):
    assert written(number, kind) == text


def test_placeholders_are_filled_from_the_run(runs):
    assert filled("{alone.steps} steps, {alone.makespan}, {bus.steps | n}", runs, "here") == (
        "**8** steps, **800 ms**, **4**"
    )


def test_a_ladder_of_a_lane_that_is_not_there_is_refused():
    lesson = lesson_named("putting-it-together")
    step = next(step for step in lesson.steps if step.rungs)
    with pytest.raises(ValueError, match="no lane 'turbo' in this scene; it has none, dynamic4"):
        check_step(lesson, replace(step, rungs={"improve": ("none", "turbo")}), scenes())


def test_a_section_has_a_heading_choices_and_what_stands_around_them(tmp_path):
    (tmp_path / "en.md").write_text("# T\n\nAbout.\n\n## a: Head\n\nAsk?\n\n- one\n- two\n\nAfter.\n")
    text = lesson_text(tmp_path, "en")
    section = text.sections["a"]
    assert (text.title, text.about) == ("T", "About.")
    assert (section.heading, section.asks, section.choices, section.after) == (
        "Head",
        "Ask?",
        ("one", "two"),
        "After.",
    )


def test_a_text_with_a_section_twice_is_refused(tmp_path):
    (tmp_path / "en.md").write_text("# T\n\n## a: x\n\n## a: y\n")
    with pytest.raises(ValueError, match="has the section 'a' twice"):
        lesson_text(tmp_path, "en")


def test_claims_are_measured_in_repeats_and_only_what_is_alike_is_an_answer():
    lesson = lesson_named("one-at-a-time")
    made = {"four": scene(lanes={"alone": LaneSpec("none"), "together": LaneSpec("continuous", batch=4)},
                          streams=(Stream(4, 3, 6),))}  # fmt: skip
    found = measure_claims([lesson], made, lambda name, each: run(each).record, 5)
    assert {f.claim.key: (f.verdict, f.median) for f in found}["quarter"] == ("holds", 4)
    claim = Claim("c", "a.steps", least=2)
    assert ClaimFound(lesson, claim, (1.0, 1.0), 0).verdict == "does not hold"
    assert ClaimFound(lesson, claim, (1.0, 3.0), 1).verdict == "inconclusive"
    assert ClaimFound(lesson, claim, (), 0).verdict == "inconclusive"
