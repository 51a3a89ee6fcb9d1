"""Records of every scenario from scripted lanes, and reports opened from disk in a Chromium without a network."""

import random
import time
from dataclasses import replace

import pytest

from lab.engine.scripted import ScriptedExecutor
from lab.report.words import Words
from lab.run.lane import Lane
from lab.run.race import to_the_end
from lab.run.record import Provenance, RunRecord
from lab.scheduling.policy import MODES, mode
from lab.workload.scenarios import build

EVIL = (
    "<script>window.hacked = 1</script></script><img src=x onerror='window.hacked = 1'>\"'--> ]]> </style></title>"
    " {{ 7 * 7 }} %{x} \u202eturned\u200f 🚌 “quoted”"
)


def tokenized(workload, *, longest=40, seed=5):
    """Prompts become as many numbers as they have words (at most `longest`), answers get a length."""
    draw = random.Random(seed)
    return replace(
        workload,
        requests=tuple(
            replace(
                r,
                prompt_ids=tuple(range(1, 1 + (r.prompt_length or max(1, min(longest, len(r.prompt.split())))))),
                output_tokens=r.output_tokens or draw.randint(1, r.max_new_tokens),
            )
            for r in workload.requests
        ),
    )


def make_record(workload, *, batch=4, window=0.05, kind="measured", speed=1.0, modes=MODES, **facts) -> RunRecord:
    """The workload in these modes; a step takes 20 ms, a row 1 ms and a prompt's position 0.2 ms, ÷ speed."""

    def seconds(step):
        positions = sum(row.padded_to for row in step.rows if row.prefill)
        return (0.02 + 0.001 * len(step.rows) + 0.0002 * positions) / speed

    budget = {"kv_budget": 1_000_000, "context": 100_000}
    lanes = [
        Lane(mode(m, batch, window), workload, ScriptedExecutor(seconds), first_slot=batch * i, **budget)
        for i, m in enumerate(modes)
    ]
    to_the_end(lanes)
    made = tuple(lane.record() for lane in lanes)
    used = sorted({token for lane in made for token in lane.columns.token})
    origin = {
        "kind": kind, "model": "scripted", "revision": "1", "dtype": "fp32", "device": "paper", "threads": 1,
        "versions": (("python", "3"),), "commit": "abc", "created": "2026-01-02T03:04:05+00:00",
        "weight_bytes": 100, "kv_bytes_per_token": 1000, "reference_step_s": (0.02,),
    }  # fmt: skip
    texts = tuple((token, f" w{token % 97}".encode().hex()) for token in used)
    return RunRecord(Provenance(**(origin | facts)), workload, made, token_bytes=texts)


def scenario_record(name, *, requests=None, **options) -> RunRecord:
    prompts = ("What is a bus?", "And a car?", EVIL) if name == "own" else None
    return make_record(tokenized(build(name, requests=requests, prompts=prompts)), **options)


def hostile_record() -> RunRecord:
    """Whatever somebody can name or type is markup."""
    workload = tokenized(build("own", prompts=["one", "two", "three"]))
    requests = tuple(replace(r, prompt=EVIL) for r in workload.requests)
    workload = replace(workload, requests=requests, name=EVIL, source=f"trace {EVIL}.csv, 0 s to 5 s")
    record = make_record(workload, model=EVIL, device=EVIL, revision=EVIL, commit=EVIL, versions=((EVIL, EVIL),))
    said = EVIL.encode().hex()
    return replace(record, token_bytes=tuple((token, said) for token, _ in record.token_bytes))


def until(page, holds, seconds=60.0):
    """Waits until an expression holds; asked from outside, as the page's policy forbids Playwright's own way."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(f"Boolean({holds})"):
        assert time.monotonic() < deadline, f"not within {seconds} s: {holds}"
        page.wait_for_timeout(30)


@pytest.fixture(scope="session")
def make():
    """The helpers above, as one value."""

    class Helpers:
        evil = EVIL
        record = staticmethod(make_record)
        scenario = staticmethod(scenario_record)
        hostile = staticmethod(hostile_record)
        tokenized = staticmethod(tokenized)
        until = staticmethod(until)
        words = Words("en")

    return Helpers


@pytest.fixture
def open_offline(chromium, tmp_path):
    """`open_offline(html)` opens it from disk, the network cut; complaints and requests fail the test."""
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900}, accept_downloads=True)
    complaints, asked = [], []

    def open_file(text, **media):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        until(page, "globalThis.labReport?.ready")
        return page

    yield open_file
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file://", "data:", "blob:"))] == []
    assert len([url for url in asked if url.startswith("file://")]) == 1
