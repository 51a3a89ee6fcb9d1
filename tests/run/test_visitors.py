"""The line of visitors in front of a fake engine, under a fake clock."""

from dataclasses import replace

import pytest

from lab.run.column_log import Mark
from lab.run.job import Finished, Grown, Progress, Started
from lab.run.lanes import RunSpec
from lab.run.line import KEPT_RUNS, KEPT_SECONDS, MOST_WAITING, State, Why
from lab.run.messages import (
    Cancel,
    Freed,
    JobCancelled,
    JobEvent,
    JobFailed,
    Load,
    LoadFailed,
    Loading,
    Memory,
    Ready,
    Run,
)
from lab.run.record import Columns, LaneRecord, Provenance, RunRecord
from lab.run.visitors import Expectation
from lab.scheduling.policy import mode
from lab.spec.model_shape import WELL_KNOWN
from lab.workload.request import Request, Workload
from tests.run.fake_engine import World

MEMORY = Memory(WELL_KNOWN["SmolLM2-135M"], 100, 5_000)
READY = Ready("fake", "nowhere", "fp32", 1, memory=MEMORY)
SPEC = RunSpec(Workload("own", (Request(0, 0.0, 2, prompt="hello"),)), (mode("none"), mode("static")))
RECORD = RunRecord(
    Provenance("measured", "fake", "1", "fp32", "nowhere", 1, (), "", "2026-01-01T00:00:00+00:00", 1, 1),
    SPEC.workload,
    tuple(LaneRecord(policy, 1, 100) for policy in SPEC.policies),
)
ONE_STEP = Columns(
    (0.0,),
    (1,),
    (0,),
    ("no_window",),
    (False,),
    (0,),
    (3,),
    (1,),
    (0.5,),
    (0,),
    (0,),
    (1,),
    (0,),
    (1,),
    (True,),
    (7,),
)


class Visited(World):
    """With runs in line."""

    def ready(self):
        self.link.says(READY)
        return self

    def submit(self, owner, model=""):
        return self.device.submit(replace(SPEC, model=model), owner)

    def state(self, job):
        return self.device.look(job).state

    def finish(self, job):
        self.link.says(JobEvent(job, Started(RECORD)), JobEvent(job, Finished(RECORD)))


@pytest.fixture
def world():
    made = Visited()
    yield made
    made.device.close()


def test_runs_take_turns_in_the_order_they_came(world):
    a, b, c = (world.ready().submit(owner) for owner in "abc")
    assert [world.device.look(job).place for job in (a, b, c)] == [0, 1, 2]
    assert world.link.running == [a]
    world.finish(a)
    assert world.link.running == [a, b]
    assert world.state(a) is State.FINISHED
    assert world.device.look(c).place == 1


def test_what_is_free_is_known_when_the_model_is_loaded_and_anew_after_each_run(world):
    a = world.ready().submit("a")
    assert world.device.engine.facts.memory == MEMORY
    world.finish(a)
    world.link.says(Freed(4_000))
    assert world.device.engine.facts.memory == MEMORY._replace(free_bytes=4_000)


def test_a_run_waits_until_the_model_is_loaded(world):
    a = world.submit("a")
    world.link.says(Loading("download", 5, 10))
    assert world.link.sent == [Load("fake")]
    assert (world.state(a), world.device.look(a).place) == (State.WAITING, 1)
    assert world.device.engine.loading == Loading("download", 5, 10)
    world.ready()
    assert world.link.running == [a]


def test_a_visitor_has_one_run_and_a_newer_one_takes_its_place(world):
    world.ready()
    first, other = world.submit("a"), world.submit("b")
    waiting = world.submit("b")
    assert (world.state(other), world.device.look(other).why) == (State.CANCELLED, Why.REPLACED)
    second = world.submit("a")
    assert Cancel(first) in world.link.sent
    assert world.device.look(first).stopping
    world.link.says(JobCancelled(first))
    assert (world.state(first), world.device.look(first).why) == (State.CANCELLED, Why.REPLACED)
    assert world.link.running == [first, waiting]
    assert world.device.look(second).place == 1


