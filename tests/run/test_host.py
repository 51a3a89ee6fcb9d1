"""The engine's process, for real: frames over pipes to a child, with a scripted engine in it."""

import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lab.analysis.checks import check_lane
from lab.run.engine_process import EngineProcess
from lab.run.frames import MOST_BYTES, FrameError, read_frame, write_frame
from lab.run.host import sentence_of
from lab.run.job import Finished, Grown, Progress, Started
from lab.run.lanes import RunSpec
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
    command_from_json,
    command_to_json,
)
from lab.run.outbox import Outbox
from lab.run.record import Columns
from lab.scheduling.policy import MODES, mode
from lab.spec.model_shape import WELL_KNOWN
from lab.workload.request import Request, Workload
from lab.workload.scenarios import build

SCRIPTED = (sys.executable, str(Path(__file__).with_name("scripted_host.py")))
PATIENCE = 30


class Ear:
    """Keeps what it hears; `until` waits for a report that a test asks for."""

    def __init__(self):
        self.heard, self.end, self._news = [], None, threading.Condition()

    def hear(self, link, report):
        with self._news:
            self.heard.append(report)
            self._news.notify_all()

    def ended(self, link, sentence):
        with self._news:
            self.end = sentence
            self._news.notify_all()

    def until(self, wanted):
        with self._news:
            found = self._news.wait_for(lambda: [r for r in self.heard if wanted(r)], PATIENCE)
            assert found, f"not heard: {wanted}; heard {self.heard[-3:]}"
            return found[0]

    def until_end(self):
        with self._news:
            assert self._news.wait_for(lambda: self.end is not None, PATIENCE), "it goes on"
            return self.end

    def events(self, kind):
        return [r.event for r in self.heard if isinstance(r, JobEvent) and isinstance(r.event, kind)]


@pytest.fixture
def ear():
    return Ear()


@pytest.fixture
def host(ear):
    process = EngineProcess(ear, SCRIPTED)
    process.send(Load("scripted"))
    yield process
    process.close()


def spec_of(prompt="hello", outputs=(3, 9, 4), modes=MODES):
    requests = tuple(Request(i, 0.1 * i, n, prompt=prompt, output_tokens=n) for i, n in enumerate(outputs))
    return RunSpec(Workload("own", requests), tuple(mode(name, 2, 0.05) for name in modes))


def over(job):
    return lambda r: (
        (isinstance(r, JobEvent) and r.job == job and isinstance(r.event, Finished))
        or (isinstance(r, JobFailed | JobCancelled) and r.job == job)
    )


def test_a_run_streams_its_columns_and_ends_with_a_record_they_complete(host, ear):
    host.send(Run("a", spec_of()))
    finished = ear.until(over("a")).event
    grown = [Columns() for _ in MODES]
    for event in ear.events(Grown):
        grown[event.lane] += event.columns
    started = ear.events(Started)[0].record
    for lane, columns in zip(finished.record.lanes, grown, strict=True):
        whole = type(lane)(lane.policy, lane.groups, lane.kv_budget, lane.refused, columns)
        check_lane(started.workload, whole, complete=True)
    assert [e for e in ear.events(Progress) if e.phase == "running"][-1] == Progress("running", 12, 12)
    assert finished.record.token_bytes


def test_an_unlimited_delay_survives_the_way_to_the_engine():
    run = Run("a", RunSpec(build("chat"), (mode("static"),)))
    pipe = io.BytesIO()
    write_frame(pipe, command_to_json(run))
    pipe.seek(0)
    assert command_from_json(read_frame(pipe)) == run


def test_loading_is_reported_with_its_bytes(host, ear):
    ear.until(lambda r: r == Loading("download", 10, 100))
    ready = ear.until(lambda r: isinstance(r, Ready))
    assert ready.model == "scripted"
    assert ready.memory == Memory(WELL_KNOWN["SmolLM2-135M"], 270_000_000, 2_000_000_000)


def test_after_a_run_however_it_ends_the_engine_says_what_is_free(host, ear):
    for job, spec in (("a", spec_of()), ("b", spec_of("mistake"))):
        host.send(Run(job, spec))
        ear.until(over(job))
    ear.until(lambda r: sum(isinstance(other, Freed) for other in ear.heard) == 2)
    assert [r for r in ear.heard if isinstance(r, Freed)] == [Freed(2_000_000_000)] * 2


def test_a_cancelled_run_stops_within_a_step_and_the_next_one_runs(host, ear):
    host.send(Run("a", spec_of("slow", outputs=[400])))
    ear.until(lambda r: isinstance(r, JobEvent) and isinstance(r.event, Grown))
    host.send(Run("b", spec_of()))
    host.send(Cancel("a"))
    ear.until(lambda r: r == JobCancelled("a"))
    assert not ear.events(Finished)
    ear.until(over("b"))
    assert len(ear.events(Finished)) == 1


