"""The real engine process with the real model in it, killed in the middle of a run."""

import os
import signal
import time

from lab.run.lanes import RunSpec
from lab.run.line import State, Why
from lab.run.messages import Load
from lab.run.visitors import Device
from lab.scheduling.policy import mode
from lab.workload.scenarios import build

PATIENCE = 240  # seconds


def test_a_killed_engine_is_a_sentence_a_fresh_one_takes_over_and_the_line_goes_on(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads that wait for each other crawl on a busy machine
    device = Device(Load("smollm2-135m", "cpu", "fp32"))
    try:
        struck, waiting = (device.submit(short_run(seed), f"visitor {seed}") for seed in (1, 2))
        wait_while(lambda: not has_steps(device, struck), device, waiting)
        pid = device._engine.link.pid
        os.kill(pid, signal.SIGKILL)
        wait_while(lambda: not device.look(struck).state.over, device, waiting)
        look = device.look(struck)
        assert (look.state, look.why) == (State.FAILED, Why.ENGINE_DIED)
        assert look.detail == "the system killed it, most likely because memory ran out"
        wait_while(lambda: not device.look(waiting).state.over, device, waiting)
        assert device.look(waiting).state is State.FINISHED
        assert device._engine.link.pid != pid
        again = device.submit(short_run(1), "visitor 1")
        wait_while(lambda: not device.look(again).state.over, device, again)
        assert device.look(again).state is State.FINISHED
    finally:
        device.close()


def short_run(seed):
    return RunSpec(build("chat", seed=seed, requests=2), (mode("none"), mode("continuous", 2)))


def has_steps(device, job):
    return any(columns.start for columns in device.since(job))


def wait_while(condition, device, watched):
    """Somebody looks at this run meanwhile."""
    deadline = time.monotonic() + PATIENCE
    while condition():
        device.look(watched)
        assert time.monotonic() < deadline, "it goes on and on"
        time.sleep(0.02)
