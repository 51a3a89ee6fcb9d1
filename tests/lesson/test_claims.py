"""The lessons' claims, judged on counts and on times from the calibration that ships: nothing is timed here."""

from dataclasses import replace

import pytest

from lab.analysis.checks import check_lane
from lab.lesson.expression import Taken
from lab.lesson.judge import grade, judge
from lab.lesson.lesson import lessons, scenes
from lab.lesson.recorded import FOLDER, is_of, recorded_scene
from lab.run.calibration import shipped
from lab.run.predict import predict

CLAIMS = [
    pytest.param(step, claim, id=f"{lesson.number} {claim.key}")
    for lesson in lessons()
    for step, claim in lesson.claims
]


@pytest.fixture(scope="module")
def predicted():
    """Every scene on the requests of its recorded run (tokens and lengths are known there), in predicted time."""
    calibration = shipped()
    return {
        name: Taken(scene, predict(replace(scene.spec(), workload=recorded_scene(name).workload), calibration))
        for name, scene in scenes().items()
    }


@pytest.fixture(scope="module")
def recorded():
    return {name: Taken(scene, recorded_scene(name)) for name, scene in scenes().items()}


@pytest.mark.parametrize("name", scenes())
def test_a_scene_has_a_whole_recorded_run_of_it_as_it_is_now(name):
    record, scene = recorded_scene(name), scenes()[name]
    assert record is not None, f"run: python -m lab record-scenes --scene {name}"
    assert record.provenance.kind == "recorded"
    assert is_of(record, scene), f"the scene has changed; run: python -m lab record-scenes --scene {name}"
    for lane in record.lanes:
        check_lane(record.workload, lane, complete=True)


def test_no_recorded_run_belongs_to_no_scene():
    assert {path.stem for path in FOLDER.iterdir()} == set(scenes())


def test_recorded_scenes_are_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_500_000


@pytest.mark.parametrize(("step", "claim"), CLAIMS)
def test_a_claim_holds_in_predicted_time(step, claim, predicted):
    verdict = judge(claim, predicted, step.scene)
    assert verdict is not None
    assert verdict.held, f"{claim.measure} is {verdict.found}"


@pytest.mark.parametrize(("step", "claim"), [p for p in CLAIMS if p.values[1].counts])
def test_a_claim_on_counts_holds_on_the_recorded_run_too(step, claim, recorded):
    verdict = judge(claim, recorded, step.scene)
    assert verdict.held, f"{claim.measure} is {verdict.found}"


def test_every_question_has_an_answer_in_the_run_and_none_of_them_is_stored(predicted, recorded):
    for lesson in lessons():
        for step, question in lesson.questions:
            graded = [grade(question, 1.0, runs, step.scene) for runs in (predicted, recorded)]
            assert None not in graded, question.key


def test_every_lesson_predicts_runs_and_claims():
    for lesson in lessons():
        kinds = [step.kind for step in lesson.steps]
        assert {"text", "predict", "run", "check"} <= set(kinds), lesson.name
        assert kinds[-1] == "check"
        assert list(lesson.claims), lesson.name
