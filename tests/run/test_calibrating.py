"""The engine measures itself while nobody needs it: over real pipes, and on a fake engine under a fake clock."""

import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from lab.run.calibrating import AGAIN_SECONDS, IDLE_SECONDS
from lab.run.calibration import keep, shipped
from lab.run.engine_process import EngineProcess
from lab.run.job import Finished, Started
from lab.run.lanes import RunSpec
from lab.run.messages import (
    Calibrate,
    Calibrated,
    Calibrating,
    JobEvent,
    Load,
    NotCalibrated,
    Ready,
    Run,
    report_from_json,
    report_to_json,
)
from lab.run.record import LaneRecord, RunRecord
from lab.scheduling.policy import mode
from lab.workload.request import Request, Workload
from tests.run.fake_engine import World

SCRIPTED = (sys.executable, str(Path(__file__).with_name("scripted_host.py")))
SPEC = RunSpec(Workload("own", (Request(0, 0.0, 4, prompt="hello", output_tokens=4),)), (mode("none"),))
KEPT = shipped()


class Ear:
    """Keeps what a host says."""

    def __init__(self):
        self.heard, self._news = [], threading.Condition()

    def hear(self, link, report):
        with self._news:
            self.heard.append(report)
            self._news.notify_all()

    def ended(self, link, sentence):
        pass

    def until(self, wanted):
        with self._news:
            found = self._news.wait_for(lambda: [r for r in self.heard if wanted(r)], 30)
            assert found, f"not heard; heard {self.heard[-3:]}"
            return found[0]


@pytest.fixture
def ear():
    return Ear()


@pytest.fixture
def start(ear):
    links = []

    def start(model):
        links.append(EngineProcess(ear, SCRIPTED))
        links[-1].send(Load(model))
        ear.until(lambda r: isinstance(r, Ready))
        return links[-1]

    yield start
    for link in links:
        link.close()


def is_over(report):
    return isinstance(report, JobEvent) and isinstance(report.event, Finished)


def test_an_idle_engine_tells_how_far_it_is_and_then_its_step_times(start, ear):
    start("scripted").send(Calibrate())
    found = ear.until(lambda r: isinstance(r, Calibrated)).calibration
    assert found.provenance.model == "scripted"
    told = [r for r in ear.heard if isinstance(r, Calibrating)]
    assert [r.done for r in told] == list(range(5))


def test_a_run_that_comes_meanwhile_goes_first_within_a_step(start, ear):
    link = start("slow")  # 500 steps to measure
    link.send(Calibrate())
    ear.until(lambda r: isinstance(r, Calibrating))
    before = len(ear.heard)
    link.send(Run("a", SPEC))
    ear.until(is_over)
    later = ear.heard[before:]
    assert NotCalibrated("") in later
    assert sum(isinstance(r, Calibrating) for r in later[: later.index(NotCalibrated(""))]) < 20
    assert not any(isinstance(r, Calibrated) for r in ear.heard)


def test_what_cannot_be_measured_is_a_sentence_and_runs_go_on(start, ear):
    link = start("unmeasurable")
    link.send(Calibrate())
    assert ear.until(lambda r: isinstance(r, NotCalibrated)).sentence == "its steps cannot be measured"
    link.send(Run("a", SPEC))
    ear.until(is_over)


@pytest.mark.parametrize(("reference", "again"), [(0.0205, False), (0.03, True)])
def test_what_was_kept_is_told_at_once_and_measured_anew_only_where_the_machine_has_changed(
    start, ear, tmp_path, monkeypatch, reference, again
):
    monkeypatch.setenv("BATCHING_LAB_CACHE", str(tmp_path))
    monkeypatch.setenv("SCRIPTED_CACHE", str(tmp_path))
    origin = replace(KEPT.provenance, device="no device", threads=1, reference_step_s=(reference,))
    kept = replace(KEPT, fingerprint="scripted", provenance=origin)
    keep(kept)
    link = start("scripted")
    assert ear.until(lambda r: isinstance(r, Calibrated)).calibration == kept
    ear.heard.clear()
    link.send(Calibrate())
    found = ear.until(lambda r: isinstance(r, Calibrated)).calibration
    assert (found != kept) is again