def test_cancelling_a_waiting_run_never_starts_it(world):
    world.ready()
    a, b = world.submit("a"), world.submit("b")
    world.device.cancel(b)
    world.finish(a)
    assert world.link.running == [a]
    assert world.device.look(b).why is Why.ASKED


def test_cancelling_a_running_run_asks_the_engine_once_and_ends_when_it_says_so(world):
    world.ready()
    a, b = world.submit("a"), world.submit("b")
    world.device.cancel(a)
    world.device.cancel(a)
    assert world.link.sent.count(Cancel(a)) == 1
    assert world.state(a) is State.RUNNING
    world.link.says(JobCancelled(a))
    assert (world.state(a), world.state(b)) == (State.CANCELLED, State.RUNNING)


def test_a_run_that_nobody_looks_at_is_cancelled_sooner_when_it_runs(world):
    world.ready()
    running, waiting, watched = (world.submit(owner) for owner in "abc")
    for second in range(0, 130, 5):
        world.device.look(watched)
        if second == 25:
            assert world.link.sent.count(Cancel(running)) == 0
        if second == 30:
            assert world.link.sent.count(Cancel(running)) == 1
            assert world.device._line.find(waiting).state is State.WAITING
        world.wait(5)
    assert world.device._line.find(waiting).why is Why.UNSEEN
    assert world.state(watched) is State.WAITING


def test_asking_for_what_is_new_keeps_a_run_alive(world):
    a = world.ready().submit("a")
    for _ in range(10):
        world.device.since(a)
        world.wait(10)
    assert not world.device.look(a).stopping


def test_a_reader_gets_exactly_what_it_lacks(world):
    a = world.ready().submit("a")
    assert world.device.since(a) == ()
    world.link.says(JobEvent(a, Started(RECORD)), JobEvent(a, Grown(1, ONE_STEP)))
    assert world.device.since(a) == (Columns(), ONE_STEP)
    world.link.says(JobEvent(a, Grown(1, ONE_STEP)), JobEvent(a, Grown(0, ONE_STEP)))
    assert world.device.since(a, [Mark(), Mark(1, 1, 1, 1)]) == (ONE_STEP, ONE_STEP)
    world.link.says(JobEvent(a, Finished(RECORD)))
    assert world.device.since(a, [Mark(1, 1, 1, 1), Mark(1, 1, 1, 1)]) == (Columns(), ONE_STEP)
    assert [lane.columns for lane in world.device.look(a).record.lanes] == [ONE_STEP, ONE_STEP + ONE_STEP]
    assert world.device.since("unknown") is None


def test_progress_is_shown_and_that_of_others_is_not(world):
    world.ready()
    a, b = world.submit("a"), world.submit("b")
    world.link.says(JobEvent(a, Progress("running", 1, 2)), JobEvent(b, Progress("running", 2, 2)))
    assert world.device.look(a).progress == Progress("running", 1, 2)
    assert world.device.look(b).progress is None


def test_a_failed_run_says_why_and_the_next_one_starts(world):
    world.ready()
    a, b = world.submit("a"), world.submit("b")
    world.link.says(JobFailed(a, "out of memory"))
    assert (world.state(a), world.device.look(a).detail) == (State.FAILED, "out of memory")
    assert world.state(b) is State.RUNNING


def test_when_the_engine_dies_its_run_fails_and_the_line_goes_on_with_a_new_engine(world):
    world.ready()
    a, b = world.submit("a"), world.submit("b")
    old = world.link
    old.dies("the system killed it")
    look = world.device.look(a)
    assert (look.state, look.why, look.detail) == (State.FAILED, Why.ENGINE_DIED, "the system killed it")
    assert world.link is not old
    assert world.link.sent == [Load("fake")]
    old.says(READY)  # a late word of the dead
    assert world.link.running == []
    world.ready()
    assert world.link.running == [b]


def test_an_engine_that_dies_twice_before_it_is_ready_is_not_started_for_ever(world):
    a = world.submit("a")
    world.link.dies()
    assert world.state(a) is State.WAITING
    world.link.dies("no torch")
    assert len(world.links) == 2
    assert (world.device.look(a).why, world.device.look(a).detail) == (Why.NO_ENGINE, "no torch")
    assert world.device.engine.sentence == "no torch"
    b = world.submit("a")
    assert len(world.links) == 3
    world.ready()
    assert world.link.running == [b]


