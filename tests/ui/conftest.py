"""A page without a browser, on a device whose engine is scripted; and records to draw."""

import sys
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import lab.ui.device
from lab.engine.scripted import ScriptedExecutor
from lab.run.engine_process import EngineProcess
from lab.run.lane import Lane
from lab.run.messages import Load
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.run.visitors import Device
from lab.scheduling.policy import MODES, mode
from lab.workload.request import Request, Workload

ROOT = Path(__file__).resolve().parents[2]
SCRIPTED = (sys.executable, str(ROOT / "tests" / "run" / "scripted_host.py"))


@pytest.fixture
def device(monkeypatch, request):
    """The page's device; its engine loads the model that the test names with `indirect`, else "scripted"."""
    model = getattr(request, "param", "scripted")
    made = Device(Load(model), lambda listener: EngineProcess(listener, SCRIPTED))
    monkeypatch.setattr(lab.ui.device, "new_device", lambda: made)
    lab.ui.device.device.clear()
    yield made
    made.close()
    lab.ui.device.device.clear()


@pytest.fixture
def page(device):
    """Makes the page, opened with these parts of an address."""

    def open_page(**query):
        at = AppTest.from_file(str(ROOT / "lab" / "ui" / "main.py"), default_timeout=30)
        for name, value in query.items():
            at.query_params[name] = value
        return at.run()

    return open_page


@pytest.fixture
def wait_for():
    def wait(condition, seconds=30.0):
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not come about"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def make_record():
    """A record of scripted lanes: every step takes 0.1 s."""

    def make(outputs, *, prompts=None, texts=None, modes=MODES, batch=2, window=0.05, model="scripted", **changes):
        prompts = prompts or [3] * len(outputs)
        requests = tuple(
            Request(
                i,
                0.0,
                n,
                prompt=(texts or {}).get(i, f"prompt {i}"),
                prompt_ids=tuple(range(1, p + 1)),
                output_tokens=n,
            )
            for i, (n, p) in enumerate(zip(outputs, prompts, strict=True))
        )
        workload = Workload("own", requests)
        lanes = [
            Lane(
                mode(m, batch, window),
                workload,
                ScriptedExecutor(lambda step: 0.1),
                kv_budget=10_000,
                context=5_000,
            )
            for m in modes
        ]
        to_the_end(lanes)
        origin = Provenance(
            "measured", model, "1", "fp32", "no device", 2, (), "", "2026-01-02T03:04:05+00:00", 100, 1000
        )
        return RunRecord(origin, workload, tuple(lane.record() for lane in lanes), **changes)

    return make