def test_a_calibration_survives_its_way():
    assert report_from_json(report_to_json(Calibrated(KEPT))) == Calibrated(KEPT)


# ---- when a device asks for it


class Idle(World):
    """With nobody in line, mostly."""

    @property
    def asked(self):
        return self.link.sent.count(Calibrate())

    def run(self, reference=0.02):
        """A visitor's run, from submission to its end; its reference step takes so many seconds."""
        job = self.device.submit(SPEC, "somebody")
        origin = replace(KEPT.provenance, kind="measured", reference_step_s=(reference,))
        record = RunRecord(origin, SPEC.workload, (LaneRecord(SPEC.policies[0], 1, 100),))
        self.link.says(JobEvent(job, Started(record)), JobEvent(job, Finished(record)))


@pytest.fixture
def world():
    made = Idle()
    made.link.says(Ready("fake", "nowhere", "fp32", 1))
    yield made
    made.device.close()


def test_a_device_that_idles_has_its_engine_measured_once(world):
    world.wait(IDLE_SECONDS - 1)
    assert world.asked == 0
    world.wait(2)
    assert world.asked == 1
    assert world.device.measuring
    world.link.says(Calibrated(KEPT))
    assert world.device.calibration() == KEPT
    assert not world.device.measuring
    world.wait(3 * AGAIN_SECONDS)
    assert world.asked == 1


def test_before_a_model_is_there_nothing_is_measured():
    world = Idle()
    world.wait(60)
    assert world.asked == 0
    assert world.device.calibrated_in() is None
    world.device.close()


def test_who_stands_in_line_puts_it_off_and_what_was_dropped_is_taken_up_again(world):
    world.wait(IDLE_SECONDS)
    job = world.device.submit(SPEC, "somebody")
    world.link.says(NotCalibrated(""))
    world.wait(20)
    assert world.asked == 1
    world.device.cancel(job)
    world.run()  # in line after the one that is being cancelled: still busy
    assert world.asked == 1


def test_after_a_run_an_idle_engine_is_asked_again_if_it_was_dropped(world):
    world.wait(IDLE_SECONDS)
    world.run()
    world.link.says(NotCalibrated(""))
    world.wait(IDLE_SECONDS + 1)
    assert world.asked == 2


def test_it_is_measured_anew_when_a_run_says_that_the_machine_has_changed_and_not_too_often(world):
    usual = KEPT.reference_step_s
    world.wait(IDLE_SECONDS)
    world.link.says(Calibrated(KEPT))
    world.run(usual * 1.05)
    world.wait(AGAIN_SECONDS + IDLE_SECONDS)
    assert world.asked == 1
    world.run(usual * 1.3)
    world.wait(IDLE_SECONDS + 1)
    assert world.asked == 2
    world.link.says(Calibrated(KEPT))
    world.run(usual * 1.3)
    world.wait(AGAIN_SECONDS / 2)
    assert world.asked == 2
    world.wait(AGAIN_SECONDS)
    assert world.asked == 3


def test_what_cannot_be_measured_is_tried_again_much_later(world):
    world.wait(IDLE_SECONDS)
    world.link.says(NotCalibrated("no memory"))
    assert world.device.calibrated_in() is None
    world.wait(AGAIN_SECONDS / 2)
    assert world.asked == 1
    world.wait(AGAIN_SECONDS)
    assert world.asked == 2


def test_how_long_it_still_takes_is_told_from_how_far_it_is(world):
    assert world.device.calibrated_in() > IDLE_SECONDS
    world.wait(IDLE_SECONDS)
    world.now += 10
    world.link.says(Calibrating(25, 100))
    assert world.device.calibrated_in() == pytest.approx(30)


def test_a_kept_calibration_serves_before_it_is_checked(world):
    world.link.says(Calibrated(KEPT))
    assert world.device.calibration() == KEPT
    world.wait(IDLE_SECONDS)
    assert world.asked == 1


def test_an_engine_that_dies_while_it_is_measured_is_not_measured_over_and_over(world):
    world.wait(IDLE_SECONDS)
    world.link.listener.ended(world.link, "killed")
    world.link.says(Ready("fake", "nowhere", "fp32", 1))
    world.wait(AGAIN_SECONDS / 2)
    assert world.asked == 0