def test_a_model_that_cannot_be_loaded_fails_all_that_wait_and_the_next_run_tries_again(world):
    a = world.submit("a")
    world.link.says(LoadFailed("no such model"))
    assert (world.state(a), world.device.look(a).detail) == (State.FAILED, "no such model")
    b = world.submit("a")
    assert world.link.sent == [Load("fake"), Load("fake")]
    world.ready()
    assert world.link.running == [b]


def test_a_run_on_another_model_has_it_loaded_when_its_turn_comes_and_the_next_has_its_own_again(world):
    world.ready()
    a, b, c = world.submit("a"), world.submit("b", "other"), world.submit("c")
    assert world.link.sent[-1] == Run(a, SPEC)
    world.finish(a)
    assert world.link.sent[-1] == Load("other")
    assert (world.device.engine.model, world.device.engine.facts) == ("other", None)
    assert world.device.look(b).place == 1
    world.ready()
    assert world.link.running == [a, b]
    world.finish(b)
    assert world.link.sent[-1] == Load("fake")
    world.ready()
    assert world.link.running == [a, b, c]


def test_the_model_that_is_loaded_is_not_loaded_again(world):
    world.ready()
    for model in ("", "fake"):
        world.finish(world.submit("a", model))
    assert [command for command in world.link.sent if isinstance(command, Load)] == [Load("fake")]


def test_a_model_that_cannot_be_loaded_fails_its_own_runs_only(world):
    world.ready()
    a = world.submit("a", "too large")
    b = world.submit("b")
    world.link.says(LoadFailed("it does not fit"))
    assert (world.state(a), world.device.look(a).detail) == (State.FAILED, "it does not fit")
    world.ready()
    assert (world.state(b), world.link.running) == (State.RUNNING, [b])


def test_a_model_that_kills_its_engine_twice_fails_its_own_runs_only(world):
    world.ready()
    a = world.submit("a", "too large")
    b = world.submit("b")
    world.link.dies()
    assert world.link.sent == [Load("too large")]
    world.link.dies("memory ran out")
    assert (world.state(a), world.device.look(a).why) == (State.FAILED, Why.NO_ENGINE)
    assert world.link.sent == [Load("fake")]
    world.ready()
    assert (world.state(b), len(world.links)) == (State.RUNNING, 3)


def test_what_was_measured_on_one_model_says_nothing_of_another(world):
    world.ready()
    a = world.submit("a")
    world.now = 10.0
    world.finish(a)
    other = replace(SPEC, model="other")
    assert world.device.measured(other) == {}
    assert world.device.expect(other) is None


def test_a_closed_device_starts_no_engine(world):
    world.ready()
    world.submit("a")
    waiting = world.submit("b")
    world.device.close()
    world.device.cancel(waiting)
    world.submit("c")
    assert len(world.links) == 1


def test_ended_runs_are_kept_by_count_and_by_age(world):
    world.ready()
    jobs = []
    for number in range(KEPT_RUNS + 3):
        jobs.append(world.submit(f"visitor {number}"))
        world.finish(jobs[-1])
    assert [world.device.look(job) is None for job in jobs] == [True] * 3 + [False] * KEPT_RUNS
    world.now = KEPT_SECONDS + 1
    world.device.reap()
    assert all(world.device.look(job) is None for job in jobs)


def test_a_machine_that_slept_drops_nobody_who_could_not_look(world):
    a = world.ready().submit("a")
    world.wait(20)
    world.now += 3600  # the lid was closed
    world.wait(5)
    assert Cancel(a) not in world.link.sent
    world.wait(5)
    assert Cancel(a) in world.link.sent


def test_ended_runs_are_kept_by_size_and_the_latest_whatever_its_size(world, monkeypatch):
    monkeypatch.setattr("lab.run.line.KEPT_ROWS", 5)
    world.ready()
    jobs = []
    for steps in (1, 1, 1, 6):
        jobs.append(world.submit("a"))
        world.link.says(JobEvent(jobs[-1], Started(RECORD)))
        world.link.says(*[JobEvent(jobs[-1], Grown(lane, ONE_STEP)) for lane in (0, 1) for _ in range(steps)])
        world.link.says(JobEvent(jobs[-1], Finished(RECORD)))
        kept = [job for job in jobs if world.device.look(job) is not None]
        assert kept == (jobs[-2:] if steps == 1 else jobs[-1:])