def test_a_run_cancelled_before_its_turn_is_never_begun(host, ear):
    host.send(Run("a", spec_of("slow", outputs=[40], modes=["none"])))
    host.send(Run("b", spec_of()))
    host.send(Cancel("b"))
    ear.until(over("b"))
    assert JobCancelled("b") in ear.heard
    assert not any(isinstance(r, JobEvent) and r.job == "b" and isinstance(r.event, Started) for r in ear.heard)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("mistake", "the engine made a mistake (RuntimeError: the script says so)"),
        ("no memory", "the device ran out of memory; try fewer requests, a smaller batch or a smaller KV budget"),
        ("unreadable", "request 0 cannot be read: its prompt says so"),
    ],
)
def test_a_run_that_goes_wrong_becomes_a_sentence_and_the_host_goes_on(host, ear, prompt, said):
    host.send(Run("a", spec_of(prompt)))
    assert ear.until(over("a")) == JobFailed("a", said)
    host.send(Run("b", spec_of()))
    assert isinstance(ear.until(over("b")).event, Finished)


def test_a_sentence_comes_without_its_full_stop_because_the_page_puts_one():
    assert sentence_of(ValueError("there is no model 'x'.\n")) == "there is no model 'x'"


def test_a_spec_that_cannot_be_read_becomes_a_sentence(host, ear):
    damaged = command_to_json(Run("a", spec_of()))
    damaged[2]["policies"] = []
    write_frame(host._process.stdin, damaged)
    failed = ear.until(lambda r: isinstance(r, JobFailed))
    assert failed.job == "a"
    assert "no modes given" in failed.sentence


def test_stray_prints_do_not_reach_the_frames(host, ear):
    host.send(Run("a", spec_of("print")))
    assert isinstance(ear.until(over("a")).event, Finished)


def test_a_model_that_is_missing_becomes_a_sentence_and_another_may_be_loaded(ear):
    process = EngineProcess(ear, SCRIPTED)
    process.send(Load("missing"))
    assert "no model 'missing'" in ear.until(lambda r: isinstance(r, LoadFailed)).sentence
    process.send(Run("a", spec_of()))
    assert "no model is loaded" in ear.until(lambda r: isinstance(r, JobFailed)).sentence
    process.send(Load("scripted"))
    ear.until(lambda r: isinstance(r, Ready))
    process.close()


def test_closing_its_stdin_ends_the_host_in_the_middle_of_a_run(host, ear):
    host.send(Run("a", spec_of("slow", outputs=[4000])))
    ear.until(lambda r: isinstance(r, JobEvent) and isinstance(r.event, Grown))
    host._process.stdin.close()
    assert host._process.wait(PATIENCE) == 0


def test_the_host_ends_when_the_page_is_killed():
    """The pipe closes with the page, however it dies."""
    page = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, subprocess, time\n"
            f"child = subprocess.Popen({SCRIPTED!r}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
            "print(child.pid, flush=True); time.sleep(60)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(page.stdout.readline())
    page.kill()
    page.wait()
    deadline = time.monotonic() + PATIENCE
    while _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(pid)


def test_a_killed_host_is_noticed_and_named(host, ear):
    ear.until(lambda r: isinstance(r, Ready))
    os.kill(host.pid, signal.SIGKILL)
    assert ear.until_end() == "the system killed it, most likely because memory ran out"


def test_a_peer_that_speaks_no_frames_is_cut_off(ear):
    process = EngineProcess(ear, (sys.executable, "-c", "print('Traceback: this is no frame at all' * 9)"))
    assert "no report" in ear.until_end()
    process.close()


@pytest.mark.parametrize(
    "stream",
    [(MOST_BYTES + 1).to_bytes(4, "big"), b"\0\0", b"\0\0\0\5[1", b"\0\0\0\2[["],
    ids=["too large", "half a length", "half a value", "no JSON"],
)
def test_what_is_no_frame_is_refused(stream):
    with pytest.raises(FrameError):
        read_frame(io.BytesIO(stream))


def test_growth_is_sent_in_chunks_and_in_order():
    sent, clock = [], [0.0]
    outbox = Outbox(sent.append, seconds=0.05, now=lambda: clock[0])
    outbox.put(Progress("running", 0, 9))  # a new phase is told at once
    for step in range(100):
        clock[0] += 0.001
        outbox.put(Grown(step % 2, Columns(start=(float(step),))))
        outbox.put(Progress("running", step, 100))
    outbox.flush()
    grown = [e for e in sent if isinstance(e, Grown)]
    assert len(grown) <= 2 * 3
    assert sum((e.columns.start for e in grown if e.lane == 1), ()) == tuple(map(float, range(1, 100, 2)))
    assert sent[-1] == Progress("running", 99, 100)


def _alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
