"""The route that predicts while a knob moves: what it answers, what it refuses, what it may cost."""

import gzip
import json
from dataclasses import replace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

import lab.ui.preview
from lab.analysis.checks import check_lane
from lab.report.stage_data import whole
from lab.run.calibration import shipped
from lab.run.predict import predict
from lab.scheduling.policy import MODES
from lab.ui.knobs import Knobs
from lab.ui.preview import (
    MOST_BYTES,
    MOST_SCENES,
    SHARE,
    URL,
    Allowance,
    Previews,
    Scene,
    Scenes,
    is_long,
    prepared,
    preview_route,
)

CALIBRATION = replace(shipped(), folder="")  # a byte is a token: no tokenizer is needed
SLIDERS = Knobs().on_stage


class Machine:
    def __init__(self, calibration=CALIBRATION, seconds=None, measuring=False):
        self.found, self.seconds, self.measuring = calibration, seconds, measuring

    def calibration(self, model=""):
        return self.found

    def calibrated_in(self, model=""):
        return self.seconds


def client(machine, **scenes):
    known = Scenes()
    for name, scene in scenes.items():
        known.show(name, scene)
    return TestClient(Starlette(routes=[preview_route(lambda: machine, lambda: known)]))


def ask(tab, scene="mine", **told):
    return tab.post(URL, json={"scene": scene, "knobs": {**SLIDERS, **told}}).json()


def test_the_answer_is_what_the_prediction_of_these_knobs_gives():
    tab = client(Machine(), mine=Scene(Knobs()))
    record = ask(tab, max_batch_size=4, rate=6)["record"]
    spec = prepared(Knobs(batch=4, rate=6).spec([]), CALIBRATION)
    expected = predict(spec, CALIBRATION)
    for lane in expected.lanes:
        check_lane(expected.workload, lane, complete=True)
    assert record["provenance"].pop("created")
    wanted = json.loads(json.dumps(whole(expected)))
    wanted["provenance"].pop("created")
    assert record == wanted
    assert record["provenance"]["kind"] == "predicted"
    assert [lane["policy"]["name"] for lane in record["lanes"]] == list(MODES)


def test_an_answer_says_how_long_the_server_took():
    answer = client(Machine(), mine=Scene(Knobs())).post(URL, json={"scene": "mine", "knobs": SLIDERS})
    name, milliseconds = answer.headers["server-timing"].split(";dur=")
    assert name == "preview"
    assert 0 < float(milliseconds) < 1000 * answer.elapsed.total_seconds()


@pytest.mark.parametrize("told", [{"max_batch_size": 10**9}, {"max_batch_size": "8"}, {"rate": [1]}, {"seed": 3}])
def test_what_no_slider_can_say_changes_nothing(told):
    tab = client(Machine(), mine=Scene(Knobs()))
    plain, odd = ask(tab)["record"], ask(tab, **told)["record"]
    assert plain["lanes"] == odd["lanes"]


def test_without_a_calibration_it_says_when_there_will_be_one():
    tab = client(Machine(None, seconds=12.5), mine=Scene(Knobs()))
    assert ask(tab) == {"why": "calibrating", "seconds": 12.5}


def test_what_cannot_run_is_a_sentence_and_what_would_take_long_is_not_begun():
    tab = client(Machine(), mine=Scene(Knobs(scenario="own")), long=Scene(Knobs(requests=200)))
    assert ask(tab)["why"] == "refused"
    assert "prompt" in ask(tab)["detail"]
    spec = Knobs(requests=200).spec([])
    assert not is_long(spec)
    endless = tuple(replace(r, max_new_tokens=10_000) for r in spec.workload.requests)
    assert is_long(replace(spec, workload=replace(spec.workload, requests=endless)))


@pytest.mark.parametrize("scene", ["other", "", None, 7, {"a": 1}])
def test_only_a_page_that_is_here_is_predicted_for(scene):
    assert ask(client(Machine(), mine=Scene(Knobs())), scene=scene) == {"why": "unknown"}


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b"{", b"\xff", b"[" * 4000, b'{"a":"' + b"x" * MOST_BYTES + b'"}']
)
def test_a_question_that_is_none_or_too_long_is_refused(body):
    assert client(Machine()).post(URL, content=body).status_code == 400


def test_of_many_pages_only_the_latest_are_kept():
    scenes = Scenes()
    for i in range(MOST_SCENES + 5):
        scenes.show(f"page {i}", Scene(Knobs()))
    assert scenes.scene("page 4") is None
    assert scenes.scene("page 5") is not None


def test_while_one_prediction_is_made_others_are_told_to_ask_again(monkeypatch):
    scenes = Scenes()
    scenes.show("mine", Scene(Knobs()))
    previews = Previews(Machine, lambda: scenes)
    told = {"scene": "mine", "knobs": SLIDERS}
    meanwhile = []

    def predict_and_ask(spec, calibration):
        meanwhile.append(json.loads(gzip.decompress(previews.answer(told))))
        return predict(spec, calibration)

    monkeypatch.setattr(lab.ui.preview, "predict", predict_and_ask)
    answer = json.loads(gzip.decompress(previews.answer(told)))
    assert "record" in answer
    assert list(meanwhile[0]) == ["wait_ms"]
    assert "record" in json.loads(gzip.decompress(previews.answer(told)))


def test_while_the_engine_measures_all_predictions_together_take_a_twentieth_of_a_core():
    now, spent, made = 0.0, 0.0, 0
    allowance = Allowance(lambda: now)
    while now < 60:  # many impatient visitors
        if allowance.begin(sparing=True) == 0:
            now += 0.07
            spent += 0.07
            made += 1
            allowance.end(0.07)
        now += 0.005
    assert spent / now <= SHARE
    assert made > 0.9 * 60 * SHARE / 0.07


def test_an_idle_engine_costs_nobody_a_wait_and_leaves_no_debt_for_a_run():
    allowance = Allowance(lambda: 5.0)
    for _ in range(100):
        assert allowance.begin(sparing=False) == 0
        allowance.end(1.0)
    assert allowance.begin(sparing=True) == 0


def test_a_machine_that_measures_makes_the_second_question_wait():
    tab = client(Machine(measuring=True), mine=Scene(Knobs(requests=60)))
    assert "record" in ask(tab)
    assert 0 < ask(tab)["wait_ms"] <= 4001


def test_a_failed_prediction_lets_the_next_one_in(monkeypatch):
    scenes = Scenes()
    scenes.show("mine", Scene(Knobs()))
    previews = Previews(Machine, lambda: scenes)
    monkeypatch.setattr(lab.ui.preview, "predict", lambda spec, calibration: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        previews.answer({"scene": "mine", "knobs": SLIDERS})
    assert previews.allowance.begin(sparing=False) == 0