def test_what_a_cancelled_run_had_measured_can_still_be_read(world):
    a = world.ready().submit("a")
    world.link.says(JobEvent(a, Started(RECORD)), JobEvent(a, Grown(1, ONE_STEP)))
    world.device.cancel(a)
    world.link.says(JobCancelled(a))
    assert world.device.since(a) == (Columns(), ONE_STEP)
    assert world.device.since(a, [Mark(), Mark(1, 1, 1, 1)]) == (Columns(), Columns())


def test_a_run_whose_visitor_has_left_is_stopped_within_thirty_seconds(world):
    a = world.ready().submit("a")
    world.device.look(a)
    while Cancel(a) not in world.link.sent:
        world.wait(1)
    assert world.now <= 29  # and a step, until it has stopped


def test_a_line_that_is_too_long_refuses_with_its_length(world):
    world.ready()
    for number in range(MOST_WAITING):
        world.submit(f"visitor {number}")
    with pytest.raises(ValueError, match="64 runs are in line already"):
        world.submit("one more")


def test_fifty_rounds_of_every_ending_leave_nothing_in_line(world):
    world.ready()
    for number in range(50):
        a, b = world.submit("a"), world.submit("b")
        match number % 5:
            case 0:
                world.finish(a)
            case 1:
                world.device.cancel(a)
                world.link.says(JobCancelled(a))
            case 2:
                world.link.says(JobFailed(a, "no"))
            case 3:
                world.link.dies()
                world.ready()
            case 4:
                world.wait(15)
                world.device.look(b)
                world.wait(15)
                world.link.says(JobCancelled(a))
        world.finish(b)
        assert list(world.device._line) == []
        assert len(world.device._line._jobs) <= KEPT_RUNS


def test_closing_ends_the_engine_and_does_not_start_another(world):
    link = world.link
    world.device.close()
    link.dies()
    assert link.closed
    assert world.links == [link]


def test_lanes_that_anyone_measured_under_equal_settings_are_known(world):
    a = world.ready().submit("a")
    assert world.device.measured(SPEC) == {}
    world.finish(a)
    assert world.device.measured(SPEC) == {"none": a, "static": a}
    wider = RunSpec(SPEC.workload, (mode("none"), mode("static", 4), mode("dynamic")))
    assert world.device.measured(wider) == {"none": a}
    assert world.device.measured(RunSpec(SPEC.workload, SPEC.policies, kv_budget_mb=5)) == {}


def test_what_a_run_would_take_is_guessed_from_those_that_finished(world):
    assert world.ready().device.expect(SPEC) is None
    a = world.submit("a")
    world.now = 10.0
    world.finish(a)
    assert world.device.expect(SPEC) is None  # it is measured already
    twice = RunSpec(
        Workload("own", tuple(Request(i, 0.0, 2, prompt="hello") for i in range(2))),
        (mode("none"), mode("static", 1)),
    )
    assert world.device.expect(twice) == Expectation(wait=0.0, run=pytest.approx(20.0))
    world.device.submit(twice, "b")
    world.now = 15.0
    assert world.device.expect(twice).wait == pytest.approx(15.0)


def test_thirty_visitors_who_come_at_once_load_one_model_and_run_one_after_another(world):
    specs = [
        RunSpec(Workload("own", (Request(0, 0.0, 2, prompt=f"visitor {i}"),)), (mode("none"),)) for i in range(30)
    ]
    jobs = [world.device.submit(spec, f"visitor {i}") for i, spec in enumerate(specs)]
    world.ready()
    assert len(world.links) == 1
    assert sum(isinstance(command, Load) for command in world.link.sent) == 1
    for i, job in enumerate(jobs):
        assert world.link.running == jobs[: i + 1]
        record = RunRecord(RECORD.provenance, specs[i].workload, RECORD.lanes[:1])
        world.link.says(JobEvent(job, Started(record)), JobEvent(job, Finished(record)))
    for spec, job in zip(specs, jobs, strict=True):
        assert world.device.look(job).record.workload == spec.workload
