"""Records made by scripted lanes, and the stage's modules in headless Chromium on a page without Streamlit."""

import json
import math
import random
import threading
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.report.palette import MODES as MODE_COLOURS
from lab.report.palette import OTHERS, REQUESTS
from lab.report.stage_data import whole
from lab.report.words import texts
from lab.run.group import Home
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.scheduling.policy import MODES, Policy, mode
from lab.ui.routes import read_marks, run_answer
from lab.workload.request import Request, Workload

HERE = Path(__file__).parent
STAGE = HERE.parents[1] / "assets" / "stage"
SENTENCE = (
    "the seat of a bus is free when who sat there has got off and so it goes on until nobody waits any more "
    "every token costs a step and a step reads all weights once whether one row rides or eight rows ride"
)
WORDS = SENTENCE.split()
PROMPTS = (
    "What is the capital of France?",
    "Why is the sky blue?",
    "Explain in two sentences how a bakery plans its morning, from the first oven to the last loaf.",
    "Give me three names for a cat.",
    "<script>alert(1)</script> & other \"quoted\" 'text'",
    "Write a short note that thanks a neighbour for watering the plants during a hot and dry summer week.",
)


def seconds(noise: random.Random, step) -> float:
    """Weights read once a step, a little for each row and for each position of a prompt, a little noise."""
    positions = sum(row.padded_to for row in step.rows if row.prefill)
    return (0.018 + 0.0008 * len(step.rows) + 0.00025 * positions) * (1 + 0.04 * noise.random())


def make_record(
    workload: Workload,
    policies: Sequence[Policy],
    *,
    kv_budget: int = 4_000,
    groups: int = 1,
    scattered: bool = False,
    devices: int = 1,
    many: bool = False,
    cost=None,
) -> RunRecord:
    """With more devices, each group lives on one of its own, where slots are counted from 0 again."""
    noise = random.Random(5)

    def device() -> ScriptedExecutor:
        return ScriptedExecutor(cost or (lambda step: seconds(noise, step)), many=many)

    lanes = [
        Lane(
            policy,
            workload,
            device(),
            kv_budget=kv_budget,
            context=10_000,
            groups=groups,
            scattered=scattered,
            first_slot=100 * i,
            homes=[Home(device(), 0) for _ in range(groups)] if devices > 1 else (),
        )
        for i, policy in enumerate(policies)
    ]
    to_the_end(lanes)
    used = sorted({token for lane in lanes for token in lane.record().columns.token})
    return RunRecord(
        provenance=Provenance(
            kind="measured", model="scripted", revision="1", dtype="float32", device="paper", threads=1,
            versions=(), commit="", created="2026-01-01T12:03:10+00:00", weight_bytes=1, kv_bytes_per_token=23_040,
            reference_step_s=(0.0185,) * 3,
        ),
        workload=workload,
        lanes=tuple(lane.record() for lane in lanes),
        token_bytes=tuple((token, (" " + WORDS[token % len(WORDS)]).encode().hex()) for token in used),
    )  # fmt: skip


def make_workload(count: int, rate: float, seed: int = 3, longest: int = 48) -> Workload:
    """Requests in a Poisson stream, with prompts of 8 to 60 tokens and answers of 3 to `longest`."""
    draw = random.Random(seed)
    requests, now = [], 0.0
    for i in range(count):
        answer = draw.randint(3, longest)
        length = draw.randint(8, 60)
        requests.append(
            Request(
                i, now, longest, prompt=PROMPTS[i % len(PROMPTS)], prompt_ids=tuple(range(1, length + 1)),
                output_tokens=answer,
            )
        )  # fmt: skip
        now += draw.expovariate(rate) if rate < math.inf else 0.0
    return Workload("demo", tuple(requests), seed)


def four(batch: int = 8, window: float = 0.15) -> list[Policy]:
    return [mode(name, batch, window) for name in MODES]


def stage_data(record: RunRecord | None, language: str = "en", **more) -> dict:
    """The component's `data`, as a page would send it."""
    runs = [] if record is None else [{"id": "demo", "record": whole(record), "situation": "demo"}]
    colours = {"modes": MODE_COLOURS, "others": list(OTHERS), "requests": list(REQUESTS)}
    data = {"key": "stage", "language": language, "text": dict(texts(language)), "colours": colours, "runs": runs}
    return json.loads(json.dumps(data | {"lanes": None, "knobs": None, "autoplay": False} | more))


@pytest.fixture(scope="session")
def records():
    """The helpers above, as one value."""

    class Helpers:
        make = staticmethod(make_record)
        workload = staticmethod(make_workload)
        four = staticmethod(four)
        data = staticmethod(stage_data)

    return Helpers


@pytest.fixture(scope="session")
def demo(records):
    """Sixteen requests, four modes, a KV budget that is felt."""
    return records.make(records.workload(16, 12.0), records.four(), kv_budget=700)


class Site:
    """Serves the stage's files and the harness on a port of this machine, and the route of the run `runs`."""

    def __init__(self) -> None:
        self.runs = None  # what the route asks, see lab.ui.routes.Runs
        self.route_is_missing = False
        self.asked: list[str] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Answer, self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Answer(BaseHTTPRequestHandler):
    def __init__(self, site: Site, *args) -> None:
        self.site = site
        super().__init__(*args)

    def do_GET(self) -> None:
        name, _, query = self.path.lstrip("/").partition("?")
        if name.startswith("api/run/") and not self.site.route_is_missing:
            self.send(*self.run(name.removeprefix("api/run/"), parse_qs(query)), "application/json")
            return
        path = STAGE / name.removeprefix("stage/") if name.startswith("stage/") else HERE / (name or "harness.html")
        if path.is_file():
            kind = {".js": "text/javascript", ".css": "text/css"}.get(path.suffix, "text/html")
            self.send(200, path.read_bytes(), kind)
        else:  # as Streamlit does for every address that it does not know
            self.send(200, b"<!doctype html><title>the page</title>", "text/html")

    def run(self, job_id: str, query: dict[str, list[str]]) -> tuple[int, bytes]:
        since = query.get("since", [""])[0]
        self.site.asked.append(since)
        made = run_answer(self.site.runs, job_id, read_marks(since))
        if made is None:
            return 404, json.dumps({"state": "unknown", "over": True, "lanes": [], "tokens": []}).encode()
        return 200, json.dumps(made | {"poll_ms": 40}).encode()

    def send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args) -> None:
        """Be quiet."""


@pytest.fixture(scope="session")
def site():
    served = Site()
    yield served
    served.server.shutdown()


@pytest.fixture(scope="module")
def tab(chromium):
    """One page for all tests: opening another takes longer than most of them."""
    page = chromium.new_page()
    page.faults = []
    page.on("console", lambda m: page.faults.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("request", lambda request: page.requested.append(request.url))
    return page


@pytest.fixture
def harness(tab, site):
    """`harness(width, height, …)` opens a page with the stage; errors and outside requests fail the test."""
    tab.faults, tab.requested = [], []

    def open_page(width=1280, height=720, dark=False, reduced_motion="no-preference"):
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(reduced_motion=reduced_motion)
        tab.goto(site.url + ("?dark" if dark else ""))
        tab.wait_for_function("window.ready")
        return tab

    yield open_page
    assert tab.faults == []
    assert [url for url in tab.requested if not url.startswith((site.url, "blob:", "data:"))] == []
